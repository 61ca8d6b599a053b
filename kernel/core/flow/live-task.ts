import type { RunningTask, TaskEvent, TaskResult } from "@svc/sdk";
import type { Live } from "../host/live.ts";
import type { Ending } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";

/** A task while this process works on it. */
export interface Task {
  readonly record: TaskRecord;
  /** The plugins as they were when it came in; a running turn keeps them over a reload. */
  readonly live: Live;
  readonly listeners: Set<(event: TaskEvent) => void>;
  readonly result: Promise<TaskResult>;
  readonly settle: (result: TaskResult) => void;
  readonly abort: AbortController;
  readonly front: boolean;
  readonly keep: boolean;
  /** Where it stands: `accepted`, `queued`, a preparation step's name, `agent`. */
  step: string;
  state: "accepted" | "waiting" | "running" | "settled";
  heldSince?: number;
  /** The task whose turn answers this one too. */
  lead?: Task;
  ending?: Ending;
  /** The event that caused what happens now, for the parents of further events. */
  cause?: string;
  /** It stands in its lane, or is ending without one: what came after it may go on. */
  placed: boolean;
  /** Called when that is so. */
  awaited?: (() => void)[];
}

export function createTask(record: TaskRecord, live: Live, options: { front?: boolean; keep?: boolean } = {}): Task {
  let settle!: (result: TaskResult) => void;
  const result = new Promise<TaskResult>((resolve) => {
    settle = resolve;
  });
  return {
    record,
    live,
    listeners: new Set(),
    result,
    settle,
    abort: new AbortController(),
    front: options.front ?? false,
    keep: options.keep ?? false,
    step: "accepted",
    state: "accepted",
    placed: false,
  };
}

/** Says that the task stands in its lane, or never will. */
export function place(task: Task): void {
  if (task.placed) return;
  task.placed = true;
  for (const listener of task.awaited?.splice(0) ?? []) listener();
}

/** Runs `listener` once the task is placed; at once when it already is. */
export function whenPlaced(task: Task, listener: () => void): void {
  if (task.placed) listener();
  else (task.awaited ??= []).push(listener);
}

/** Tell whoever listens. A listener that throws loses its place and disturbs nobody. */
export function tell(task: Task, event: TaskEvent): void {
  for (const listener of task.listeners) {
    try {
      listener(event);
    } catch {
      task.listeners.delete(listener);
    }
  }
}

export function describeTask({ record, step }: Task): RunningTask {
  const { inbound } = record;
  return {
    id: record.id,
    agent: record.agent,
    step,
    startedAt: record.startedAt,
    channel: inbound.channel,
    chat: inbound.chat,
    conversation: record.conversation,
  };
}

/** The result of a record, as callers get it. */
export function resultOf(record: TaskRecord, now: number): TaskResult {
  return {
    ok: record.status === "ok",
    taskId: record.id,
    agent: record.agent,
    reply: record.response ?? "",
    status: record.status === "in-flight" ? "error" : record.status,
    ...(record.error === undefined ? {} : { error: record.error }),
    ...(record.errorKind === undefined ? {} : { errorKind: record.errorKind }),
    ...(record.exitCode === undefined ? {} : { exitCode: record.exitCode }),
    durationMs: (record.endedAt ?? now) - record.startedAt,
    ...(record.usage === undefined ? {} : { usage: record.usage }),
    ...(record.model === undefined ? {} : { model: record.model }),
    ...(record.sessionId === undefined ? {} : { sessionId: record.sessionId }),
  };
}
