/**
 * Steps of workflow runs with an effect that takes no time. A line `ours|floor <runs side by side> <milliseconds>` is answered with steps a
 * second and commits a step; `wait <count>` with the memory and the timers that so many waiting runs cost. Arguments: a folder.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import { Runs } from "../../../plugins/features/workflows/dist/runs/runs.js";
import { openStore } from "../../../plugins/stores/sqlite/dist/open.js";

const STEPS = 50;
const [folder] = process.argv.slice(2);
const nodes = Array.from({ length: STEPS }, (_, at) => ({ id: `n${at}`, kind: "action", action: "one", input: { at: "{{ input.at }}" } }));
const edges = nodes.map(({ id }, at) => ({ from: at === 0 ? "start" : nodes[at - 1].id, to: id }));
const trigger = { id: "start", kind: "trigger" };
const DEFINITIONS = {
  steps: { id: "steps", nodes: [trigger, ...nodes], edges },
  waits: {
    id: "waits",
    nodes: [trigger, { id: "later", kind: "timer", for: "30d" }, { id: "go", kind: "waitSignal", signal: "go" }],
    edges: [
      { from: "start", to: "later" },
      { from: "start", to: "go" },
    ],
  },
};

/** The least of a context that runs need, over a store in a file. */
function open(file) {
  const opened = openStore({ file });
  const store = { ...opened.scope("bench") };
  let commits = 0;
  const alive = new AbortController();
  const log = { debug() {}, info() {}, warn() {}, error: (facts, text) => console.error(text, facts) };
  const after = (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  };
  const ctx = {
    store: {
      ...store,
      commit(ops) {
        commits += 1;
        return store.commit(ops);
      },
      lease: async () => ({ held: true, signal: alive.signal, release: async () => {} }),
    },
    log,
    signal: alive.signal,
    env: () => undefined,
    events: { publish: (event) => event, within: (_root, work) => work(), root: (work) => work(), current: () => ({ rootId: "evt_0123456789_1" }) },
    jobs: { after, at: (time, run) => after(Number(time) - Date.now(), run), every: () => () => {} },
    actions: { list: () => [], run: async (action, input) => ({ action, status: "ok", input, output: { done: true }, durationMs: 0 }) },
    tasks: {},
  };
  const definitions = { get: (id) => ({ definition: DEFINITIONS[id], hash: `hash-of-${id}` }) };
  const runs = new Runs({ ctx, definitions, tasks: { rows: async () => [], committed() {} }, ready: async () => {}, defaultAgent: async () => undefined });
  return { runs, commits: () => commits, close: () => opened.close() };
}

const subject = open(join(folder, "ours.db"));
await subject.runs.open();
const start = (workflow, at) => subject.runs.start(workflow, { input: { at }, entry: { kind: "api" } });

async function ours(side, ms) {
  const before = subject.commits();
  const began = performance.now();
  let done = 0;
  const worker = async (at) => {
    while (performance.now() - began < ms) {
      const { runId } = await start("steps", at);
      await subject.runs.wait(runId);
      done += STEPS;
    }
  };
  await Promise.all(Array.from({ length: side }, (_, at) => worker(at)));
  return { perSecond: (done * 1000) / (performance.now() - began), commits: (subject.commits() - before) / done };
}

/** Two transactions a step, each with the row of the run, of the step, and an entry of the journal. */
const raw = new Database(join(folder, "floor.db"));
raw.pragma("journal_mode = WAL");
raw.pragma("synchronous = FULL");
raw.exec(
  "CREATE TABLE runs (id TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID; CREATE TABLE steps (id TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID; CREATE TABLE entries (id TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
);
const [putRun, putStep, putEntry] = ["runs", "steps", "entries"].map((table) => raw.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?)`));
const write = raw.transaction((run, step, seq, value) => {
  putRun.run(run, value);
  putStep.run(`${run}/${step}`, value);
  putEntry.run(`${run}/${seq}`, value);
});
let floors = 0;

function floor(ms) {
  const value = JSON.stringify({ status: "running", at: Date.now(), input: { at: 1 }, output: { done: true }, workflow: "steps", hash: "hash-of-steps" });
  const began = performance.now();
  let done = 0;
  while (performance.now() - began < ms) {
    floors += 1;
    for (let step = 0; step < STEPS; step += 1) {
      write(`run_${floors}`, step, 2 * step, value);
      write(`run_${floors}`, step, 2 * step + 1, value);
      done += 1;
    }
  }
  return { perSecond: (done * 1000) / (performance.now() - began), commits: 2 };
}

/** Runs that wait for a timer and a signal: what they cost while they do, and the next start that finds them. */
async function wait(count) {
  const used = () => {
    global.gc();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1e6;
  };
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const [before, timersBefore] = [used(), timers()];
  for (let at = 0; at < count; at += 50) await Promise.all(Array.from({ length: 50 }, (_, next) => start("waits", at + next)));
  // What was told is noted a second later.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const [mb, more, inMemory] = [used() - before, timers() - timersBefore, subject.runs.atWork.runs];
  return { mb, timers: more, inMemory };
}

process.on("SIGTERM", async () => {
  raw.close();
  await subject.runs.stop();
  await subject.close();
  process.exit(0);
});
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const [what, count, ms] = line.split(" ");
  const answer = what === "ours" ? ours(Number(count), Number(ms)) : what === "floor" ? floor(Number(ms)) : wait(Number(count));
  console.log(JSON.stringify(await answer));
}
