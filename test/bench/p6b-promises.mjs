import { openBoth } from "./p5-tasks.mjs";
import { addedAtMost } from "./rounds.mjs";

export default {
  id: "P6b",
  title: "POST /task, one caller, beside the same promises",
  against: "fastify that keeps the same promises by hand (floors/promises.mjs)",
  lines: [{ what: "POST /task, one caller, median", unit: "ms", target: addedAtMost(0.6, "ms") }],
  async open({ folder, quick }) {
    const { onFloor, onDaemon, close } = await openBoth(folder, 1, "promises.mjs");
    const ms = quick ? 1_000 : 2_000;
    await Promise.all([onFloor.run(2_000), onDaemon.run(2_000)]);
    const half = async (callers) => [(await callers.run(ms)).p50];
    return { floor: () => half(onFloor), ours: () => half(onDaemon), close };
  },
};
