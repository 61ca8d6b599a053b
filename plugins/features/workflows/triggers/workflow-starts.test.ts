import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { RUNS, type RunRow, roomsOf } from "../runs/run-rows.ts";
import { TASKS, type TaskRow } from "../tasks/task-row.ts";
import { createTaskRows } from "../tasks/task-rows.ts";
import { workflowStarts } from "./workflow-starts.ts";

const NO_STARTERS = { settings: { read: async () => ({ document: {} }) }, jobs: {} } as unknown as Parameters<typeof workflowStarts>[0];

async function lastRun(run: Partial<RunRow>, tasks: readonly Partial<TaskRow>[]) {
  const store = createMemoryStore();
  const rooms = roomsOf(store);
  const { collection } = createTaskRows(store);
  await store.collection<Partial<RunRow>>(RUNS).put("run-1", { workflow: "buy", status: "running", busy: 0, createdAt: 1, ...run });
  const rows = store.collection<Partial<TaskRow>>(TASKS);
  for (const [at, task] of tasks.entries()) await rows.put(`task-${at}`, { run: "run-1", assignedAt: at, ...task });
  const starts = await workflowStarts(NO_STARTERS, rooms, collection, [{ id: "buy", definition: {} }], 3, false);
  return starts.get("buy")?.lastRuns[0];
}

it("a run waits for a person while one of its tasks is open, however many newer ones are done", async () => {
  const done = Array.from({ length: 150 }, () => ({ state: "completed" as const }));
  expect(await lastRun({}, [{ state: "open" }, ...done])).toMatchObject({ status: "running", waitsForPerson: true });
});

it("a run with no open task, at work, or ended does not wait for a person", async () => {
  const open = [{ state: "open" as const }];
  expect(await lastRun({}, [{ state: "completed" }, { state: "open", run: "run-2" }])).not.toHaveProperty("waitsForPerson");
  expect(await lastRun({ busy: 1 }, open)).not.toHaveProperty("waitsForPerson");
  expect(await lastRun({ status: "canceled" }, open)).not.toHaveProperty("waitsForPerson");
});
