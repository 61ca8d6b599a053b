import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { svcError } from "@svc/sdk";
import { createFakeCli, type FakeCliOptions } from "@svc/sdk/testing";
import { afterEach, expect, it } from "vitest";
import group from "./workflow-command.ts";

afterEach(() => {
  process.exitCode = undefined;
});

const DECISION = { name: "decision", kind: "select", required: true, options: ["approve", "reject"] };
const TASK = {
  id: "ut_1",
  kind: "approval",
  runId: "run_1",
  workflowId: "buy",
  step: "ask/1",
  title: "Buy a pen?",
  assignee: "role:lead",
  form: { fields: [DECISION, { name: "comment", kind: "long-text" }] },
  state: "open",
  overdue: false,
};
const RUN = { id: "run_1", workflowId: "buy", status: "running", createdAt: "2026-05-01T10:00:00.000Z", waits: [] };
const unknown = () => svcError("SVC_TASK_UNKNOWN", "There is no task 'x'", { status: 404 });

/** Calls a command and answers what was printed, or the error. */
async function call(name: string, args: readonly string[], { options = {}, ...world }: FakeCliOptions & { options?: Record<string, unknown> } = {}) {
  const cli = createFakeCli(world);
  const error = await cli.run(group, name, args, options).then(
    () => undefined,
    (thrown: Error & { code?: string; exit?: number }) => thrown,
  );
  return { cli, error, lines: cli.printed.map(({ human }) => human) };
}

it("list is a table of id, name, state and running runs", async () => {
  const head = (id: string, more: object) => ({ definition: { id, name: `The ${id}` }, broken: false, problems: [], inputSchema: {}, ...more });
  const { lines } = await call("list", [], {
    answers: {
      "GET /api/workflows?limit=200": { workflows: [head("buy", {}), head("nightly", { broken: true, problems: [{}] })] },
      "GET /api/workflows/runs?summary=1&status=running&limit=200": { runs: [RUN] },
    },
  });
  expect(lines).toEqual(["ID       NAME         STATE   RUNS\nbuy      The buy      ok      1\nnightly  The nightly  broken  0"]);
});

it("run reads name=value by the workflow's input and @file, and starts with the key", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-workflow-"));
  try {
    const file = join(folder, "input.json");
    await writeFile(file, '{"item":"pen","count":1}');
    const sent: unknown[] = [];
    const { lines } = await call("run", ["buy"], {
      options: { input: [`@${file}`, "count=3", "gift=true", "note=007"], key: "k1" },
      answers: {
        "GET /api/workflows?limit=200": {
          workflows: [{ definition: { id: "buy" }, inputSchema: { count: { type: "number" }, gift: { type: "boolean" }, note: { type: "string" } } }],
        },
        "POST /workflows/buy/run?entry=cli": (body: unknown) => {
          sent.push(body);
          return { runId: "run_1", workflowId: "buy", status: "running", hash: "h" };
        },
      },
    });
    expect(sent).toEqual([{ payload: { item: "pen", count: 3, gift: true, note: "007" }, startKey: "k1" }]);
    expect(lines).toEqual(["run_1 started"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("watch prints what happens and what the run waits for, and ends with 4 where it failed", async () => {
  const at = "2026-05-01T10:00:00.000Z";
  const entries = [
    { seq: 1, at, kind: "run.started", run: { workflow: "buy" } },
    { seq: 2, at, kind: "step.claimed", step: "ask/1", attempt: 1 },
    { seq: 3, at, kind: "task.created", step: "ask/1", taskId: "ut_1" },
  ];
  const wait = { node: "ask", iteration: "1", kind: "task", since: at, until: "2026-05-04T10:00:00.000Z", for: "ut_1" };
  const end = [
    { seq: 4, at: "2026-05-01T10:00:00.120Z", kind: "step.ended", step: "ask/1", ports: ["reject"] },
    { seq: 5, at, kind: "run.failed", error: { code: "NO", message: "not\u001b[2J wanted" } },
  ];
  const { lines } = await call("watch", ["buy"], {
    answers: {
      "GET /api/workflows/runs?summary=1&workflow=buy&status=running&limit=1": { runs: [RUN] },
      "GET /api/workflows/runs/run_1?after=0&limit=1000": { ...RUN, timeline: entries, waits: [wait] },
      "GET /api/workflows/tasks/ut_1": TASK,
      "GET /api/workflows/runs/run_1?after=3&limit=1000": { ...RUN, status: "failed", error: { code: "NO", message: "not wanted" }, timeline: end },
    },
  });
  expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d/, "T"))).toEqual([
    "T started buy",
    "T task ask/1 ut_1",
    "ask/1 waits for task ut_1 (role:lead) until 2026-05-04T10:00:00.000Z: Buy a pen?\n  answer it with: svc workflow submit ut_1",
    "T ok ask/1 (reject) 120ms",
    "T failed NO: not [2J wanted",
    "run_1 failed NO: not wanted",
  ]);
  expect(process.exitCode).toBe(4);
});

it("submit finds the one open task of a workflow, asks for what is missing and sends the rest as it was typed", async () => {
  const sent: unknown[] = [];
  const answers = {
    "GET /api/workflows/tasks/buy": unknown(),
    "GET /api/workflows/tasks?limit=200": { tasks: [TASK, { ...TASK, id: "ut_2", workflowId: "other" }] },
    "POST /api/workflows/tasks/ut_1/submit": (body: unknown) => {
      sent.push(body);
      return { ok: true, taskId: "ut_1", port: "approve", runId: "run_1" };
    },
  };
  const { lines } = await call("submit", ["buy", "comment=fine"], { answers, says: ["approve"], options: { actor: "ann" } });
  expect(sent).toEqual([{ values: { comment: "fine", decision: "approve" }, actor: "ann" }]);
  expect(lines).toEqual(["ut_1 submitted: run_1 goes on at approve"]);

  const typed = await call("submit", ["buy", "decision=maybe"], { answers });
  expect(typed.error).toMatchObject({ code: "option", field: "decision", status: 400 });
  expect(sent).toHaveLength(1);
  const silent = await call("submit", ["buy"], { answers });
  expect(silent.error).toMatchObject({ code: "SVC_CLI_ASK", message: expect.stringContaining("decision=<value>") });
});

it("submit names the tasks where several are open, and says so where none is", async () => {
  const answers = {
    "GET /api/workflows/tasks/buy": unknown(),
    "GET /api/workflows/tasks?limit=200": { tasks: [TASK, { ...TASK, id: "ut_2", title: "Buy ink?" }] },
  };
  expect((await call("submit", ["buy"], { answers })).error).toMatchObject({ code: "SVC_CLI_USAGE", message: expect.stringContaining("ut_2  Buy ink?") });
  const none = { ...answers, "GET /api/workflows/tasks?limit=200": { tasks: [] } };
  expect((await call("submit", ["buy"], { answers: none })).error).toMatchObject({ code: "SVC_TASK_UNKNOWN" });
});

it("every command that needs the daemon ends with 3 without one", async () => {
  const lines: readonly [string, ...string[]][] = [
    ["list"],
    ["run", "x"],
    ["runs"],
    ["watch"],
    ["pause", "r"],
    ["signal", "r", "s"],
    ["tasks"],
    ["submit", "t"],
    ["comment", "t", "x"],
  ];
  for (const [name, ...args] of lines) expect([name, (await call(name, args)).error?.exit]).toEqual([name, 3]);
});

it("check says file, line and column of each mistake without a daemon, and ends with 1 where a file cannot run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-workflow-"));
  try {
    const good = join(folder, "good.yaml");
    const bad = join(folder, "bad.yaml");
    await writeFile(good, "nodes:\n  - {id: start, kind: trigger}\n  - {id: done, kind: end}\nedges:\n  - {from: start, to: done}\n");
    await writeFile(bad, "nodes:\n  - {id: start, kind: trigger}\n  - {id: done, kind: end}\nedges:\n  - {from: start, to: nowhere}\n");
    const fine = await call("check", [good]);
    expect([fine.error, fine.lines, process.exitCode]).toEqual([undefined, [`${good}: ok`], undefined]);
    const { lines } = await call("check", [good, bad]);
    expect(lines[0]).toMatch(new RegExp(`^${good}: ok\\n${bad}:\\d+:\\d+: error [A-Z_]+ `));
    expect(process.exitCode).toBe(1);
    expect((await call("check", [join(folder, "none.yaml")])).error).toMatchObject({ code: "SVC_CLI_USAGE" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("draft tells what became of it: problems, the fate of old runs, the file of a rejected one", async () => {
  const problem = { severity: "error", code: "UNREACHABLE", message: "no way leads to it", pointer: "/nodes/1", line: 3, column: 5 };
  const answers = {
    "GET /api/workflows/drafts": {
      drafts: [{ definition: { id: "d", generatedFrom: "task-trace", confidence: 0.7 }, problems: [problem], updatedAt: "2026-05-01" }],
    },
    "POST /api/workflows/drafts/d/validate": { ok: false, problems: [problem] },
    "POST /api/workflows/drafts/d/promote": {
      id: "d2",
      folds: [
        { runId: "run_1", same: true },
        { runId: "run_2", same: false, firstDifference: { seq: 4 } },
      ],
    },
    "POST /api/workflows/drafts/d/reject": { file: "_rejected/d.yaml" },
    "POST /api/workflows/drafts/d/replay": (body: unknown) => ({ runId: "run_9", name: JSON.stringify(body) }),
  };
  expect((await call("draft", ["list"], { answers })).lines).toEqual(["d  task-trace  0.7  1 problems  2026-05-01"]);
  expect((await call("draft", ["validate", "d"], { answers })).lines).toEqual(["d:3:5: error UNREACHABLE no way leads to it (/nodes/1)\nd cannot be promoted"]);
  expect(process.exitCode).toBe(1);
  expect((await call("draft", ["promote", "d"], { answers, options: { as: "d2" } })).lines).toEqual([
    'd2 is active\nrun_1 would go the same way\nrun_2 would go another way: {"seq":4}',
  ]);
  expect((await call("draft", ["reject", "d"], { answers })).lines).toEqual(["d is rejected; it stands in _rejected/d.yaml"]);
  const replayed = await call("draft", ["replay", "d"], { answers, options: { task: "task_1", input: '{"a":1}' } });
  expect(replayed.cli.requested.at(-1)?.body).toEqual({ taskId: "task_1", input: { a: 1 } });
  for (const args of [["fly", "d"], ["show"], ["save", "d"]]) expect((await call("draft", args, { answers })).error).toMatchObject({ code: "SVC_CLI_USAGE" });
});
