import { join } from "node:path";
import { startNode } from "./process.mjs";
import { shareAtMost } from "./rounds.mjs";

export default {
  id: "P7",
  title: "hooks in a turn",
  against: "the same turn without a tap",
  lines: [{ what: "CPU of a turn with 20 taps in hooks", unit: "us", target: shareAtMost(5) }],
  async open({ folder, quick }) {
    const subject = await startNode([join(import.meta.dirname, "subjects/hooks.mjs"), folder]);
    const turns = quick ? 1_000 : 3_000;
    for (const taps of [0, 20]) await subject.ask(`${taps} ${turns}`);
    const run = async (taps) => [(await subject.ask(`${taps} ${turns}`)).microseconds];
    return {
      floor: () => run(0),
      ours: () => run(20),
      close: subject.stop,
      rounds: quick ? 7 : 15,
      note: () => "half of the taps are async; emit is called for each event",
    };
  },
};
