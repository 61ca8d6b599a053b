import { join } from "node:path";
import { startNode } from "./process.mjs";
import { ratioAtLeast } from "./rounds.mjs";

export default {
  id: "P9",
  title: "accept durably",
  against: "better-sqlite3 alone, the accept's two inserts into the same tables with their indexes, FULL, ten accepts a transaction",
  lines: [{ what: "durable accepts, 16 writers", unit: "a second", target: ratioAtLeast(0.5) }],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/accept.mjs"), folder]);
    const ms = quick ? 1_000 : 2_500;
    const run = async (side) => [(await subject.ask(`${side} ${ms}`)).perSecond];
    await run("floor");
    await run("ours");
    return { floor: () => run("floor"), ours: () => run("ours"), close: subject.stop };
  },
};
