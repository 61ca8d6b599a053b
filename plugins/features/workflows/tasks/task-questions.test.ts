import { type Approval, type ApprovalDecision, type ApprovalQuestion, type Approvals, put, svcError } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import type { FormField } from "../engine/types.ts";
import { createReminders } from "./reminders.ts";
import { createTaskQuestions } from "./task-questions.ts";
import { openRow, TASKS, type TaskRow } from "./task-row.ts";
import { createTaskRows } from "./task-rows.ts";
import type { Submission } from "./tasks.ts";

const DECISION: FormField = { name: "decision", kind: "select", required: true, options: ["approve", "reject"] };
const LOG = Object.fromEntries(["debug", "info", "warn", "error"].map((level) => [level, () => {}])) as never;

/** Approvals that keep questions by key, as the service does. */
function createApprovals() {
  const asked: (ApprovalQuestion & { readonly id: string; state: string })[] = [];
  const lists = { count: 0 };
  let hear: (decision: ApprovalDecision) => Promise<void> = async () => {};
  const service = {
    async ask(question: ApprovalQuestion) {
      const known = asked.find(({ key, digest }) => key === question.key && digest === question.digest);
      if (known !== undefined) return { id: known.id };
      asked.push({ ...question, id: `q${asked.length}`, state: "open" });
      return { id: `q${asked.length - 1}` };
    },
    get: async (id: string) => asked.find((one) => one.id === id) as unknown as Approval,
    // The newest ones, as many as are asked for.
    async list({ limit = 100 } = {}) {
      lists.count += 1;
      return asked
        .filter(({ state }) => state === "open")
        .toReversed()
        .slice(0, limit) as unknown as Approval[];
    },
    async withdraw(id: string) {
      const met = asked.find((one) => one.id === id && one.state === "open");
      if (met !== undefined) met.state = "withdrawn";
      return met !== undefined;
    },
    onDecided(_kind: string, listener: typeof hear) {
      hear = listener;
      return () => {};
    },
    digest: async (action: unknown) => JSON.stringify(action),
  };
  return {
    service: service as unknown as Approvals,
    asked,
    lists,
    decide: (id: string, decision: Partial<ApprovalDecision>) => {
      const met = asked.find((one) => one.id === id);
      if (met !== undefined) met.state = decision.state ?? "approved";
      return hear({
        id,
        kind: "workflow-task",
        digest: "",
        state: "approved",
        by: "Ann",
        surface: "chat",
        at: 7,
        ...(met?.key === undefined ? {} : { key: met.key }),
        ...decision,
      });
    },
  };
}

/** Rows of tasks and their questions. */
async function world(submit: (id: string, submission: Submission) => Promise<unknown> = async () => ({})) {
  const store = createMemoryStore();
  const rows = createTaskRows(store);
  const approvals = createApprovals();
  const served: { now: Approvals | undefined } = { now: approvals.service };
  const submitted: [string, Submission][] = [];
  const questions = createTaskQuestions({ services: { get: () => served.now, list: () => [] } as never, log: LOG }, rows, (async (
    id: string,
    submission: Submission,
  ) => {
    submitted.push([id, submission]);
    return submit(id, submission);
  }) as never);
  const add = (id: string, more: Partial<TaskRow> = {}) =>
    store.commit([
      put(TASKS, id, {
        ...openRow({
          id,
          kind: "approval",
          run: "run_1",
          workflowId: "buy",
          step: "ask/1",
          title: "Buy?",
          assignee: "role:lead",
          form: { fields: [DECISION] },
          submitTransition: "",
          assignedAt: 1,
        }),
        ...more,
      }),
    ]);
  const open = () => approvals.asked.filter(({ state }) => state === "open");
  return { store, rows, approvals, questions, submitted, add, open, served };
}

it("WF-08 an answer submits the task once; one that comes too late is no error, any other failure is tried again", async () => {
  const answers: unknown[] = [{}, svcError("task-closed", "too late", { status: 409 }), svcError("SVC_STORE_FULL", "full", { status: 503 })];
  const { questions, approvals, submitted, add } = await world(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
  });
  await questions.reconcile();
  await add("ut_1");
  questions.opened("ut_1");
  await vi.waitFor(() => expect(approvals.asked).toHaveLength(1));
  expect(approvals.asked[0]).toMatchObject({
    kind: "workflow-task",
    title: "Buy? (buy)",
    key: "ut_1",
    choices: [{ id: "approve" }, { id: "reject", rejects: true }],
  });
  await approvals.decide("q0", { choice: "reject", state: "rejected" });
  expect(submitted).toEqual([["ut_1", { values: { decision: "reject" }, by: "Ann on chat" }]]);
  await approvals.decide("q0", { choice: "approve" });
  await expect(approvals.decide("q0", { choice: "approve" })).rejects.toThrow("full");
});

it("a question that expires is asked again while its task is open, and one of a closed task is not", async () => {
  const { questions, approvals, add, open, store, rows } = await world();
  await questions.reconcile();
  await add("ut_1");
  questions.opened("ut_1");
  await vi.waitFor(() => expect(open()).toHaveLength(1));
  await approvals.decide("q0", { state: "expired" });
  await vi.waitFor(() => expect(open()).toMatchObject([{ id: "q1", key: "ut_1@7" }]));
  const doc = await rows.collection.get("ut_1");
  await store.commit([put(TASKS, "ut_1", { ...(doc?.value as TaskRow), state: "canceled" })]);
  await approvals.decide("q1", { state: "expired" });
  questions.closed("ut_1", "over");
  await vi.waitFor(() => expect(open()).toEqual([]));
  expect(approvals.asked).toHaveLength(2);
});

it("a question is taken back without a look at all others, and those that are too many for one list are, too", async () => {
  const { questions, approvals, add, open, store, rows } = await world();
  await questions.reconcile();
  for (const id of ["ut_1", "ut_2"]) await add(id);
  for (const id of ["ut_1", "ut_2"]) questions.opened(id);
  await vi.waitFor(() => expect(open()).toHaveLength(2));
  const { count } = approvals.lists;
  questions.closed("ut_1", "over");
  await vi.waitFor(() => expect(open().map(({ key }) => key)).toEqual(["ut_2"]));
  await approvals.decide("q1", { choice: "approve" });
  questions.closed("ut_2", "answered");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(approvals.lists.count - count).toBe(0);

  const doc = (await rows.collection.get("ut_2"))?.value as TaskRow;
  await store.commit([put(TASKS, "ut_2", { ...doc, state: "completed" })]);
  const ask = (key: string) => approvals.service.ask({ kind: "workflow-task", title: "x", digest: "d", requestedBy: "w", key });
  for (let at = 0; at < 2_100; at += 1) await ask(`ut_gone${at}`);
  const later = createTaskQuestions({ services: { get: () => approvals.service, list: () => [] } as never, log: LOG }, rows, (async () => ({})) as never);
  await later.reconcile();
  expect(open()).toEqual([]);
});

it("a start asks what a stop left unasked, takes back what was done elsewhere, and asks nothing twice", async () => {
  const { questions, approvals, add, open, served } = await world();
  await add("ut_1");
  await add("ut_2", { state: "completed" });
  const ask = (key: string) => approvals.service.ask({ kind: "workflow-task", title: "x", digest: "d", requestedBy: "w", key });
  await ask("ut_2");
  await ask("ut_gone@3");
  await questions.reconcile();
  expect(open().map(({ key }) => key)).toEqual(["ut_1"]);
  await questions.reconcile();
  expect(approvals.asked).toHaveLength(3);
  // The plugin that asks was started anew, with what it had stored.
  served.now = { ...approvals.service };
  await questions.reconcile();
  expect(approvals.asked).toHaveLength(3);
  served.now = undefined;
  await questions.reconcile();
  questions.opened("ut_1");
});

it("answers that are no ids of choices become numbers, and a form that needs more is told with its fields", async () => {
  const { questions, approvals, submitted, add } = await world();
  await questions.reconcile();
  await add("ut_1", { form: { fields: [{ ...DECISION, options: ["Later", { value: "ÄÖ", label: "The umlauts" }] }] } });
  await add("ut_2", { form: { fields: [DECISION, { name: "why", kind: "text", required: true, label: "x".repeat(200_000) }] } });
  questions.opened("ut_1");
  questions.opened("ut_2");
  await vi.waitFor(() => expect(approvals.asked).toHaveLength(2));
  expect(approvals.asked[0]?.choices).toMatchObject([
    { id: "option-1", label: "Later" },
    { id: "option-2", label: "The umlauts" },
  ]);
  await approvals.decide("q0", { choice: "option-2" });
  expect(submitted).toMatchObject([["ut_1", { values: { decision: "ÄÖ" } }]]);
  expect(approvals.asked[1]).toMatchObject({ choices: [{ id: "seen" }], detail: expect.stringContaining("svc workflow submit ut_2") });
  expect(approvals.asked[1]?.detail?.length).toBeLessThanOrEqual(50_000);
  await approvals.decide("q1", { choice: "seen" });
  expect(submitted).toHaveLength(1);
});

it("an open task is asked about again every remindEvery, once for each time, over a stop in between too", async () => {
  const { questions, approvals, add, open, rows, store } = await world();
  await questions.reconcile();
  const now = Date.now();
  await add("ut_1", { remindMs: 3_600_000, remindAt: now - 2 * 3_600_000 - 1_000 });
  await add("ut_2", { remindMs: 3_600_000, remindAt: now + 60_000 });
  questions.opened("ut_1");
  await vi.waitFor(() => expect(open()).toHaveLength(1));
  const armed: number[] = [];
  const at = (time: number) => {
    armed.push(Number(time));
    return () => {};
  };
  const start = () => createReminders({ jobs: { at, after: at }, store, log: LOG, signal: new AbortController().signal } as never, rows, questions);
  const reminders = start();
  reminders.look();
  await vi.waitFor(() => expect(armed).toHaveLength(1));
  await reminders.stop();
  // The nearest of all, which is the other task's.
  expect(armed).toEqual([now + 60_000]);
  expect(open()).toMatchObject([{ key: expect.stringMatching(/^ut_1@\d+$/) }]);
  expect(approvals.asked.map(({ state }) => state)).toEqual(["withdrawn", "open"]);
  // What was slept through is one reminder; the next is on the hour that comes.
  const next = (await rows.collection.get("ut_1"))?.value.remindAt ?? 0;
  expect(next).toBeGreaterThan(Date.now());
  expect((next - now + 1_000) % 3_600_000).toBe(0);
  const later = start();
  later.look();
  await vi.waitFor(() => expect(armed).toHaveLength(2));
  await later.stop();
  expect(approvals.asked).toHaveLength(2);
});

it("a reminder that was sent and not noted, as before a stop or where a remark came in between, leaves its question open", async () => {
  const { questions, approvals, add, open, rows, store } = await world();
  await questions.reconcile();
  const remindAt = Date.now() - 1_000;
  await add("ut_1", { remindMs: 3_600_000, remindAt });
  questions.opened("ut_1");
  await vi.waitFor(() => expect(open()).toHaveLength(1));
  const row = (await rows.collection.get("ut_1"))?.value as TaskRow;
  for (let again = 0; again < 2; again += 1) await questions.remind(row, remindAt);
  expect(open()).toMatchObject([{ key: `ut_1@${remindAt}` }]);
  // Another life of the daemon, and one that knows nothing of the question yet.
  const later = createTaskQuestions({ services: { get: () => approvals.service, list: () => [] } as never, log: LOG }, rows, (async () => ({})) as never);
  await later.remind(row, remindAt);
  await later.reconcile();
  await later.remind(row, remindAt);
  expect(open()).toMatchObject([{ key: `ut_1@${remindAt}` }]);
  // A remark between the reading of the row and its writing.
  const due = { ...row, remindAt: remindAt + 500 };
  let remarked = false;
  const commit: typeof store.commit = async (ops) => {
    if (!remarked) await store.commit([put(TASKS, "ut_1", due)]);
    remarked = true;
    return store.commit(ops);
  };
  await store.commit([put(TASKS, "ut_1", due)]);
  const never = () => () => {};
  const jobs = { at: never, after: never };
  const reminders = createReminders({ jobs, store: { ...store, commit }, log: LOG, signal: new AbortController().signal } as never, rows, later);
  reminders.look();
  await vi.waitFor(async () => expect((await rows.collection.get("ut_1"))?.value.remindAt).toBeGreaterThan(Date.now()));
  await reminders.stop();
  expect(open()).toHaveLength(1);
});
