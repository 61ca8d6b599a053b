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
  /** Resolved once it stands in its lane, or has ended before. */
  readonly placed: { readonly promise: Promise<void>; readonly resolve: () => void };
}

export function createTask(record: TaskRecord, live: Live, options: { front?: boolean; keep?: boolean } = {}): Task {
  let settle!: (result: TaskResult) => void;
  const result = new Promise<TaskResult>((resolve) => {
    settle = resolve;
  });
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    record,
    live,
    placed: { promise, resolve },
    listeners: new Set(),
    result,
    settle,
    abort: new AbortController(),
    front: options.front ?? false,
    keep: options.keep ?? false,
    step: "accepted",
    state: "accepted",
  };
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
    durationMs: (record.endedAt ?? now) - record.startedAt,
    ...(record.usage === undefined ? {} : { usage: record.usage }),
    ...(record.model === undefined ? {} : { model: record.model }),
    ...(record.sessionId === undefined ? {} : { sessionId: record.sessionId }),
  };
}
