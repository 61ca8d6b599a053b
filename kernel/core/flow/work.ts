import type { Log, Op, RunningTask, TaskEvent } from "@svc/sdk";
import type { ScopedStore, StateStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import type { Task } from "./live-task.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Ending } from "./run-facts.ts";
import type { Start } from "./starts.ts";

type MaybePromise<T> = T | Promise<T>;

/** Handling of messages for a busy conversation: batch into one turn, run each later as its own turn, or discard. */
export type QueueMode = "collect" | "followup" | "drop";

/** The lane of an item and its rules; the rules are looked up when they matter, so that a reload counts at once. */
export interface Placement {
  readonly conversation: string;
  readonly agent: string;
  readonly mode: () => QueueMode;
  /** Parallel turns of the agent. */
  readonly limit: () => number;
  /** Only items of the same sort are merged into one turn. Called when two could be. */
  readonly sort?: () => string;
  /** The item's share of the size of a turn. */
  readonly size?: number;
  /** Ahead of everything that waits, as a turn of its own. */
  readonly front?: boolean;
  /** Queued even under `drop`. */
  readonly keep?: boolean;
}

/** The right to run one batch of a lane. A new claim of the same batch is another object with another token. */
export interface Claim<T> {
  readonly batch: readonly [T, ...T[]];
  readonly conversation: string;
  readonly agent: string;
  /** Unique among the claims of its lane: a write that names an older token is fenced. */
  readonly token: string;
}

/** Why the first queued item of a conversation does not start: its lane has a turn, or its agent has no slot. */
export type Blocker = { readonly by: "turn" } | { readonly by: "agent"; readonly agent: string };

/** Callbacks of this process for the work that it claims. Called synchronously; must not throw. */
export interface Worker<T> {
  /** Run the batch, then call `finish` and `leave`, or `release`. */
  start(claim: Claim<T>): void;
  /** Called when `cancel` or `replace` hits an item that this process runs, has parked, or waits to resume. */
  stop(item: T, ending: Ending): void;
}

/**
 * Order per conversation and parallelism per agent. One lane per conversation, at most one claim per lane; in a lane a released batch comes first,
 * then items placed at the front, then the rest in the order of entry. An in-memory implementation answers synchronously; one that shares rows with
 * other daemons returns promises, and claims for its own worker. `workContract` tests both.
 */
export interface Work<T> {
  /** Undefined where this daemon works alone. */
  readonly elsewhere?: Elsewhere;
  /** `started`: the worker has it. `queued`: it waits. `dropped`: the queue mode discarded it. */
  enter(item: T, placement: Placement): MaybePromise<"started" | "queued" | "dropped">;
  /** Whether an item that entered now would be started at once. Absent where that cannot be told without asking others. */
  startsAtOnce?(placement: Placement): boolean;
  /** Enter at the front of the lane and stop `old`, as one step: nothing comes between. `old` may have ended already. */
  replace(item: T, placement: Placement, old: T, ending: Ending): MaybePromise<"started" | "queued">;
  /** `removed`: it waited and is removed. `asked`: its worker was asked to stop. `absent`: it is in no lane. */
  cancel(item: T, ending: Ending): MaybePromise<"removed" | "asked" | "absent">;
  /**
   * Commit the end of a claimed batch. `repeated`: an earlier call did. `fenced`: the claim was given up or taken over and nothing was
   * written. Rejects when the commit fails; then the claim is still held.
   */
  finish(claim: Claim<T>, ops: readonly Op[]): Promise<"finished" | "repeated" | "fenced">;
  /** Ends the claim: the lane's next batch may start. A claim that is no longer held is not an error. */
  leave(claim: Claim<T>): MaybePromise<void>;
  /** Releases the batch unfinished: it is claimed again, whole, before all waiting items. False when the claim is not held. */
  release(claim: Claim<T>): MaybePromise<boolean>;
  /**
   * Frees the agent's slot and keeps the lane blocked: the turn waits for something outside. A parked claim can be finished and left. Also cancels an
   * `unpark` that has not led to another claim yet. Returns false if the claim neither runs nor waits after an `unpark`.
   */
  park(claim: Claim<T>): MaybePromise<boolean>;
  /** Requests a slot for a parked batch: it is claimed again once its agent has one, before all waiting items. False when the claim is not parked. */
  unpark(claim: Claim<T>): MaybePromise<boolean>;
  /** By conversation, for each lane whose first item must wait. */
  blockers(): MaybePromise<ReadonlyMap<string, Blocker>>;
  /** Waiting items, oldest first within each conversation. */
  waiting(): MaybePromise<readonly T[]>;
  /** Claim nothing any more. */
  pause(): void;
  /** Claims the items that may start now: after a pause, or since a limit has grown. */
  resume(): void;
  /** Looks after nothing any more. */
  close?(): Promise<void>;
}

/** Work of the other daemons on the same state, as known a second ago. */
export interface Elsewhere {
  /** Whether another daemon was alive at the last poll. */
  readonly shared: boolean;
  running(): readonly RunningTask[];
  queued(): readonly RunningTask[];
  /** Returns the task of that id from its stored record, with the record's state; undefined if it has ended, is unknown, or runs here. */
  find(id: string): Promise<Task | undefined>;
  /** Resolves when a task that was accepted before has its place in a lane or has ended; throws `SVC_TASK_UNPLACED` when that takes too long. */
  routed(id: string): Promise<void>;
  /** Passes the events of a task that runs elsewhere to `listen` while its answer grows. Returns the function that stops this. */
  watch(id: string, listen: (event: TaskEvent) => void): () => void;
  /** As `Pipeline.end`, for a task that is not worked on here. */
  end(id: string, ending: Ending): Promise<boolean>;
}

/** Dependencies of recovery. */
export interface RecoveryDeps {
  readonly core: ScopedStore;
  readonly pipeline: Pipeline;
  config(): Readonly<Record<string, unknown>>;
  readonly bus: Bus;
  readonly log: Log;
  now(): number;
}

/** Recovery of the work that an earlier run left unfinished. */
export interface Recovery {
  /** The start in progress, for `noteStart`. */
  readonly start: Start;
  /** Tasks put back to work. */
  readonly resumed: number;
  /** Close the others as interrupted, with word to their senders, once their channels are up. Answers how many these were. */
  report(): Promise<number>;
}

/** The room of an implementation. */
export interface WorkPart {
  createWork(worker: Worker<Task>, pipeline: Pipeline, store: StateStore): Work<Task>;
  /** Requeues the unfinished work of an earlier run. Called before any other source can submit work. */
  recover(deps: RecoveryDeps): Promise<Recovery>;
}
