import { expect, it } from "vitest";
import { decide } from "../engine/decide.ts";
import type { Definition, Entry, Input, Node, RunState } from "../engine/types.ts";
import { foldJournal } from "./fold.ts";

const edges = (...lines: string[]) =>
  lines.map((line) => {
    const [left = "", to = ""] = line.split(" > ");
    const [from = "", fromPort = "out"] = left.split(".");
    return { from, fromPort, to };
  });

const NODES: readonly Node[] = [
  { id: "start", kind: "trigger" },
  { id: "fetch", kind: "action", action: "http.fetch", retry: { attempts: 2 } },
  { id: "ask", kind: "approval", title: "Go on?", assignee: "role:lead", due: "1d" },
  { id: "nap", kind: "timer", for: "1h" },
  { id: "hear", kind: "waitSignal", signal: "paid" },
  { id: "each", kind: "forEach", items: "{{ in }}", do: { start: "one", nodes: [{ id: "one", kind: "set", value: "{{ item }}" }] } },
  { id: "which", kind: "branch", cases: [{ port: "big", when: "{{ true }}" }] },
  { id: "sub", kind: "subProcess", workflow: "child" },
  { id: "left", kind: "set", value: 1 },
  { id: "right", kind: "set", value: 2 },
  { id: "both", kind: "join" },
  { id: "done", kind: "end" },
];
const EDGES = [
  "start > fetch",
  "fetch > ask",
  "ask.approve > nap",
  "nap > hear",
  "hear > each",
  "each > which",
  "which.big > sub",
  "sub > left",
  "sub > right",
  "left > both",
  "right > both",
  "both > done",
];
const OLD: Definition = { id: "all", nodes: NODES, edges: edges(...EDGES) };

/** A run with a retry, an approval that was overdue, a timer, a signal, items, a choice, a sub-process, a join and a pause. */
function recorded(definition = OLD): readonly Entry[] {
  let state: RunState | undefined;
  const journal: Entry[] = [];
  let at = 0;
  const feed = (input: Record<string, unknown>) => {
    at += 1_000;
    const decision = decide(definition, state, { at, ...input } as Input);
    expect(decision.entries, JSON.stringify(input)).not.toEqual([]);
    state = decision.state;
    journal.push(...decision.entries);
  };
  const through = (step: string, output: unknown, more: object = {}) => {
    feed({ kind: "claim", step, boot: "b1" });
    feed({ kind: "result", step, output, ...more });
  };
  feed({ kind: "start", run: { id: "run_1", workflow: "all", hash: "h", rootId: "r", depth: 0, entry: { kind: "api" }, input: {} } });
  feed({ kind: "claim", step: "fetch/1", boot: "b1" });
  feed({ kind: "fault", step: "fetch/1", error: { code: "ERROR", message: "away" } });
  feed({ kind: "retryDue", step: "fetch/1", boot: "b1" });
  feed({ kind: "result", step: "fetch/1", output: [1] });
  feed({ kind: "claim", step: "ask/1" });
  feed({ kind: "park", step: "ask/1", wait: { kind: "task", for: "ut_1", due: 9_000 } });
  feed({ kind: "comment", step: "ask/1", text: "hm" });
  feed({ kind: "due", step: "ask/1" });
  feed({ kind: "pause", by: "ann" });
  feed({ kind: "submit", step: "ask/1", port: "approve", values: { decision: "approve" }, by: "ann" });
  feed({ kind: "resume", by: "ann" });
  feed({ kind: "claim", step: "nap/1" });
  feed({ kind: "park", step: "nap/1", wait: { kind: "timer", for: "nap/1", until: 20_000 } });
  feed({ kind: "signal", name: "paid", payload: { by: "card" }, key: "k" });
  feed({ kind: "due", step: "nap/1" });
  feed({ kind: "claim", step: "hear/1" });
  feed({ kind: "park", step: "hear/1", wait: { kind: "signal", for: "paid" } });
  feed({ kind: "claim", step: "each/1" });
  feed({ kind: "items", step: "each/1", items: ["a", "b"] });
  through("one/1.0.1", "a");
  through("one/1.1.1", "b");
  through("which/1", undefined, { ports: ["big"] });
  feed({ kind: "claim", step: "sub/1" });
  feed({ kind: "park", step: "sub/1", wait: { kind: "child", for: "run_2" } });
  feed({ kind: "childEnded", step: "sub/1", runId: "run_2", status: "completed", output: 3 });
  through("left/1", 1);
  through("right/1", 2);
  through("done/1", null);
  expect(state?.status).toBe("completed");
  return journal;
}

const fold = (definition: Definition, journal = recorded()) => foldJournal("run_1", definition, journal);

it("a run folds through its own definition, and through one with other words and templates", () => {
  expect(fold(OLD)).toEqual({ runId: "run_1", same: true });
  const words = NODES.map((node) => (node.kind === "approval" ? { ...node, title: "May it go on?" } : node));
  expect(fold({ ...OLD, name: "All", nodes: words })).toEqual({ runId: "run_1", same: true });
});

it("tells where a definition with another edge parts from the run", () => {
  const other = { ...OLD, edges: edges(...EDGES.filter((edge) => edge !== "ask.approve > nap"), "ask.approve > hear") };
  expect(fold(other)).toMatchObject({
    same: false,
    firstDifference: { was: { kind: "step.ready", step: "nap/1" }, now: { kind: "step.ready", step: "hear/1" } },
  });
});

it("tells of a step that is new, one that is gone, and a retry that is not made any more", () => {
  const more = { ...OLD, nodes: [...NODES, { id: "note", kind: "set", value: 1 } as Node], edges: edges(...EDGES, "fetch > note") };
  expect(fold(more).firstDifference).toMatchObject({ now: { kind: "step.ready", step: "note/1" } });
  const gone = { ...OLD, nodes: NODES.filter(({ id }) => id !== "sub"), edges: edges(...EDGES.filter((edge) => !edge.includes("sub")), "which.big > left") };
  expect(fold(gone).firstDifference).toMatchObject({ was: { kind: "step.ready", step: "sub/1" }, now: { kind: "step.ready", step: "left/1" } });
  const once = { ...OLD, nodes: NODES.map((node) => (node.id === "fetch" ? { ...node, retry: { attempts: 1 } } : node)) as Node[] };
  expect(fold(once).firstDifference).toMatchObject({ was: { kind: "step.retry", step: "fetch/1" }, now: { kind: "step.failed", step: "fetch/1" } });
  const renamed = { ...OLD, nodes: NODES.map((node) => (node.id === "which" ? { ...node, cases: [{ port: "small", when: "{{ true }}" }] } : node)) as Node[] };
  expect(fold(renamed)).toMatchObject({ same: false });
});

it("a join that waits for one branch only would have gone on earlier", () => {
  const any = { ...OLD, nodes: NODES.map((node) => (node.id === "both" ? { ...node, wait: "any" } : node)) as Node[] };
  expect(fold(any)).toMatchObject({ same: false, firstDifference: { now: { kind: "join.fired", step: "both/1" } } });
});

it("a journal is judged as far as it goes; a commit that it breaks off in is not the same", () => {
  const journal = recorded();
  expect(fold(OLD, journal.slice(0, 5))).toMatchObject({ same: true });
  expect(fold(OLD, journal.slice(0, 2))).toMatchObject({ same: false, firstDifference: { now: { kind: "step.ended" } } });
  expect(fold({ ...OLD, nodes: NODES.filter(({ id }) => id !== "fetch"), edges: edges(...EDGES.slice(2), "start > ask") })).toMatchObject({
    same: false,
    firstDifference: { was: { step: "fetch/1" }, now: { step: "ask/1" } },
  });
});
