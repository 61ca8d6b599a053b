import type { Delivery, Message, TaskResult } from "./messages.ts";
import type { TierEvent } from "./tier.ts";

/** Argument of `Tasks.deliver`. */
export interface DraftDelivery extends Omit<Delivery, "id"> {
  /**
   * Idempotency key: a repetition, by any caller and after any number of restarts, is the same delivery with the same id, for 7 days; its `sent` then
   * rejects with `SVC_DELIVERY_KNOWN`. Begin it with a prefix of your own.
   */
  readonly key?: string;
}

/** Capability `tasks`: hand work to agents. */
export interface Tasks {
  /** Accepts a message and resolves after its commit: then acknowledge the platform. The run continues in the background. */
  accept(message: Message): Promise<Accepted>;
  /** Accept, wait for the end and return the result. A failed run is a result, not an exception. */
  run(message: Message, listen?: (event: TaskEvent) => void, signal?: AbortSignal): Promise<TaskResult>;
  /**
   * Waits for the result of a task that was accepted earlier, also before a restart. Throws `SVC_TASK_UNKNOWN` for an unknown or forgotten task,
   * `SVC_DAEMON_DRAINING` when the daemon stops first (call again after the next start), and the reason of `signal`. `listen` receives its events
   * from now on, if it runs here; of a task on another daemon, its text.
   */
  result(taskId: string, signal?: AbortSignal, listen?: (event: TaskEvent) => void): Promise<TaskResult>;
  /** Send on a channel, through the `deliver` hook and the outbox. Resolves after the commit; `sent` when the platform accepted it. */
  deliver(delivery: DraftDelivery): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /**
   * Deliveries that a `deliver` tap withholds, by id, at most `limit` (default 500): answers, notices and arguments of `deliver`. `after` is the id
   * of the last one of the previous page. Without a decision a delivery expires after a week, and its sender is told. This and the next two require
   * the permission `withheld`: they show answers to others, and release deliveries against a policy.
   */
  withheld(query?: { readonly after?: string; readonly limit?: number }): Promise<readonly WithheldDelivery[]>;
  /**
   * Sends a withheld delivery as it is stored: it enters the outbox behind the pending deliveries of its conversation, and the task that it answers
   * counts as answered. The `deliver` taps are skipped, except a required one that had failed: it must let the delivery pass now, or this throws
   * `SVC_HOOK_REQUIRED` or `SVC_DELIVERY_HELD`. Throws `SVC_CHANNEL_UNKNOWN` while its channel is away. False for an unknown or already decided
   * delivery.
   */
  release(id: string): Promise<boolean>;
  /**
   * Drops a withheld delivery; `reason` is stored in its task's record, and the asker is told that no answer is sent. False for an unknown or already
   * decided one.
   */
  refuse(id: string, reason: string): Promise<boolean>;
  /**
   * Closes the question of a delivery with choices, decided here or elsewhere: later choices do not count. Its message loses its buttons or numbers
   * and ends with `words`; on a platform without edits, `words` are sent as a new message. Resolves after the commit; the platform is updated through
   * the outbox. False when that delivery has no open choices (any more).
   */
  closeChoices(id: string, words?: string): Promise<boolean>;
  /** False when no running, preparing or queued task has that id. Of a turn that answers several tasks it ends all. */
  cancel(id: string, reason?: string): Promise<boolean>;
  /**
   * Queues a message for the conversation of a running task. `replace` cancels that task, waits for its end and runs before the rest of the queue.
   * Undefined when no such task runs: a waiting one has not begun, and `accept` keeps the order.
   */
  followup(id: string, message: { readonly text: string; readonly replace: boolean; readonly sender?: string }): Promise<Accepted | undefined>;
  /** Running and preparing tasks. */
  running(): readonly RunningTask[];
  /** Accepted, and behind a running one. */
  queued(): readonly RunningTask[];
}

/** A delivery that a tap withholds. */
export interface WithheldDelivery {
  readonly delivery: Delivery;
  /** The tap's reason. */
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly since: number;
}

/** A task that runs or waits for its turn. Times in Unix milliseconds. */
export interface RunningTask {
  readonly id: string;
  readonly agent: string;
  /** Where its agent lives, when not here. */
  readonly node?: string;
  /** Current step: `queued`, the preparation step's name, `agent`, or `waiting` while its turn is parked. */
  readonly step: string;
  readonly startedAt: number;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
  /** Tasks whose messages its turn answers, too: they are in neither list themselves, and canceling one of them ends the turn for all. */
  readonly with?: readonly string[];
}

/** Handle of a stored message, whether it runs, waits, or was stored before. */
export interface Accepted {
  readonly taskId: string;
  readonly rootId: string;
  /** The dedup key was seen before: nothing was added. */
  readonly duplicate: boolean;
}

/** Events for a caller of `tasks.run`: the state of the task and the events of its tier. */
export type TaskEvent =
  | { readonly type: "accepted"; readonly taskId: string; readonly rootId: string }
  | { readonly type: "queued"; readonly taskId: string }
  | { readonly type: "started"; readonly taskId: string; readonly agent: string }
  | Exclude<TierEvent, { type: "done" | "pass" }>;
