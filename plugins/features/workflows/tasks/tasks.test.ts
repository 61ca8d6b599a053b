import { codeOf, put } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { decide } from "../engine/decide.ts";
import { graphOf } from "../engine/graph.ts";
import { taskIdOf } from "../engine/task-id.ts";
import type { Definition, Entry, Input, Node, RunState } from "../engine/types.ts";
import { createTaskRows } from "./task-rows.ts";
import { createTasks, type TaskHost } from "./tasks.ts";

const edges = (...lines: string[]) =>
  lines.map((line) => {
    const [left = "", to = ""] = line.split(" > ");
    const [from = "", fromPort = "out"] = left.split(".");
    return { from, fromPort, to };
  });

const ASKED: Node = { id: "ask", kind: "approval", title: "Buy it?", assignee: "role:lead" };

/** A definition: start, the asking node, and an end for each of its ports. */
function asking(node: Node, ports: readonly string[] = ["approve", "reject"]): Definition {
  const ends = ports.map((port) => ({ id: `end-${port}`, kind: "end" as const }));
  return {
    id: "buy",
    nodes: [{ id: "start", kind: "trigger" }, node, ...ends],
    edges: edges("start > ask", ...ports.map((port) => `ask.${port} > end-${port}`)),
  };
}

/** Runs over the engine and a store, each input one commit with the rows of tasks. */
function runs(definition: Definition, roles: readonly string[] = []) {
  const store = createMemoryStore();
  const rows = createTaskRows(store);
  const states = new Map<string, RunState>();
  const journals = new Map<string, Entry[]>();
  let last: Promise<unknown> = Promise.resolve();
  const host: TaskHost = {
    input(runId, input) {
      const done = last.then(() => feed(runId, input));
      last = done.catch(() => {});
      return done;
    },
    load: async (runId) => states.get(runId),
    names: async () => ({}),
    evaluate: async (template, names) => (String(template) === "{{ values.to }}" ? (names["values"] as { to?: unknown }).to : template),
  };
  async function feed(runId: string, input: Input, given: object = {}) {
    const { state, entries, refused } = decide(definition, states.get(runId), input);
    if (entries.length === 0) return { applied: false, ...(refused === undefined ? {} : { refused }) };
    const known = {
      id: runId,
      workflow: definition.id,
      status: state.status,
      rootId: "root",
      ...(definition.ownerAgent === undefined ? {} : { ownerAgent: definition.ownerAgent }),
    };
    const { places } = graphOf(definition);
    const ops = await rows.rows(known, entries, (step) => {
      const [node = "", iteration = ""] = step.split("/");
      const place = places.get(node);
      return place && { node: place.node, key: `${runId}/${step}`, row: { node, iteration, status: "waiting", attempt: 1, readyAt: 0, input: given } };
    });
    await store.commit([put("journal", `${runId}/${state.seq}`, entries), ...ops]);
    states.set(runId, state);
    journals.set(runId, [...(journals.get(runId) ?? []), ...entries]);
    return { applied: true };
  }
  return {
    rows,
    tasks: createTasks(rows, host, () => roles),
    host,
    state: (runId = "run_1") => states.get(runId) as RunState,
    journal: (runId = "run_1") => journals.get(runId) ?? [],
    /** Starts a run up to its open task, and answers the task's id. */
    async open(given: object = {}, { runId = "run_1", due, until, at = 1_000 }: { runId?: string; due?: number; until?: number; at?: number } = {}) {
      const run = { id: runId, workflow: definition.id, hash: "h", rootId: "root", depth: 0, entry: { kind: "api" as const }, input: {} };
      await feed(runId, { kind: "start", at, run });
      await feed(runId, { kind: "claim", at, step: "ask/1", input: given });
      const wait = { kind: "task" as const, for: taskIdOf(runId, "ask/1"), ...(due === undefined ? {} : { due }), ...(until === undefined ? {} : { until }) };
      await feed(runId, { kind: "park", at, step: "ask/1", wait }, given);
      return wait.for;
    },
  };
}

const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const { status, field } = error as { status?: number; field?: string };
  return { code: codeOf(error), status, ...(field === undefined ? {} : { field }) };
};

it("WF-08 a bad value is refused with its field, and neither task nor run moves; a good one takes the transition", async () => {
  const flow = runs(asking(ASKED));
  const id = await flow.open({ title: "Buy a pen?", assignee: "actor:ann" });
  const { seq } = flow.state();
  expect(await refusal(flow.tasks.submit(id, { values: { decision: "maybe" } }))).toEqual({ code: "option", status: 400, field: "decision" });
  expect(await refusal(flow.tasks.submit(id, { values: {} }))).toEqual({ code: "required", status: 400, field: "decision" });
  expect(await refusal(flow.tasks.submit(id, { values: { decision: "approve", colour: "red" } }))).toEqual({ code: "unknown", status: 400, field: "colour" });
  expect(flow.state().seq).toBe(seq);
  expect(await flow.tasks.get(id)).toMatchObject({ title: "Buy a pen?", assignee: "actor:ann", state: "open", kind: "approval", runId: "run_1" });
  expect(await flow.tasks.submit(id, { values: { decision: "reject", comment: "no money" }, by: "ann" })).toEqual({
    ok: true,
    taskId: id,
    port: "reject",
    runId: "run_1",
  });
  expect(await flow.tasks.get(id)).toMatchObject({ state: "completed", completedBy: "ann", values: { decision: "reject", comment: "no money" } });
  expect(Object.keys(flow.state().steps)).toEqual(["end-reject/1"]);
});

it("WF-08 of two submits at once one ends the task; the other reads who was first", async () => {
  const flow = runs(asking(ASKED));
  const id = await flow.open();
  const answers = await Promise.allSettled([
    flow.tasks.submit(id, { values: { decision: "approve" }, by: "ann" }),
    flow.tasks.submit(id, { values: { decision: "reject" }, by: "ben" }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  const [, late] = answers as [unknown, PromiseRejectedResult];
  expect(late.reason).toMatchObject({ code: "task-closed", status: 409, state: "completed", completedBy: "ann" });
  expect(late.reason.completedAt).toMatch(/^\d{4}-.*Z$/);
  expect(flow.journal().filter(({ kind }) => kind === "task.submitted")).toHaveLength(1);
  expect(await flow.tasks.get(id)).toMatchObject({ completedBy: "ann", values: { decision: "approve" } });
});

it("WF-08 a submit behind the time limit is late: the run has taken its port timeout", async () => {
  const flow = runs(asking({ ...ASKED, timeout: "1h" }, ["approve", "reject", "timeout"]));
  const id = await flow.open({}, { until: 3_601_000 });
  const both = await Promise.all([
    flow.host.input("run_1", { kind: "timeout", at: 3_601_000, step: "ask/1" }),
    refusal(flow.tasks.submit(id, { values: { decision: "approve" } })),
  ]);
  expect(both).toEqual([{ applied: true }, { code: "task-closed", status: 409 }]);
  expect(await flow.tasks.get(id)).toMatchObject({ state: "canceled" });
  expect(Object.keys(flow.state().steps)).toEqual(["end-timeout/1"]);
});

it("a submit to a paused run is recorded, one to an ended run is refused", async () => {
  const flow = runs(asking(ASKED));
  const id = await flow.open();
  await flow.host.input("run_1", { kind: "pause", at: 2_000 });
  await flow.tasks.submit(id, { values: { decision: "approve" } });
  expect(flow.state()).toMatchObject({ status: "paused", steps: { "end-approve/1": { status: "ready" } } });
  const canceled = runs(asking(ASKED));
  const gone = await canceled.open();
  await canceled.host.input("run_1", { kind: "cancel", at: 2_000 });
  expect(await refusal(canceled.tasks.submit(gone, { values: { decision: "approve" } }))).toEqual({ code: "task-closed", status: 409 });
  expect(await refusal(canceled.tasks.submit("ut_none", { values: {} }))).toEqual({ code: "SVC_TASK_UNKNOWN", status: 404 });
});

it("WF-08 the transition is what the values say; one that the node has not leaves the task open", async () => {
  const node: Node = {
    id: "ask",
    kind: "userTask",
    title: "Where to?",
    assignee: "actor:ann",
    form: [{ name: "to", kind: "text" }],
    submitTransition: "{{ values.to }}",
  };
  const flow = runs(asking(node, ["left", "right"]));
  const id = await flow.open();
  for (const to of ["up", "error", undefined])
    expect(await refusal(flow.tasks.submit(id, { values: to === undefined ? {} : { to } }))).toEqual({ code: "option", status: 400, field: "transition" });
  expect(await refusal(flow.tasks.submit(id, { values: { to: "left" }, transition: "right" }))).toMatchObject({ status: 400, field: "transition" });
  expect(await flow.tasks.submit(id, { values: { to: "left" } })).toMatchObject({ port: "left" });

  const free = runs(asking({ id: "ask", kind: "userTask", title: "Where to?", assignee: "actor:ann" }, ["out", "right"]));
  const other = await free.open();
  expect(await refusal(free.tasks.submit(other, { values: {}, transition: "timeout" }))).toMatchObject({ status: 400, field: "transition" });
  expect(await free.tasks.submit(other, { values: {}, transition: "right" })).toMatchObject({ port: "right" });
});

it("WF-10 a remark is kept and leaves the task open", async () => {
  const flow = runs(asking(ASKED));
  const id = await flow.open();
  const task = await flow.tasks.comment(id, "I ask the boss", "ann");
  expect(task).toMatchObject({ state: "open", history: [{ type: "created" }, { type: "commented", by: "ann", text: "I ask the boss" }] });
  expect(flow.journal().at(-1)).toMatchObject({ kind: "task.commented", by: "ann", text: "I ask the boss" });
  await flow.tasks.submit(id, { values: { decision: "approve" } });
  expect(await refusal(flow.tasks.comment(id, "too late"))).toEqual({ code: "task-closed", status: 409 });
});

it("WF-09 lists a person's tasks and those of the person's roles, due ones first, page by page", async () => {
  const flow = runs(asking(ASKED), ["lead"]);
  const made: string[] = [];
  for (const [at, assignee] of ["actor:ann", "role:lead", "actor:ben", "role:other", "actor:ann"].entries())
    made.push(
      await flow.open({ assignee, title: `${at}` }, { runId: `run_${at}`, at: 1_000_000_000 * (at + 1), ...(at === 4 ? { due: 5_000_000_000_000 } : {}) }),
    );
  const titles = async (query: object) => (await flow.tasks.list(query)).tasks.map(({ title }) => title);
  expect(await titles({ actor: "ann" })).toEqual(["4", "0", "1"]);
  expect(await titles({})).toEqual(["4", "0", "1", "2", "3"]);
  expect(await titles({ actor: "nobody" })).toEqual(["1"]);
  expect(await titles({ run: "run_2" })).toEqual(["2"]);
  await flow.tasks.submit(made[0] ?? "", { values: { decision: "approve" } });
  expect(await titles({ state: "completed" })).toEqual(["0"]);
  expect(await titles({ actor: "ann" })).toEqual(["4", "1"]);

  const seen: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await flow.tasks.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...page.tasks.map(({ title }) => title));
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(seen).toEqual(["4", "1", "2", "3"]);
  expect(await refusal(flow.tasks.list({ cursor: "ut_none" }))).toMatchObject({ status: 400, field: "cursor" });
});

it("a page of open tasks goes on behind one that was answered meanwhile, and they come as they were made", async () => {
  const flow = runs(asking(ASKED));
  for (const at of [0, 1, 2, 3]) await flow.open({ title: `${at}` }, { runId: `run_${at}`, at: 1_790_000_000_000 + 1_000 * at });
  const { tasks, next = "" } = await flow.tasks.list({ limit: 2 });
  expect(tasks.map(({ title }) => title)).toEqual(["0", "1"]);
  await flow.tasks.submit(next, { values: { decision: "approve" } });
  expect((await flow.tasks.list({ limit: 2, cursor: next })).tasks.map(({ title }) => title)).toEqual(["2", "3"]);
});

it("a task past its due date says so and stays open", async () => {
  const flow = runs(asking({ ...ASKED, due: "1d" }, ["approve", "reject", "due"]));
  const id = await flow.open({}, { due: 86_401_000 });
  await flow.host.input("run_1", { kind: "due", at: 86_401_000, step: "ask/1" });
  expect(await flow.tasks.get(id)).toMatchObject({ state: "open", overdue: true, dueAt: new Date(86_401_000).toISOString() });
  await flow.tasks.submit(id, { values: { decision: "approve" } });
  expect(await flow.tasks.get(id)).toMatchObject({ state: "completed" });
});

it("WF-08 a step that cannot go on asks its owner: again, skip with a value, or fail", async () => {
  const node: Node = { id: "ask", kind: "action", action: "charge", onExhausted: "ask" };
  for (const [decision, expected] of [
    ["again", { status: "running", steps: { "ask/1": {} } }],
    ["skip", { steps: { "end-out/1": { in: { paid: 3 } } } }],
    ["fail", { status: "failed", error: { code: "ERROR" } }],
  ] as const) {
    const flow = runs({ ...asking(node, ["out"]), ownerAgent: "scout" });
    const run = { id: "run_1", workflow: "buy", hash: "h", rootId: "root", depth: 0, entry: { kind: "api" as const }, input: {} };
    for (const input of [
      { kind: "start", at: 1, run },
      { kind: "claim", at: 2, step: "ask/1" },
      { kind: "fault", at: 3, step: "ask/1", error: { code: "ERROR", message: "the card is refused" } },
    ] as const)
      await flow.host.input("run_1", input);
    const [task] = (await flow.tasks.list({})).tasks;
    expect(task).toMatchObject({
      kind: "incident",
      assignee: "actor:scout",
      title: expect.stringContaining("ask/1"),
      detail: expect.stringContaining("the card is refused"),
    });
    await flow.tasks.submit(task?.id ?? "", { values: { decision, ...(decision === "skip" ? { value: '{"paid":3}' } : {}) }, by: "ann" });
    expect(flow.state()).toMatchObject(expected);
  }
});

it("what expressions have made of a form is a form all the same, and of an assignee somebody who can be found", async () => {
  const node: Node = {
    id: "ask",
    kind: "userTask",
    title: "{{ input.t }}",
    assignee: "{{ input.who }}",
    form: [{ name: "n", kind: "select", options: ["a"] }],
  };
  const flow = runs(asking(node, ["out"]));
  const form = [{ name: "n", kind: "select", required: true, label: 7, options: [1, null, true, { value: 2, label: null }, { label: "x" }] }];
  const id = await flow.open({ title: { a: 1 }, assignee: 7, form });
  expect(await flow.tasks.get(id)).toMatchObject({
    title: '{"a":1}',
    assignee: "role:operator",
    form: { fields: [{ label: "7", options: ["1", "true", { value: "2" }] }] },
  });
  expect(await refusal(flow.tasks.submit(id, { values: { n: "x" } }))).toMatchObject({ code: "option" });
  expect(await flow.tasks.submit(id, { values: { n: "2" } })).toMatchObject({ port: "out" });
});
