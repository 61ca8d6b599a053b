import type { Accepted, Message, Route, TaskEvent } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { KernelTasks } from "../boot/kernel-port.ts";
import type { AgentTable } from "../host/agents.ts";
import { currentScope, within } from "../host/call.ts";
import type { Live } from "../host/live.ts";
import type { Deliveries } from "./deliver/deliveries-port.ts";
import type { Intake } from "./intake.ts";
import type { Lanes } from "./lanes.ts";
import { createTask, describeTask, resultOf, type Task, whenPlaced } from "./live-task.ts";
import type { Ending, Outcome } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";
import { defaultRoute, endedOutcome } from "./routing.ts";

/** The pipeline from outside: tasks for the entries, and what boot and shutdown need. */
export interface Pipeline extends KernelTasks {
  /** Put a stored task back to work after a restart, ahead of what is accepted later. */
  readmit(record: TaskRecord): void;
  /** Let what was readmitted and accepted so far begin, in that order. Until then everything waits. */
  open(): void;
  /** End stored tasks without running them, and tell their sender once; the row of the first holds the outcome. */
  close(records: readonly [TaskRecord, ...TaskRecord[]], outcome: Outcome): Promise<void>;
  /** Take and begin no new work from now on, until `admit`. */
  refuse(): void;
  /** Take new work again. */
  admit(): void;
  /** Begin what may begin since the agents' limits have changed. */
  refill(): void;
  /** Resolves when no turn runs. */
  idle(): Promise<void>;
  /** End what still runs or waits, to be resumed at the next start. */
  interrupt(): Promise<void>;
  /** The task whose turn runs, for adding a step to its trace. */
  find(id: string): TaskRecord | undefined;
}

/** How a message comes in: pinned to a conversation, ahead of others, kept whatever the queue mode. */
export interface Admission {
  readonly pinned?: Route;
  readonly front?: boolean;
  readonly keep?: boolean;
  readonly listen?: (event: TaskEvent) => void;
}

/** The pipeline's steps and state, as the doors need them. */
export interface Inside {
  readonly tasks: Map<string, Task>;
  readonly intake: Intake;
  readonly lanes: Lanes<Task>;
  readonly deliveries: Deliveries;
  readonly whenIdle: (() => void)[];
  record(id: string): Promise<TaskRecord | undefined>;
  now(): number;
  accept(message: Message, admission?: Admission): Promise<{ task?: Task; accepted: Accepted }>;
  finish(batch: readonly Task[], outcome: Outcome): Promise<void>;
  inRoot<T>(task: Task, step: () => T): T;
  live(): Live;
  agents(): AgentTable;
  open(): void;
  refuse(): void;
  admit(): void;
  refill(): void;
  /** What is accepted from now on ends like this. */
  close(ending: Ending): void;
}

export function openDoors(inside: Inside): Pipeline {
  const { tasks, intake, lanes, deliveries, accept, finish, inRoot } = inside;
  /** A collected message is answered by the turn of the first one. */
  const leading = (id: string) => tasks.get(id)?.lead ?? tasks.get(id);
  const running = () => [...tasks.values()].filter((task) => task.state === "running" && task.lead === undefined);

  /** End a task that is not settled yet. Answers when it has ended; false when there is nothing (more) to end. */
  async function end(id: string, ending: Ending): Promise<boolean> {
    const task = leading(id);
    if (task === undefined || task.ending !== undefined) return false;
    task.ending = ending;
    if (task.state === "waiting" ? lanes.remove(task) : intake.remove(task)) await inRoot(task, () => finish([task], endedOutcome(ending)));
    else {
      task.abort.abort(ending);
      await task.result;
    }
    return true;
  }

  return {
    accept: async (message) => (await accept(message)).accepted,
    async run(message, listen, signal) {
      // What a plugin does when it hears something is its own doing, not that of the plugin whose engine said it.
      const scope = currentScope();
      const heard = scope === undefined || listen === undefined ? listen : (event: TaskEvent) => within(scope, () => listen(event));
      const { task, accepted } = await accept(message, heard === undefined ? {} : { listen: heard });
      if (task === undefined) throw fail("SVC_TASK_DUPLICATE", { task: accepted.taskId });
      const stop = () => {
        // A turn that answers others too goes on for them.
        if (leading(accepted.taskId)?.record.tasks === undefined)
          void end(accepted.taskId, { kind: "cancelled", text: "cancelled: the caller stopped waiting" });
      };
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
      try {
        return await task.result;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
    async again(id, listen) {
      const task = tasks.get(id);
      if (task !== undefined) {
        if (listen !== undefined) task.listeners.add(listen);
        return task.result;
      }
      const record = await inside.record(id);
      return record === undefined || record.status === "in-flight" ? undefined : resultOf(record, inside.now());
    },
    cancel: (id, reason) => end(id, { kind: "cancelled", text: reason ? `cancelled: ${reason}` : "cancelled" }),
    async followup(id, { text, replace, sender }) {
      const followed = leading(id);
      // One that waits has not begun anything that could be followed: its sender's next message keeps the order by itself.
      if (followed?.state !== "running" || followed.record.route === undefined) return undefined;
      const { inbound, route } = followed.record;
      const { platformId: _platformId, dedupKey: _dedupKey, media: _media, replyTo: _replyTo, ...context } = inbound;
      const message: Message = { ...context, entry: "followup", text, ...(sender === undefined ? {} : { sender: { id: sender } }) };
      const { task, accepted } = await accept(message, { pinned: route, front: replace, keep: true });
      // It must stand in line before the followed task ends, or another message could slip in between.
      await new Promise<void>((resolve) => (task === undefined ? resolve() : whenPlaced(task, resolve)));
      if (replace) void end(followed.record.id, { kind: "cancelled", text: "cancelled: replaced by a follow-up" });
      return accepted;
    },
    deliver: (delivery) => deliveries.send(delivery),
    running: () => running().map(describeTask),
    queued: () => [...tasks.values()].filter((task) => task.state === "accepted" || task.state === "waiting").map(describeTask),
    readmit(record) {
      const task = createTask(record, inside.live(), { keep: true });
      tasks.set(record.id, task);
      intake.enter(task);
    },
    open: inside.open,
    async close(records, outcome) {
      const closing = records.map((record) => {
        const route = record.route ?? defaultRoute(record.inbound, inside.agents());
        return createTask(route === undefined ? record : { ...record, route, agent: route.agent }, inside.live());
      });
      await inRoot(closing[0] as Task, () => finish(closing, outcome));
    },
    refuse: inside.refuse,
    admit: inside.admit,
    refill: inside.refill,
    idle: () => (running().length === 0 ? Promise.resolve() : new Promise((resolve) => inside.whenIdle.push(resolve))),
    async interrupt() {
      const stopping: Ending = { kind: "interrupted", text: "The daemon is stopping; this is taken up again at the next start." };
      const over: Ending = {
        kind: "interrupted",
        text: "The daemon is stopping; a scheduled run is not taken up again, its record says so at the next start.",
      };
      inside.close(stopping);
      const ending = [...tasks.values()];
      await Promise.all(
        ending.filter((task) => task.lead === undefined).map((task) => end(task.record.id, task.record.inbound.options?.scheduled ? over : stopping)),
      );
      // Also those that somebody else is ending already.
      await Promise.all(ending.map((task) => task.result));
    },
    find: (id) => leading(id)?.record,
  };
}
