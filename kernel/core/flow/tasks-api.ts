import { type Accepted, type Message, onAbort, type TaskEvent } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { KernelTasks } from "../boot/kernel-api.ts";
import { currentScope, inScope } from "../host/call.ts";
import { whenRouted } from "./live-task.ts";
import type { Pipeline } from "./pipeline.ts";
import { type TaskRecord, TRACES } from "./record.ts";
import { resultOf } from "./run-facts.ts";
import { taskResult } from "./task-result.ts";
import { readRecord } from "./traces.ts";

/** Tasks as plugins and the kernel's own routes get them; every function may be called detached. */
export function tasksOf(pipeline: Pipeline): KernelTasks {
  const { tasks } = pipeline;
  const { store, deliveries, now } = pipeline.deps;
  /** Acknowledge a duplicate only once the original has its place in a lane, perhaps on another daemon: the sender's next message must queue behind it. */
  const placed = ({ taskId, duplicate }: Accepted): Promise<void> | undefined => (duplicate ? pipeline.lanes.elsewhere?.routed(taskId) : undefined);
  const running = () => [...tasks.running(), ...(pipeline.lanes.elsewhere?.running() ?? [])];
  return {
    async accept(message) {
      const { accepted } = await pipeline.accept(message);
      await placed(accepted);
      return accepted;
    },
    async run(message, listen, signal) {
      const { task, accepted } = await pipeline.accept(message, listen === undefined ? {} : { listen: ownDoing(listen) });
      if (task === undefined) {
        await placed(accepted);
        throw fail("SVC_TASK_DUPLICATE", { task: accepted.taskId });
      }
      if (signal === undefined) return await task.result;
      const forget = onAbort(signal, () => {
        // Do not cancel a collected turn: it has other callers.
        if (tasks.leading(accepted.taskId)?.record.tasks === undefined)
          void pipeline.end(accepted.taskId, { kind: "cancelled", text: "cancelled: the caller stopped waiting" });
      });
      return task.result.finally(forget);
    },
    async again(id, listen) {
      const task = tasks.get(id);
      if (task !== undefined && listen !== undefined) task.listeners.add(listen);
      if (task !== undefined) return task.result;
      const record = await readRecord(store.collection<TaskRecord>(TRACES), id);
      if (record?.status !== "in-flight") return record && resultOf(record, now());
      return (await pipeline.lanes.elsewhere?.find(id)) && taskResult(pipeline, id, undefined, listen);
    },
    result: (id, signal, listen) => taskResult(pipeline, id, signal, listen && ownDoing(listen)),
    cancel: (id, reason) => pipeline.end(id, { kind: "cancelled", text: reason ? `cancelled: ${reason}` : "cancelled" }),
    async followup(id, { text, replace, sender }) {
      const followed = tasks.leading(id) ?? (await pipeline.lanes.elsewhere?.find(id));
      // A waiting task has not started, so there is nothing to follow up: the order of its sender's messages suffices.
      if (followed?.state !== "running" || followed.record.route === undefined) return undefined;
      const { inbound, route } = followed.record;
      const { platformId: _platformId, dedupKey: _dedupKey, dedupDigest: _dedupDigest, media: _media, replyTo: _replyTo, ...context } = inbound;
      const message: Message = { ...context, entry: "followup", text, ...(sender === undefined ? {} : { sender: { id: sender } }) };
      const { task, accepted } = await pipeline.accept(message, { pinned: route, keep: true, ...(replace ? { front: true, replaces: followed } : {}) });
      await new Promise<void>((resolve) => (task === undefined ? resolve() : whenRouted(task, resolve)));
      return accepted;
    },
    deliver: (delivery) => deliveries.send(delivery),
    withheld: (query) => deliveries.withheld.list(query),
    release: (id) => deliveries.withheld.release(id),
    closeChoices: (id, words) => deliveries.choices.close(id, words),
    refuse: (id, reason) => deliveries.withheld.refuse(id, reason),
    running,
    queued() {
      // A task that was accepted here waits here, also while another daemon's turn answers it.
      const collected = new Set(running().flatMap(({ with: others = [] }) => others));
      return [...tasks.queued(), ...(pipeline.lanes.elsewhere?.queued() ?? [])].filter(({ id }) => !collected.has(id));
    },
  };
}

/** Runs a listener in the scope of the plugin that registered it, not of the plugin whose engine emitted the event. */
function ownDoing(listen: (event: TaskEvent) => void): (event: TaskEvent) => void {
  const scope = currentScope();
  return scope === undefined ? listen : (event) => inScope(scope, () => listen(event));
}
