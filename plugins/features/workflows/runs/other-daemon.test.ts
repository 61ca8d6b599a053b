import type { Action, Store } from "@svc/sdk";
import { createFakeTasks, createMemoryStore } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import { action, definitionOf, stage } from "./runs.harness.ts";

const WORK = definitionOf(
  "work",
  [
    { id: "ask", kind: "agent", agent: "ada", message: "do it" },
    { id: "act", kind: "action", action: "slow" },
  ],
  "start > ask, start > act",
);

/** Two daemons at one store; the first one leads, and does the work. */
async function two(slow: Action["run"]) {
  const memory = createMemoryStore();
  const store: Store = { ...memory, shared: true };
  const tasks = createFakeTasks(() => new Promise(() => {}));
  const options = { definitions: [WORK], actions: [action("slow", slow)] };
  const first = await stage({ ...options, store, tasks });
  const none = { held: false, signal: AbortSignal.abort(), release: async () => {} };
  const second = await stage({ ...options, store: { ...store, lease: async () => none } });
  return { first, second, tasks };
}

it("a run that is canceled at another daemon ends its turn and its action where they are at work", async () => {
  const stopped: unknown[] = [];
  const { first, second, tasks } = await two((_input, { signal }) => new Promise(() => signal.addEventListener("abort", () => stopped.push(signal.reason))));
  const { runId } = await first.start("work");
  await vi.waitFor(() => expect(first.runs.atWork.effects).toBe(2));
  await first.tick();
  expect(first.runs.atWork.effects).toBe(2);
  await second.runs.change(runId, "cancel", { by: "ann" });
  await first.tick();
  await vi.waitFor(() => expect(first.runs.atWork).toEqual({ effects: 0, runs: 0 }));
  expect(tasks.cancelled).toMatchObject([{ id: "task_1" }]);
  expect(stopped).toHaveLength(1);
  expect(await first.runs.run(runId)).toMatchObject({ status: "canceled" });
});
