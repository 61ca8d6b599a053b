import { join } from "node:path";
import { startNode } from "./process.mjs";
import { ratioAtMost } from "./rounds.mjs";

export default {
  id: "P15",
  title: "search a workspace",
  against: "the same FTS5 query on the same file with better-sqlite3 alone, in a thread as ours and on the caller's own",
  lines: [
    { what: "rag.lexical, rare, two and three words, beside a thread", unit: "ms", target: ratioAtMost(1.15) },
    { what: "the same beside a query that holds up its caller", unit: "ms", target: ratioAtMost(1.3) },
  ],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/search.mjs"), folder, String(quick ? 10_000 : 100_000)]);
    const run = async (side) => (await subject.ask(`${side} ${quick ? 40 : 100}`)).ms;
    const floor = async () => [await run("thread"), await run("blocking")];
    const ours = async () => {
      const ms = await run("ours");
      return [ms, ms];
    };
    await floor();
    await ours();
    return { floor, ours, close: subject.stop, note: () => `${subject.facts.pieces} documents of a kilobyte; sums of the medians of three questions` };
  },
};
