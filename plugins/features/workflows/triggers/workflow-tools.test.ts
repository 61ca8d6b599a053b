import type { ToolCall, Traces, WorkflowRun, WorkflowStart, Workflows } from "@svc/sdk";
import { expect, it } from "vitest";
import { workflowTools } from "./workflow-tools.ts";

const RUN = { id: "run_1", workflowId: "buy", hash: "h", status: "completed", entry: { kind: "agent" }, rootId: "r", createdAt: "", updatedAt: "", waits: [] };

/** The tools over workflows as a test has them. */
function tools({ runs = {}, traces = {} }: { runs?: Record<string, object>; traces?: Record<string, { runId?: string; rootId?: string }> } = {}) {
  const started: [string, WorkflowStart][] = [];
  const workflows = {
    list: async () => [
      { id: "buy", hash: "h", broken: false, name: "Buy", inputSchema: { item: { type: "string", required: true, description: "what" } } },
      { id: "bad", hash: "", broken: true, inputSchema: {} },
    ],
    async start(id: string, how: WorkflowStart) {
      started.push([id, how]);
      return { runId: "run_1", workflowId: id, status: "running", hash: "h" };
    },
    run: async (id: string) => ({ ...RUN, ...runs[id] }) as unknown as WorkflowRun,
    wait: async (id: string) => ({ ...RUN, id, ...runs[id] }) as unknown as WorkflowRun,
  } as unknown as Workflows;
  const all = workflowTools(workflows, () => ({ get: async (id: string) => traces[id] }) as unknown as Pick<Traces, "get">);
  const call = (name: string, input: object, more: Partial<ToolCall> = {}) =>
    all.find((tool) => tool.name === name)?.run(input as Record<string, unknown>, { agent: "scout", signal: new AbortController().signal, ...more });
  return { call, started };
}

it("lists what can be started, starts it under the agent's own key, and tells how it ended", async () => {
  const { call, started } = tools({
    runs: { run_2: { status: "failed", error: { code: "NO", message: "not wanted" } }, run_3: { output: "x".repeat(50_000) } },
  });
  expect(await call("svc_workflow_list", {})).toBe("buy - Buy\n  item (string, required): what");
  expect(await call("svc_workflow_start", { id: "buy", input: { item: "pen" }, key: "k" }, { taskId: "task_1" })).toBe("Started: run run_1 of buy, running.");
  expect(started).toEqual([["buy", { input: { item: "pen" }, startKey: "agent:scout:k", entry: { kind: "agent", ref: "task_1" }, force: true }]]);
  expect(await call("svc_workflow_wait", { run: "run_2" })).toBe("Run run_2 is failed: NO: not wanted.");
  expect((await call("svc_workflow_wait", { run: "run_3" }))?.length).toBeLessThan(21_000);
});

it("an agent of a run starts runs, but not from within each other without an end", async () => {
  const entry = (ref: string) => ({ entry: { kind: "agent", ref } });
  const runs = Object.fromEntries(Array.from({ length: 12 }, (_, depth) => [`run_d${depth}`, entry(`task_${depth + 1}`)]));
  const traces = Object.fromEntries(Array.from({ length: 12 }, (_, depth) => [`task_${depth}`, { runId: `run_d${depth}` }]));
  const shallow = tools({ runs, traces: { ...traces, task_9: {} } });
  await shallow.call("svc_workflow_start", { id: "buy" }, { taskId: "task_0" });
  expect(shallow.started).toHaveLength(1);
  const deep = tools({ runs, traces });
  await expect(deep.call("svc_workflow_start", { id: "buy" }, { taskId: "task_0" })).rejects.toMatchObject({ code: "SVC_WORKFLOW_DEPTH" });
  // A circle of tasks ends, too.
  const circle = tools({ runs: { run_a: entry("task_a") }, traces: { task_a: { runId: "run_a" } } });
  await expect(circle.call("svc_workflow_start", { id: "buy" }, { taskId: "task_a" })).rejects.toMatchObject({ code: "SVC_WORKFLOW_DEPTH" });
});

it("waits only for runs of the caller's own chain, and says of another one what it says of none", async () => {
  const runs = { run_own: { rootId: "a" }, run_started: { rootId: "other", entry: { kind: "agent", ref: "task_0" } }, run_foreign: { rootId: "b" } };
  const { call } = tools({ runs, traces: { task_0: { rootId: "a" }, task_1: { rootId: "a" } } });
  const wait = (run: string, taskId?: string) => call("svc_workflow_wait", { run }, taskId === undefined ? {} : { taskId });
  for (const run of ["run_own", "run_started"]) expect(await wait(run, "task_1")).toContain(`Run ${run} is completed`);
  for (const task of ["task_1", "task_unknown"])
    await expect(wait("run_foreign", task)).rejects.toMatchObject({ code: "SVC_WORKFLOW_RUN_UNKNOWN", status: 404 });
  // A person at svc mcp has no chain.
  expect(await wait("run_foreign")).toContain("completed");
});
