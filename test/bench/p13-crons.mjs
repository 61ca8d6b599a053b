import { join } from "node:path";
import { jsonOf } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const JOBS = 10_000;

export default {
  id: "P13",
  title: "ten thousand cron jobs",
  against: "nothing: the target is absolute",
  lines: [
    { what: `register ${JOBS} jobs`, unit: "s of CPU", target: atMost(1, "s") },
    { what: "a minute in which every tenth one is due", unit: "s of CPU", target: atMost(1, "s") },
    { what: "a minute in which all are due", unit: "s of CPU", target: atMost(1, "s") },
  ],
  async open({ folder }) {
    let count = 0;
    return {
      rounds: 3,
      async ours() {
        count += 1;
        const { register, tenth, all } = await jsonOf([join(import.meta.dirname, "subjects/crons.mjs"), join(folder, String(count)), String(JOBS)]);
        return [register, tenth, all];
      },
      note: () => "each due job claims its minute on disk before it runs",
    };
  },
};
