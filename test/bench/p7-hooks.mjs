import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startNode } from "./process.mjs";
import { atMost } from "./rounds.mjs";

export default {
  id: "P7",
  title: "hooks in a turn",
  against: "all that the daemon's main thread does for the same tasks",
  lines: [
    { what: "hooks of a turn, 20 sync taps", unit: "us", target: atMost(15, "us") },
    { what: "hooks of a turn, half of them async", unit: "us", target: atMost(15, "us") },
    { what: "CPU of a turn spent in hooks, 20 sync taps", unit: "%", target: atMost(5, "%") },
    { what: "CPU of a turn spent in hooks, half of them async", unit: "%", target: atMost(5, "%") },
  ],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/hooks.mjs"), folder]);
    const callers = await openCallers(subject.facts.port, 16);
    const costOf = async (taps) => {
      await subject.ask(taps);
      await callers.run(quick ? 1_000 : 2_000);
      await subject.ask("watch");
      const { count } = await callers.run(quick ? 1_500 : 4_000);
      const { share, ms } = (await subject.ask("share")).value;
      return { share, us: (1000 * ms) / count };
    };
    await costOf("sync");
    return {
      rounds: quick ? 3 : 5,
      async ours() {
        const [sync, mixed] = [await costOf("sync"), await costOf("mixed")];
        return [sync.us, mixed.us, sync.share, mixed.share];
      },
      note: () => "through HTTP, 16 callers; the four emit taps hear each event; from the stack ten thousand times a second",
      async close() {
        callers.close();
        await subject.stop();
      },
    };
  },
};
