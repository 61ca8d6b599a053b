import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startNode } from "./process.mjs";
import { shareAtMost } from "./rounds.mjs";

export default {
  id: "P7",
  title: "hooks in a turn",
  against: "the same kernel without a tap",
  lines: [
    { what: "CPU of a task, 20 sync taps in hooks", unit: "us", target: shareAtMost(5) },
    { what: "CPU of a task, 20 taps, half of them async", unit: "us", target: shareAtMost(5) },
  ],
  async open({ folder, quick }) {
    const program = join(import.meta.dirname, "subjects/hooks.mjs");
    const start = async (taps) => {
      const subject = await startNode([program, folder, taps]);
      const callers = await openCallers(subject.facts.port, 16);
      await callers.run(1_500);
      return {
        async cost() {
          const before = (await subject.ask("cpu")).microseconds;
          const ms = quick ? 700 : 1_500;
          const { perSecond } = await callers.run(ms);
          return ((await subject.ask("cpu")).microseconds - before) / ((perSecond * ms) / 1000);
        },
        async stop() {
          callers.close();
          await subject.stop();
        },
      };
    };
    const [none, sync, mixed] = [await start("none"), await start("sync"), await start("mixed")];
    return {
      rounds: quick ? 7 : 15,
      async floor() {
        const cost = await none.cost();
        return [cost, cost];
      },
      ours: async () => [await sync.cost(), await mixed.cost()],
      note: () => "through HTTP, 16 callers; the four emit taps hear each event",
      async close() {
        for (const subject of [none, sync, mixed]) await subject.stop();
      },
    };
  },
};
