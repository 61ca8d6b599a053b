import { join } from "node:path";
import { startNode } from "./process.mjs";
import { atMost, ratioAtLeast } from "./rounds.mjs";

const SIDE = 16;
const WAITING = 10_000;

export default {
  id: "P17",
  title: "workflow runs",
  against: "better-sqlite3 alone, two transactions a step with the rows of run, step and journal, FULL",
  lines: [
    { what: "steps with an effect, one run", unit: "a second", target: ratioAtLeast(0.7) },
    { what: `steps with an effect, ${SIDE} runs side by side`, unit: "a second", target: ratioAtLeast(1) },
    { what: "commits a step", unit: "", target: atMost(2, "commits") },
    { what: `${WAITING} waiting runs`, unit: "MB", target: atMost(20, "MB") },
    { what: `timers of ${WAITING} waiting runs`, unit: "", target: atMost(1, "timer") },
  ],
  async open({ folder, quick }) {
    const subject = await startNode(["--expose-gc", join(import.meta.dirname, "subjects/workflows.mjs"), folder]);
    const ms = quick ? 1_500 : 3_000;
    const waiting = await subject.ask(`wait ${WAITING}`);
    return {
      async floor() {
        const { perSecond, commits } = await subject.ask(`floor 1 ${ms}`);
        return [perSecond, perSecond, commits, 0, 0];
      },
      async ours() {
        const [one, many] = [await subject.ask(`ours 1 ${ms}`), await subject.ask(`ours ${SIDE} ${ms}`)];
        return [one.perSecond, many.perSecond, many.commits, waiting.mb, waiting.timers];
      },
      close: subject.stop,
      note: () => "the claim of a step is in the commit that ends the one before it; a run that waits is not in memory",
    };
  },
};
