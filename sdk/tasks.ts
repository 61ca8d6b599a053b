import type { Delivery, Message, TaskResult } from "./messages.ts";
import type { TierEvent } from "./tier.ts";

/** What `Tasks.deliver` takes. */
export interface DraftDelivery extends Omit<Delivery, "id"> {
  /**
   * Handed over again with the same key, by whom and after how many restarts so ever, it is the same delivery with the same id, for 7 days;
   * its `sent` then rejects with `SVC_DELIVERY_KNOWN`. Begin it with a word of your own.
   */
  readonly key?: string;
}

/** Capability `tasks`: hand work to agents. */
export interface Tasks {
  /** Accept a message and return after its commit: then acknowledge the platform. The run goes on by itself. */
  accept(message: Message): Promise<Accepted>;
  /** Accept, wait for the end and return the result. A failed run is a result, not an exception. */
  run(message: Message, listen?: (event: TaskEvent) => void, signal?: AbortSignal): Promise<TaskResult>;
  /**
   * The result of a task that was accepted earlier, also before a restart: waits for its end. Throws `SVC_TASK_UNKNOWN` where nothing is
   * known of it (any more), `SVC_DAEMON_DRAINING` when the daemon stops first (ask again after the next start), and the reason of `signal`.
   * `listen` hears what it does from now on, where it runs here; of one that another daemon runs, its text.
   */
  result(taskId: string, signal?: AbortSignal, listen?: (event: TaskEvent) => void): Promise<TaskResult>;
  /** Send on a channel, through the `deliver` hook and the outbox. Resolves after the commit; `sent` when the platform accepted it. */
  deliver(delivery: DraftDelivery): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /**
   * Deliveries that a `deliver` tap withholds, by id, at most `limit` (default 500): answers, notices and what `deliver` was given. `after`
   * is the id of the last one of the page before. What nobody decides about expires after a week, and its sender is told. This and the next
   * two ask for the permission `withheld`: they show what others were answered, and let out what a policy keeps back.
   */
  withheld(query?: { readonly after?: string; readonly limit?: number }): Promise<readonly WithheldDelivery[]>;
  /**
   * Send a withheld delivery as it is kept: from now on it stands in the outbox, behind what its conversation is still to be sent, and
   * the task that it answers counts as answered. It goes past the `deliver` taps, but for one that is required and had failed: that must
   * let it pass now, or this throws `SVC_HOOK_REQUIRED` or `SVC_DELIVERY_HELD`. Throws `SVC_CHANNEL_UNKNOWN` while its channel is away.
   * False when there is no such delivery (any more).
   */
  release(id: string): Promise<boolean>;
  /** Drop a withheld delivery; `reason` stands in its task's record, and the asker of an answer reads that none is sent. False when there is none of that id (any more). */
  refuse(id: string, reason: string): Promise<boolean>;
  /**
   * The question of a delivery with choices is decided, here or elsewhere: no choice of it counts from now on. Its message loses its
   * buttons or numbers and ends with `words`; where the platform has no edits, `words` are a message of their own. Resolves after the
   * commit; the platform is told through the outbox. False when that delivery has no open choices (any more).
   */
  closeChoices(id: string, words?: string): Promise<boolean>;
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
  /** What it is doing now: `queued`, the preparation step's name, `agent`, or `waiting` while its turn is parked. */
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
  | Exclude<TierEvent, { type: "done" | "pass" }>;
