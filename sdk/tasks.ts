import type { Delivery, Message, TaskResult } from "./messages.ts";
import type { TierEvent } from "./tier.ts";

/** Capability `tasks`: hand work to agents. */
export interface Tasks {
  /** Accept a message and return after its commit: then acknowledge the platform. The run goes on by itself. */
  accept(message: Message): Promise<Accepted>;
  /** Accept, wait for the end and return the result. A failed run is a result, not an exception. */
  run(message: Message, listen?: (event: TaskEvent) => void, signal?: AbortSignal): Promise<TaskResult>;
  /** Send on a channel, through the `deliver` hook and the outbox. Resolves after the commit; `sent` when the platform accepted it. */
  deliver(delivery: Omit<Delivery, "id">): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /** False when no running, preparing or queued task has that id. */
  cancel(id: string, reason?: string): Promise<boolean>;
  /**
   * Work for the conversation of a running task. `replace` cancels that task, waits for its end and runs before anything queued.
   * Undefined when no such task runs: one that waits has not begun, and `accept` keeps the order.
   */
  followup(id: string, message: { readonly text: string; readonly replace: boolean; readonly sender?: string }): Promise<Accepted | undefined>;
  /** Running and preparing tasks. */
  running(): readonly RunningTask[];
  /** Accepted, and behind a running one. */
  queued(): readonly RunningTask[];
}

/** A task that holds a slot or waits for one. Times in Unix milliseconds. */
export interface RunningTask {
  readonly id: string;
  readonly agent: string;
  /** What it is doing now: `queued`, the preparation step's name, or `agent`. */
  readonly step: string;
  readonly startedAt: number;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
}

/** A message that is stored: it runs, waits, or was there before. */
export interface Accepted {
  readonly taskId: string;
  readonly rootId: string;
  /** The dedup key was seen before: nothing was added. */
  readonly duplicate: boolean;
}

/** What a caller of `tasks.run` hears: where the task stands and what the tier says. */
export type TaskEvent =
  | { readonly type: "accepted"; readonly taskId: string; readonly rootId: string }
  | { readonly type: "queued"; readonly taskId: string }
  | { readonly type: "started"; readonly taskId: string; readonly agent: string }
  | Exclude<TierEvent, { type: "done" }>;
