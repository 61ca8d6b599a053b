import type { Log, Op, RunningTask, TaskEvent } from "@svc/sdk";
import type { ScopedStore, StateStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import type { Task } from "./live-task.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Ending } from "./run-facts.ts";
import type { Start } from "./starts.ts";

type MaybePromise<T> = T | Promise<T>;

/** What arrives for a conversation that is busy: batch into one turn, run each later as its own turn, or discard. */
export type QueueMode = "collect" | "followup" | "drop";

/** The lane of an item and its rules; the rules are looked up when they matter, so that a reload counts at once. */
export interface Placement {
  readonly conversation: string;
  readonly agent: string;
  readonly mode: () => QueueMode;
  /** Parallel turns of the agent. */
  readonly limit: () => number;
  /** Only items of one sort become one turn. Asked when two might. */
  readonly sort?: () => string;
  /** What the item adds to the size of a turn. */
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

/** What this process does for the work that it claims. Called synchronously; must not throw. */
export interface Worker<T> {
  /** Run the batch, then call `finish` and `leave`, or `release`. */
  start(claim: Claim<T>): void;
  /** `cancel` or `replace` was asked of an item that this process runs, has parked, or waits to go on with. */
  stop(item: T, ending: Ending): void;
}

/**
 * Order per conversation and parallelism per agent. One lane a conversation, at most one claim a lane; of a lane the batch that was given
 * back goes first, then what came to the front, then the rest in the order in which it entered. An implementation in memory answers at
 * once; one that shares rows with other daemons answers with promises, and claims for its own worker. `workContract` holds both to it.
 */
export interface Work<T> {
  /** Undefined where this daemon works alone. */
  readonly elsewhere?: Elsewhere;
  /** `started`: the worker has it. `queued`: it waits. `dropped`: the queue mode discards it. */
  enter(item: T, placement: Placement): MaybePromise<"started" | "queued" | "dropped">;
  /** Enter at the front of the lane and stop `old`, as one step: nothing comes between. `old` may have ended already. */
  replace(item: T, placement: Placement, old: T, ending: Ending): MaybePromise<"started" | "queued">;
  /** `removed`: it waited and is taken out. `asked`: its worker was told to stop. `absent`: it is in no lane. */
  cancel(item: T, ending: Ending): MaybePromise<"removed" | "asked" | "absent">;
  /**
   * Commit the end of a claimed batch. `repeated`: an earlier call did. `fenced`: the claim was given up or taken over and nothing was
   * written. Rejects when the commit fails; then the claim is still held.
   */
  finish(claim: Claim<T>, ops: readonly Op[]): Promise<"finished" | "repeated" | "fenced">;
  /** The claim is over: the lane's next batch may start. A claim that is no longer held is no error. */
  leave(claim: Claim<T>): MaybePromise<void>;
  /** Give the batch back unfinished: it is claimed again, whole, before all that waits. False when the claim is not held. */
  release(claim: Claim<T>): MaybePromise<boolean>;
  /**
   * Free the agent's slot and keep the lane closed: the turn waits for something outside. A parked claim can be finished and left. Also
   * takes back an `unpark` that has led to no other claim yet. False when the claim does not run, nor wait after an `unpark`.
   */
  park(claim: Claim<T>): MaybePromise<boolean>;
  /** The parked batch may go on: it is claimed again once its agent has a slot, before all that waits for one. False when the claim is not parked. */
  unpark(claim: Claim<T>): MaybePromise<boolean>;
  /** By conversation, for each lane whose first item must wait. */
  blockers(): MaybePromise<ReadonlyMap<string, Blocker>>;
  /** What waits, oldest first within each conversation. */
  waiting(): MaybePromise<readonly T[]>;
  /** Claim nothing any more. */
  pause(): void;
  /** Claim what may start by now: after a pause, or since a limit has grown. */
  resume(): void;
  /** Looks after nothing any more. */
  close?(): Promise<void>;
}

/** What the other daemons of the same state work on, as it was known a second ago. */
export interface Elsewhere {
  /** Whether another daemon lives, as far as the last look could tell. */
  readonly shared: boolean;
  running(): readonly RunningTask[];
  queued(): readonly RunningTask[];
  /** The task of that id as its record tells, with the record's state; undefined when it has ended, is not known, or is worked on here. */
  find(id: string): Promise<Task | undefined>;
  /** Resolves when a task that was accepted before has its place in a lane or has ended; throws `SVC_TASK_UNPLACED` when that takes too long. */
  routed(id: string): Promise<void>;
  /** Hears the answer of a task while it grows, where it is worked on elsewhere. Returns the way to stop. */
  watch(id: string, listen: (event: TaskEvent) => void): () => void;
  /** As `Pipeline.end`, for a task that is not worked on here. */
  end(id: string, ending: Ending): Promise<boolean>;
}

/** What recovery stands on. */
export interface RecoveryDeps {
  readonly core: ScopedStore;
  readonly pipeline: Pipeline;
  config(): Readonly<Record<string, unknown>>;
  readonly bus: Bus;
  readonly log: Log;
  now(): number;
}

/** What becomes of the work that an earlier run left in flight. */
export interface Recovery {
  /** The start that is under way, for `noteStart`. */
  readonly start: Start;
  /** Tasks put back to work. */
  readonly resumed: number;
  /** Close the others as interrupted, with word to their senders, once their channels are up. Answers how many these were. */
  report(): Promise<number>;
}

/** The room of an implementation. */
export interface WorkPart {
  createWork(worker: Worker<Task>, pipeline: Pipeline, store: StateStore): Work<Task>;
  /** Puts back to work what an earlier run left. Called before anything else can hand work over. */
  recover(deps: RecoveryDeps): Promise<Recovery>;
}
