import { join } from "node:path";
import { startNode } from "./process.mjs";
import { ratioAtMost } from "./rounds.mjs";

export default {
  id: "P8",
  title: "events",
  against: "writing to a ring of 1000; a server that serialises once and writes once a tick",
  lines: [
    { what: "publish one event, nobody listens", unit: "ns", target: ratioAtMost(30) },
    { what: "CPU of one delivery, 100 streams", unit: "us", target: ratioAtMost(1.5) },
  ],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/bus.mjs"), folder]);
    const [publishes, events] = quick ? [300_000, 1_000] : [1_000_000, 4_000];
    const run = async (side) => {
      const { nanoseconds } = await subject.ask(`publish ${side} ${publishes}`);
      const { microseconds } = await subject.ask(`streams ${side} ${events}`);
      return [nanoseconds, microseconds];
    };
    await run("floor");
    await run("ours");
    return { floor: () => run("floor"), ours: () => run("ours"), close: subject.stop, note: () => "16 events a tick; the clients are in another process" };
  },
};
