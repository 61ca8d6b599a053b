import { openBoth } from "./p5-tasks.mjs";
import { ratioAtLeast, ratioAtMost } from "./rounds.mjs";

export default {
  id: "P5b",
  title: "POST /task, 16 callers, beside the same promises",
  against: "fastify that keeps the same promises by hand (floors/promises.mjs): rows and disk flushes before each answer",
  lines: [
    { what: "POST /task, 16 callers, kept on disk and traced", unit: "a second", target: ratioAtLeast(0.5) },
    { what: "99th percentile of the same", unit: "ms", target: ratioAtMost(2) },
  ],
  async open({ folder, quick }) {
    const { onFloor, onDaemon, close } = await openBoth(folder, 16, "promises.mjs");
    const ms = quick ? 1_500 : 3_000;
    await Promise.all([onFloor.run(2_000), onDaemon.run(2_000)]);
    const numbers = async (callers) => {
      const { perSecond, p99 } = await callers.run(ms);
      return [perSecond, p99];
    };
    return { floor: () => numbers(onFloor), ours: () => numbers(onDaemon), close };
  },
};
