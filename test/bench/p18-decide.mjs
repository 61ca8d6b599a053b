import { join } from "node:path";
import { startNode } from "./process.mjs";
import { atMost } from "./rounds.mjs";

export default {
  id: "P18",
  title: "decide what a workflow does next",
  against: "nothing: a pure function",
  lines: [
    { what: "300 nodes in a row, median of a decision", unit: "ms", target: atMost(1, "ms") },
    { what: "298 branches into one join, median", unit: "ms", target: atMost(1, "ms") },
    { what: "30 blocks of 8 branches and a join, median", unit: "ms", target: atMost(1, "ms") },
    { what: "the last of 9,000 steps of a loop, median", unit: "ms", target: atMost(1, "ms") },
  ],
  async open() {
    const subject = await startNode([join(import.meta.dirname, "subjects/decide.mjs")]);
    await subject.ask("ours");
    return {
      ours: async () => (await subject.ask("ours")).medians,
      close: subject.stop,
      note: () => "claims and results, without a store and without expressions",
    };
  },
};
