import { type Route, type RunningTask, type TaskEvent, type TaskResult, withTimeout } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Live } from "../host/live.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { TaskRecord } from "./record.ts";
import type { Ending } from "./run-facts.ts";
import type { Slot } from "./slot.ts";
import type { TurnEnds } from "./turn-end.ts";

/** A task while this process works on it. */
export interface Task {
  readonly record: TaskRecord;
  /** The plugins at the time the task was accepted; a running turn keeps them over a reload. */
  readonly live: Live;
  readonly listeners: Set<(event: TaskEvent) => void>;
  readonly result: Promise<TaskResult>;
  readonly settle: (result: TaskResult) => void;
  readonly abort: AbortController;
  readonly front: boolean;
  readonly keep: boolean;
  /** The running task that this one replaces. */
  readonly replaces?: Task;
  /** Its route, where its turn was foreseen to begin with its acceptance: its stored record counts a run on that route already. */
  foreseen?: Route;
  /** Current step: `accepted`, `queued`, a preparation step's name, `agent`, `waiting` while its turn is parked. */
  step: string;
  state: "accepted" | "waiting" | "running" | "settled";
  /** The task whose turn answers this one too. */
  lead?: Task;
  ending?: Ending;
  /** The node that has the session of its conversation, where that is another one. */
  movedFrom?: string;
  /** Id of the event that caused the current work, as parent of further events. */
  cause?: string;
  /** Stream of the answer to callers and channel; present once its turn has begun. */
  stream?: AnswerStream;
  /** The turn's slot; of a turn that has begun. */
  slot?: Slot<Task>;
  /** Notifies plugins of the turn's end; present once its turn has begun. */
  ends?: TurnEnds;
  /** Whether the task is in its lane, or is ending without one: later ones may be routed. */
  routed: boolean;
  /** Called when that is so. */
  awaited?: (() => void)[];
}

/** Options of an entering message: pinned to a conversation, ahead of others, kept whatever the queue mode, in place of a running task. */
export interface AcceptOptions {
  readonly pinned?: Route;
  readonly front?: boolean;
  readonly keep?: boolean;
  readonly replaces?: Task;
  readonly listen?: (event: TaskEvent) => void;
}

/** A task for a record that was just stored, or read back after a restart. */
export function createTask(record: TaskRecord, live: Live, options: AcceptOptions = {}): Task {
  let settle!: (result: TaskResult) => void;
  const result = new Promise<TaskResult>((resolve) => {
    settle = resolve;
  });
  return {
    record,
    live,
    listeners: new Set(options.listen === undefined ? [] : [options.listen]),
    result,
    settle,
    abort: new AbortController(),
    front: options.front ?? false,
    keep: options.keep ?? false,
    ...(options.replaces === undefined ? {} : { replaces: options.replaces }),
    step: "accepted",
    state: "accepted",
    routed: false,
  };
}

/** Ends the turn that works on the task, or will. */
export function stopTask(task: Task, ending: Ending): void {
  const lead = task.lead ?? task;
  lead.ending ??= ending;
  lead.abort.abort(ending);
}

/** Marks the task as placed in its lane, or as never placed. */
export function markRouted(task: Task): void {
  if (task.routed) return;
  task.routed = true;
  for (const listener of task.awaited?.splice(0) ?? []) listener();
}

/** Runs `listener` once the task is routed; at once when it already is. */
export function whenRouted(task: Task, listener: () => void): void {
  if (task.routed) listener();
  else (task.awaited ??= []).push(listener);
}

/** Milliseconds that an acknowledgement waits: by then a daemon that cannot reach the state any more is dead for the others. */
export const ROUTED_MS = 12_000;

/**
 * Resolves when the task is routed, and buffers its listeners' events until then: where several daemons share the lanes, a sender with the
 * acknowledgement may send the next message to another daemon, and that must queue behind this one. After 12 s throws `SVC_TASK_UNPLACED`, so that
 * the sender retries with its key; a sender without a key would create a duplicate by that, and gets the acknowledgement instead.
 */
export async function routedFirst(task: Task): Promise<void> {
  const { id, inbound } = task.record;
  const listeners = [...task.listeners];
  const held: TaskEvent[] = [];
  const hold = (event: TaskEvent) => void held.push(event);
  task.listeners.clear();
  task.listeners.add(hold);
  const routed = new Promise<boolean>((resolve) => whenRouted(task, () => resolve(true)));
  const placed = await withTimeout(routed, ROUTED_MS, () => inbound.dedupKey === undefined);
  task.listeners.delete(hold);
  if (!placed) throw fail("SVC_TASK_UNPLACED", { task: id });
  for (const listener of listeners) task.listeners.add(listener);
  for (const event of held) tell(task, event);
}

/** Calls the listeners of a task. A listener that throws is removed and affects no other. */
export function tell(task: Task, event: TaskEvent): void {
  for (const listener of task.listeners) {
    try {
      listener(event);
    } catch {
      task.listeners.delete(listener);
    }
  }
}

/** A task as `GET /tasks` and plugins see it. */
export function describeTask({ record, step, state }: Task): RunningTask {
  const { id, agent, startedAt, conversation, route, tasks, inbound } = record;
  const { channel, chat } = inbound;
  const node = route?.node === undefined ? {} : { node: route.node };
  const collected = state !== "running" || tasks === undefined ? {} : { with: tasks.filter((other) => other !== id) };
  return { id, agent, ...node, step, startedAt, channel, chat, conversation, ...collected };
}
