import { openBoth } from "./p5-tasks.mjs";
import { addedAtMost } from "./rounds.mjs";

export default {
  id: "P6",
  title: "POST /task, one caller",
  against: "fastify writing three frames on separate ticks, which keeps nothing",
  lines: [{ what: "POST /task, one caller, median", unit: "ms", target: addedAtMost(1, "ms") }],
  async open({ folder, quick }) {
    const { onFloor, onDaemon, close } = await openBoth(folder, 1);
    const ms = quick ? 1_000 : 2_000;
    await onFloor.run(1_000);
    await onDaemon.run(2_000);
    const half = async (callers) => [(await callers.run(ms)).p50];
    return { floor: () => half(onFloor), ours: () => half(onDaemon), close };
  },
};
