/** Runs workflows in memory. Each line is answered with the median milliseconds of a decision, one for each of four definitions. */
import { createInterface } from "node:readline";
import { decide } from "../../../plugins/features/workflows/dist/engine/decide.js";
import { median } from "../rounds.mjs";

const LOOPS = 3_000;
const times = (count, make) => Array.from({ length: count }, (_, at) => make(at)).flat();
const set = (id) => ({ id, kind: "set", value: 0 });
const definition = (nodes, edges) => ({ id: "bench", maxVisits: 10_000, nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges });

const row = definition(
  times(300, (at) => set(`n${at}`)),
  times(300, (at) => ({ from: at === 0 ? "start" : `n${at - 1}`, to: `n${at}` })),
);
const wide = definition(
  [...times(298, (at) => set(`n${at}`)), { id: "j", kind: "join" }],
  times(298, (at) => [
    { from: "start", to: `n${at}` },
    { from: `n${at}`, to: "j" },
  ]),
);
const blocks = definition(
  times(30, (at) => [set(`s${at}`), ...times(8, (one) => set(`b${at}x${one}`)), { id: `j${at}`, kind: "join" }]),
  times(30, (at) => [
    { from: at === 0 ? "start" : `j${at - 1}`, to: `s${at}` },
    ...times(8, (one) => [
      { from: `s${at}`, to: `b${at}x${one}` },
      { from: `b${at}x${one}`, to: `j${at}` },
    ]),
  ]),
);
const loop = definition(
  [set("a"), set("b"), { id: "x", kind: "branch", cases: [{ port: "again", when: "" }] }, set("end")],
  [
    { from: "start", to: "a" },
    { from: "a", to: "b" },
    { from: "b", to: "x" },
    { from: "x", fromPort: "again", to: "a" },
    { from: "x", fromPort: "else", to: "end" },
  ],
);

/** The median of the decisions of a whole run, or of its last ones. */
function run(flow, last = 0) {
  const took = [];
  const orders = [];
  let state;
  const give = (input) => {
    const began = performance.now();
    const decision = decide(flow, state, input);
    took.push(performance.now() - began);
    state = decision.state;
    orders.push(...decision.commands);
  };
  give({ kind: "start", at: 1, run: { id: "run_1", workflow: "bench", hash: "h", rootId: "r", depth: 0, entry: { kind: "api" }, input: {} } });
  for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
    const step = state.steps[order.step];
    if (step === undefined) continue;
    if (order.do === "claim") give({ kind: "claim", at: 1, step: step.id });
    else if (step.node === "x") give({ kind: "result", at: 1, step: step.id, ...(step.visit < LOOPS ? { port: "again" } : {}) });
    else give({ kind: "result", at: 1, step: step.id, output: 1 });
  }
  if (state.status !== "completed") throw new Error(`the run is ${state.status}: ${state.error?.message}`);
  return median(took.slice(-last));
}

const lines = createInterface({ input: process.stdin });
console.log(JSON.stringify({}));
for await (const _ of lines) console.log(JSON.stringify({ medians: [run(row), run(wide), run(blocks), run(loop, 300)] }));
