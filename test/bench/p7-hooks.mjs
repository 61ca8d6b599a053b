import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startNode } from "./process.mjs";
import { atMost } from "./rounds.mjs";

export default {
  id: "P7",
  title: "hooks in a turn",
  against: "all that the daemon's main thread does for the same tasks",
  lines: [
    { what: "CPU of a turn spent in hooks, 20 sync taps", unit: "%", target: atMost(5, "%") },
    { what: "CPU of a turn spent in hooks, half of them async", unit: "%", target: atMost(5, "%") },
  ],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/hooks.mjs"), folder]);
    const callers = await openCallers(subject.facts.port, 16);
    const shareWith = async (taps) => {
      await subject.ask(taps);
      await callers.run(quick ? 1_000 : 2_000);
      await subject.ask("watch");
      await callers.run(quick ? 1_500 : 4_000);
      return (await subject.ask("share")).value;
    };
    await shareWith("sync");
    return {
      rounds: quick ? 3 : 5,
      ours: async () => [await shareWith("sync"), await shareWith("mixed")],
      note: () => "through HTTP, 16 callers; the four emit taps hear each event; from the stack ten thousand times a second",
      async close() {
        callers.close();
        await subject.stop();
      },
    };
  },
};
