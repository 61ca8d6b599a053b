import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startDaemon } from "./daemon.mjs";
import { startNode } from "./process.mjs";
import { ratioAtLeast, ratioAtMost } from "./rounds.mjs";

/** The daemon and its floor, each in a process of its own, with that many callers on each. */
export async function openBoth(folder, count, program = "frames.mjs") {
  const floor = await startNode([join(import.meta.dirname, "floors", program), folder]);
  const daemon = await startDaemon(folder);
  const onFloor = await openCallers(floor.facts.port, count);
  const onDaemon = await openCallers(daemon.port, count);
  return {
    onFloor,
    onDaemon,
    async close() {
      onFloor.close();
      onDaemon.close();
      await Promise.all([floor.stop(), daemon.stop()]);
    },
  };
}

export default {
  id: "P5",
  title: "POST /task, 16 callers",
  against: "fastify writing three frames on separate ticks, which keeps nothing",
  lines: [
    { what: "POST /task, 16 callers, kept on disk and traced", unit: "a second", target: ratioAtLeast(0.4) },
    { what: "99th percentile of the same", unit: "ms", target: ratioAtMost(3) },
  ],
  async open({ folder, quick }) {
    const { onFloor, onDaemon, close } = await openBoth(folder, 16);
    const ms = quick ? 1_500 : 3_000;
    await onFloor.run(1_000);
    await onDaemon.run(2_000);
    const numbers = async (callers) => {
      const { perSecond, p99 } = await callers.run(ms);
      return [perSecond, p99];
    };
    return { floor: () => numbers(onFloor), ours: () => numbers(onDaemon), close };
  },
};
