import { join } from "node:path";
import { jsonOf } from "./process.mjs";
import { atMost } from "./rounds.mjs";

export default {
  id: "P14",
  title: "memory over many tasks and streams",
  against: "nothing: a clean loop grows by 0",
  lines: [
    { what: "heap growth a task", unit: "B", target: atMost(16, "B") },
    { what: "heap growth a stream that came and went", unit: "B", target: atMost(16, "B") },
    { what: "handles left over", unit: "", target: atMost(0, "handles") },
  ],
  async open({ folder, quick }) {
    const [tasks, streams] = quick ? [10_000, 1_000] : [100_000, 10_000];
    return {
      rounds: 1,
      async ours() {
        const { perTask, perStream, handles } = await jsonOf([
          "--expose-gc",
          join(import.meta.dirname, "subjects/leaks.mjs"),
          folder,
          String(tasks),
          String(streams),
        ]);
        return [perTask, perStream, handles];
      },
      note: () => `${tasks} tasks and ${streams} streams after as many of each to warm up${quick ? "; so few that noise of a few hundred KB shows" : ""}`,
    };
  },
};
