import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Definition } from "./definition.ts";
import type { Entry } from "./entries.ts";
import { type Answers, body, randomOf, SimulatedHost, workflow } from "./simulate.harness.ts";
import { nodeOf } from "./step-ids.ts";

const ORDERS = 20;

interface Pattern {
  readonly name: string;
  readonly flow: Definition;
  readonly answers?: Answers;
  /** Done when nothing is left to do, then it goes on. */
  readonly then?: (host: SimulatedHost) => void;
  /** How often each of these nodes has ended well (a join: fired). */
  readonly ended: Readonly<Record<string, number>>;
  readonly canceled?: Readonly<Record<string, number>>;
  /** Pairs in which the first ended (or fired) before the second became ready (or fired): `a < b`. */
  readonly order?: readonly string[];
  readonly status?: string;
  readonly output?: unknown;
}

const SLOW = { kind: "action", action: "slow" };
const JOIN = { kind: "join" };
const signal =
  (name: string, stored = true) =>
  (host: SimulatedHost) => {
    host.give({ kind: "signal", at: host.now, name, stored });
  };

const PATTERNS: readonly Pattern[] = [
  { name: "1 sequence", flow: workflow("start > a, a > b, b > c"), ended: { a: 1, b: 1, c: 1 }, order: ["a < b", "b < c"] },
  { name: "2 parallel split", flow: workflow("start > a, a > b, a > c"), ended: { b: 1, c: 1 }, order: ["a < b", "a < c"] },
  {
    name: "3 synchronization",
    flow: workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > d", { j: JOIN, b: { kind: "timer", for: "1h" } }),
    ended: { a: 1, b: 1, c: 1, j: 1, d: 1 },
    order: ["a < j", "b < j", "c < j", "j < d"],
  },
  {
    name: "4 exclusive choice",
    flow: workflow("start > x, x.left > a, x.else > b", { x: { kind: "branch", cases: [{ port: "left", when: "" }] } }),
    answers: { x: () => ({ port: "left" }) },
    ended: { a: 1, b: 0 },
  },
  {
    name: "5 simple merge",
    flow: workflow("start > x, x.left > a, x.else > b, a > m, b > m", { x: { kind: "branch", cases: [{ port: "left", when: "" }] } }),
    ended: { a: 0, b: 1, m: 1 },
    order: ["b < m"],
  },
  {
    name: "6 multi-choice",
    flow: workflow("start > x, x.p > a, x.q > b, x.r > c", { x: { kind: "multiChoice", cases: ["p", "q", "r"].map((port) => ({ port, when: "" })) } }),
    answers: { x: () => ({ ports: ["r", "p"] }) },
    ended: { a: 1, b: 0, c: 1 },
  },
  {
    name: "7 structured synchronizing merge",
    flow: workflow("start > x, x.p > a, x.q > b, x.r > c, a > j, b > j, c > j, j > d", {
      x: { kind: "multiChoice", cases: ["p", "q", "r"].map((port) => ({ port, when: "" })) },
      a: { kind: "timer", for: "2h" },
      j: JOIN,
    }),
    answers: { x: () => ({ ports: ["p", "q"] }) },
    ended: { a: 1, b: 1, c: 0, j: 1, d: 1 },
    order: ["a < j", "b < j"],
  },
  { name: "8 multi-merge", flow: workflow("start > a, start > b, a > m, b > m, m > d"), ended: { m: 2, d: 2 } },
  {
    name: "9 structured discriminator",
    flow: workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > d", {
      j: { kind: "join", wait: "any" },
      b: { kind: "timer", for: "1h" },
      c: { kind: "timer", for: "2h" },
    }),
    ended: { a: 1, b: 1, c: 1, j: 1, d: 1 },
    order: ["a < j", "d < b+"],
  },
  {
    name: "10 arbitrary cycles",
    flow: workflow("start > a, a > b, b > x, x.first > a, x.second > b, x.else > d", {
      x: {
        kind: "branch",
        cases: [
          { port: "first", when: "" },
          { port: "second", when: "" },
        ],
      },
    }),
    answers: { x: ({ visit }) => ({ port: ["first", "second", "first"][visit - 1] ?? "else" }) },
    ended: { a: 3, b: 4, x: 4, d: 1 },
  },
  {
    name: "11 implicit termination",
    flow: workflow("start > a, start > b, b > c", { b: { kind: "timer", for: "1h" } }),
    ended: { a: 1, b: 1, c: 1 },
  },
  { name: "12 multiple instances without synchronization", flow: workflow("start > a, a > b, a > b2, a > b3, b > z, b2 > z, b3 > z"), ended: { z: 3 } },
  {
    name: "13 multiple instances known at design time",
    flow: workflow("start > each, each > d", { each: { kind: "forEach", items: [1, 2, 3], do: body("one", "one > two") } }),
    ended: { one: 3, two: 3, each: 1, d: 1 },
    order: ["two < d", "each < d"],
  },
  {
    name: "14 multiple instances known at run time",
    flow: workflow("start > list, list > each, each > d", {
      list: { kind: "set", value: [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }] },
      each: { kind: "forEach", items: "{{ in }}", concurrency: 2, do: body("one", "one > fin", { fin: { kind: "end", output: "{{ item.n }}" } }) },
      d: { kind: "end", output: "{{ in }}" },
    }),
    ended: { one: 4, each: 1, d: 1 },
    output: [1, 2, 3, 4],
  },
  {
    name: "15 multiple instances added while they run",
    flow: workflow("start > more, start > stop, more > again, again > more, again > work, stop > close, close > j, work > j, j > d", {
      more: { kind: "waitSignal", signal: "more" },
      again: { kind: "set", value: null },
      stop: { kind: "waitSignal", signal: "stop" },
      close: { kind: "cancelNodes", nodes: ["more"] },
      j: JOIN,
    }),
    then(host) {
      if (host.live("more").length === 0) return;
      for (const name of ["more", "more", "stop"]) {
        host.give({ kind: "signal", at: host.now, name });
        host.drain();
      }
    },
    ended: { more: 2, work: 2, stop: 1, j: 1, d: 1 },
    canceled: { more: 1 },
    order: ["work < j", "close < j"],
  },
  {
    name: "16 deferred choice",
    flow: workflow("start > s, start > t, s > j, t > j, j > d", {
      s: { kind: "waitSignal", signal: "go" },
      t: { kind: "timer", for: "1d" },
      j: { kind: "join", wait: "any", cancelRest: true },
    }),
    ended: { s: 0, t: 1, j: 1, d: 1 },
    canceled: { s: 1 },
  },
  {
    name: "18 milestone",
    flow: workflow("start > reach, reach > end, start > try, try > x, x.yes > use, x.else > j, use > j, end > j", {
      reach: { kind: "timer", for: "2h" },
      try: { kind: "timer", for: "1h" },
      x: { kind: "branch", cases: [{ port: "yes", when: "" }] },
      end: { kind: "set", value: 1 },
      j: JOIN,
    }),
    answers: { x: (_, { steps }) => ({ port: steps["reach"] === undefined ? "else" : "yes" }) },
    ended: { use: 0, j: 1 },
  },
  {
    name: "19 cancel task",
    flow: workflow("start > long, start > t, t > c, long > after, c > d", {
      long: SLOW,
      t: { kind: "timer", for: "1h" },
      c: { kind: "cancelNodes", nodes: ["long"] },
    }),
    answers: { long: () => ({ hangs: true }) },
    ended: { long: 0, c: 1, d: 1, after: 0 },
    canceled: { long: 1 },
  },
  {
    name: "20 cancel case",
    flow: workflow("start > a, start > b", { a: SLOW, b: { kind: "waitSignal", signal: "never" } }),
    answers: { a: () => ({ hangs: true }) },
    then: (host) => void host.give({ kind: "cancel", at: host.now }),
    ended: { a: 0, b: 0 },
    canceled: { a: 1, b: 1 },
    status: "canceled",
  },
  {
    name: "21 structured loop",
    flow: workflow("start > a, a > x, x.again > a, x.else > d", { x: { kind: "branch", cases: [{ port: "again", when: "" }] } }),
    answers: { x: ({ visit }) => ({ port: visit < 4 ? "again" : "else" }) },
    ended: { a: 4, x: 4, d: 1 },
  },
  {
    name: "22 recursion",
    flow: workflow("start > sub, sub > d", { sub: { kind: "subProcess", workflow: "flow" } }),
    answers: { sub: () => ({ child: { status: "completed", output: 7 } }) },
    ended: { sub: 1, d: 1 },
  },
  {
    name: "23 transient trigger",
    flow: workflow("start > t, t > s, s > d", { t: { kind: "timer", for: "1h" }, s: { kind: "waitSignal", signal: "go", timeout: "1h" } }),
    then: signal("go", false),
    ended: { s: 0, d: 0 },
    status: "failed",
  },
  {
    name: "24 persistent trigger",
    flow: workflow("start > emit, emit > t, t > s, s > d", {
      emit: { kind: "emitSignal", signal: "go" },
      t: { kind: "timer", for: "1h" },
      s: { kind: "waitSignal", signal: "go" },
    }),
    ended: { s: 1, d: 1 },
    order: ["emit < s"],
  },
  {
    name: "25 cancel region",
    flow: workflow("start > a, start > b, start > t, a > j, b > j, j > after, t > c, c > d", {
      a: SLOW,
      t: { kind: "timer", for: "1h" },
      j: JOIN,
      c: { kind: "cancelNodes", nodes: ["a", "b", "j"] },
    }),
    answers: { a: () => ({ hangs: true }) },
    ended: { a: 0, b: 1, j: 0, after: 0, d: 1 },
    canceled: { a: 1 },
  },
  {
    name: "26 cancel multiple instance activity",
    flow: workflow("start > each, start > t, t > c, each > after, c > d", {
      each: { kind: "forEach", items: [1, 2], do: body("one", "", { one: SLOW }) },
      t: { kind: "timer", for: "1h" },
      c: { kind: "cancelNodes", nodes: ["each"] },
    }),
    answers: { one: () => ({ hangs: true }) },
    ended: { each: 0, after: 0, d: 1 },
    canceled: { one: 2, each: 1 },
  },
  {
    name: "29 cancelling discriminator",
    flow: workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > d", { b: SLOW, c: SLOW, j: { kind: "join", wait: "any", cancelRest: true } }),
    answers: { b: () => ({ hangs: true }), c: () => ({ hangs: true }) },
    ended: { a: 1, b: 0, c: 0, j: 1, d: 1 },
    canceled: { b: 1, c: 1 },
  },
  {
    name: "30 structured partial join",
    flow: workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > d", { c: { kind: "timer", for: "1h" }, j: { kind: "join", wait: 2 } }),
    ended: { a: 1, b: 1, c: 1, j: 1, d: 1 },
    order: ["a < j", "b < j", "d < c+"],
  },
  {
    name: "32 cancelling partial join",
    flow: workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > d", { c: SLOW, j: { kind: "join", wait: 2, cancelRest: true } }),
    answers: { c: () => ({ hangs: true }) },
    ended: { a: 1, b: 1, c: 0, j: 1, d: 1 },
    canceled: { c: 1 },
  },
  {
    name: "35 cancelling partial join for multiple instances",
    flow: workflow("start > each, each > d", { each: { kind: "forEach", items: [1, 2, 3], need: 2, do: body("one", "", { one: SLOW }) } }),
    answers: { one: (_, { index }) => (index === 1 ? { hangs: true } : { output: index }) },
    ended: { one: 2, each: 1, d: 1 },
    canceled: { one: 1 },
  },
  {
    name: "37 local synchronizing merge",
    flow: workflow("start > x, x.p > a, x.q > b, a > y, y.on > j, y.else > other, b > j, j > d", {
      x: { kind: "multiChoice", cases: ["p", "q"].map((port) => ({ port, when: "" })) },
      y: { kind: "branch", cases: [{ port: "on", when: "" }] },
      a: { kind: "timer", for: "1h" },
      j: JOIN,
    }),
    answers: { x: () => ({ ports: ["p", "q"] }) },
    ended: { a: 1, b: 1, other: 1, j: 1, d: 1 },
    order: ["y < j"],
  },
  {
    name: "38 general synchronizing merge",
    flow: workflow("start > x, x.p > a, x.q > b, a > y, y.back > a, y.else > j, b > j, j > d", {
      x: { kind: "multiChoice", cases: ["p", "q"].map((port) => ({ port, when: "" })) },
      y: { kind: "branch", cases: [{ port: "back", when: "" }] },
      a: { kind: "timer", for: "1h" },
      j: JOIN,
    }),
    answers: { x: () => ({ ports: ["p", "q"] }), y: ({ visit }) => ({ port: visit < 3 ? "back" : "else" }) },
    ended: { a: 3, y: 3, b: 1, j: 1, d: 1 },
    order: ["y < j"],
  },
  {
    name: "41 thread merge",
    flow: workflow("start > many, many > one, many > one2, one > m, one2 > m, m > j, j > d", { j: { kind: "join", of: "start" } }),
    ended: { m: 2, j: 1, d: 1 },
    order: ["m < j"],
  },
  {
    name: "43 explicit termination",
    flow: workflow("start > a, start > b, a > fin", { b: SLOW, fin: { kind: "end", output: "first", terminate: true } }),
    answers: { b: () => ({ hangs: true }) },
    ended: { a: 1, fin: 1, b: 0 },
    canceled: { b: 1 },
    output: "first",
  },
];

const nodesWith = (journal: readonly Entry[], kinds: readonly string[]) =>
  journal.flatMap((entry) => (kinds.includes(entry.kind) && "step" in entry && entry.step !== undefined ? [{ node: nodeOf(entry.step), seq: entry.seq }] : []));

function check({ ended, canceled = {}, order = [], status = "completed", output }: Pattern, { journal, run }: SimulatedHost): void {
  const done = nodesWith(journal, ["step.ended", "join.fired"]);
  const begun = nodesWith(journal, ["step.ready", "join.fired"]);
  const count = (list: readonly { node: string }[], node: string) => list.filter((one) => one.node === node).length;
  expect(Object.fromEntries(Object.keys(ended).map((node) => [node, count(done, node)]))).toEqual(ended);
  const gone = nodesWith(journal, ["step.canceled"]);
  expect(Object.fromEntries(gone.map(({ node }) => [node, count(gone, node)]))).toEqual(canceled);
  for (const pair of order) {
    const [first = "", second = ""] = pair.split(" < ");
    const ends = second.endsWith("+");
    const last = Math.max(...done.filter(({ node }) => node === first).map(({ seq }) => seq));
    const next = (ends ? done : begun).filter(({ node }) => node === second.replace("+", "")).map(({ seq }) => seq);
    expect([pair, last < Math.max(...next)]).toEqual([pair, true]);
  }
  expect(run.status).toBe(status);
  if (output !== undefined) expect(run.output).toEqual(output);
  expect([run.steps, run.groups, Object.keys(run.scopes)]).toEqual([{}, {}, [""]]);
}

describe.each(PATTERNS)("pattern $name", (pattern) => {
  it(`is the same in ${ORDERS} orders`, () => {
    for (let seed = 1; seed <= ORDERS; seed++) {
      const { flow, answers = {}, then } = pattern;
      const host = new SimulatedHost(flow, { answers, pick: randomOf(seed) }).start().drain();
      if (then !== undefined && host.run.status === "running") then(host);
      check(pattern, host.drain());
    }
  });
});

describe("pattern 22 recursion", () => {
  it("ends at a depth of ten", () => {
    const flow = workflow("start > sub, sub.error > d", { sub: { kind: "subProcess", workflow: "flow" } });
    const at = (depth: number) => new SimulatedHost(flow, { run: { depth } }).start().drain();
    expect(at(9).journal.some(({ kind }) => kind === "child.started")).toBe(true);
    expect(at(10).journal.find(({ kind }) => kind === "step.failed")).toMatchObject({ error: { code: "DEPTH" }, port: "error" });
  });
});

describe("a limit", () => {
  it("of visits or steps fails the run, and no port catches it", () => {
    const flow = workflow("start > each, each.error > caught", {
      each: { kind: "forEach", items: [1], onItemError: "continue", do: body("a", "a > b, b > a") },
    });
    expect(new SimulatedHost({ ...flow, maxVisits: 5 }).start().drain().run).toMatchObject({
      status: "failed",
      error: { code: "LOOP_LIMIT", node: "a", iteration: "1.0.6" },
    });
    expect(new SimulatedHost({ ...flow, maxSteps: 20 }).start().drain().run).toMatchObject({ status: "failed", error: { code: "STEP_LIMIT" }, steps: {} });
  });

  it("lets nothing happen to a run that has ended", () => {
    const host = new SimulatedHost(workflow("start > a")).start().drain();
    for (const kind of ["pause", "resume", "cancel"] as const) {
      expect(decide(host.definition, host.run, { kind, at: 1 })).toEqual({ state: host.run, entries: [], commands: [], refused: "terminal" });
    }
  });
});
