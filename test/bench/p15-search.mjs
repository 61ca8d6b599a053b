import { join } from "node:path";
import { startNode } from "./process.mjs";
import { ratioAtMost } from "./rounds.mjs";

export default {
  id: "P15",
  title: "search a workspace",
  against: "the same FTS5 query on the same file with better-sqlite3 alone",
  lines: [{ what: "rag.lexical, rare, two and three words, sum of medians", unit: "ms", target: ratioAtMost(1.3) }],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/search.mjs"), folder, String(quick ? 10_000 : 100_000)]);
    const run = async (side) => [(await subject.ask(`${side} ${quick ? 40 : 100}`)).ms];
    await run("floor");
    await run("ours");
    return { floor: () => run("floor"), ours: () => run("ours"), close: subject.stop, note: () => `${subject.facts.pieces} documents of a kilobyte` };
  },
};
