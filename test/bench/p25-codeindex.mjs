import { join } from "node:path";
import { startNode } from "./process.mjs";
import { addedAtMost, told } from "./rounds.mjs";

export default {
  id: "P25",
  title: "the loop while a workspace's code is indexed",
  against: "the same kernel at rest for as long",
  lines: [
    { what: "loop delay, 99 % of the time below", unit: "ms", target: addedAtMost(50, "ms") },
    { what: "loop delay, the longest", unit: "ms", target: told },
    { what: "the run", unit: "s", target: told },
  ],
  async open({ folder, quick }) {
    const files = quick ? 5_000 : 100_000;
    const subject = await startNode([join(import.meta.dirname, "subjects/codeindex.mjs"), folder, String(files)]);
    const run = async (line) => {
      const { p99, max, seconds } = await subject.ask(line);
      return [p99, max, seconds];
    };
    return {
      rounds: quick ? 3 : 1,
      floor: () => run(`floor ${quick ? 5_000 : 60_000}`),
      ours: () => run("ours"),
      close: subject.stop,
      note: () => `${files} files of TypeScript, each of which has changed before each run`,
    };
  },
};
