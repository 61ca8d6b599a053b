import { sleep, type TaskEvent, type TaskResult, withTimeout } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Pipeline } from "./pipeline.ts";
import { type TaskRecord, TRACES } from "./record.ts";
import { resultOf } from "./run-facts.ts";
import { readRecord } from "./traces.ts";

/** Milliseconds between polls of a record that this process does not work on: it waits for the end of a start, or belongs to another daemon. */
const LOOK_MS = 1_000;
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Returns the result of a task, however long ago it was accepted, once it has one. Throws `SVC_TASK_UNKNOWN` if no record of it exists,
 * `SVC_DAEMON_DRAINING` if the daemon stops before its end, and the reason of `signal`.
 */
export async function taskResult(pipeline: Pipeline, id: string, signal?: AbortSignal, listen?: (event: TaskEvent) => void): Promise<TaskResult> {
  const unwatch = listen && pipeline.lanes.elsewhere?.watch(id, listen);
  return ended(pipeline, id, signal, listen).finally(unwatch);
}

async function ended(pipeline: Pipeline, id: string, signal?: AbortSignal, listen?: (event: TaskEvent) => void): Promise<TaskResult> {
  const { store, now } = pipeline.deps;
  for (;;) {
    signal?.throwIfAborted();
    const task = pipeline.tasks.get(id);
    if (task === undefined) {
      const record = await readRecord(store.collection<TaskRecord>(TRACES), id);
      if (record === undefined) throw fail("SVC_TASK_UNKNOWN", { task: id });
      if (record.status !== "in-flight") return resultOf(record, now());
    } else {
      if (listen !== undefined) task.listeners.add(listen);
      const result = await withTimeout(task.result, LONGEST_MS, () => undefined, signal).finally(() => listen && task.listeners.delete(listen));
      if (result !== undefined && !(result.errorKind === "interrupted" && task.record.status === "in-flight")) return result;
      if (pipeline.closing !== undefined) throw fail("SVC_DAEMON_DRAINING");
    }
    await sleep(LOOK_MS, signal);
  }
}
