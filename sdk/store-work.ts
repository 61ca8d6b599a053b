import type { Op } from "./store.ts";

/** Something to work on, as it enters its lane. Sizes are in characters. */
export interface WorkEntry {
  /** Unique over all lanes. To enter one that is there already is no second entry. */
  readonly id: string;
  readonly conversation: string;
  readonly agent: string;
  readonly mode: "collect" | "followup" | "drop";
  /** Only entries of one sort become one turn. */
  readonly sort?: string;
  readonly size?: number;
  /** Ahead of everything that waits, as a turn of its own. */
  readonly front?: boolean;
  /** Queued even under `drop`. */
  readonly keep?: boolean;
}

/** An agent for whose lanes a daemon asks. */
export interface WorkAgent {
  readonly agent: string;
  /** Parallel turns over all daemons. */
  readonly limit: number;
  /** Overrides that with which the entries came in. */
  readonly mode?: WorkEntry["mode"];
}

/** An entry of a claimed batch. */
export interface WorkBatchItem {
  readonly id: string;
  /** Which claim of it this is, from 1. */
  readonly attempt: number;
  /** What `cancel` or `replace` asked of it. */
  readonly stop?: unknown;
}

/** The right of one daemon to run one batch of a lane, until it ends or the daemon is dead. */
export interface WorkClaim {
  readonly conversation: string;
  readonly agent: string;
  /** New with every claim. */
  readonly token: string;
  /** The name of the daemon that was the home of the lane, where it is another one. */
  readonly from?: string;
  readonly batch: readonly WorkBatchItem[];
}

/** A lane of which something waits. */
export interface WorkBlocked {
  readonly conversation: string;
  /** Whose slot it waits for; undefined while a batch of the lane is held. */
  readonly agent?: string;
  /** Slots of that agent in use, over all daemons. */
  readonly active: number;
}

/**
 * Who waits and who runs, in the state that several daemons share. One lane a conversation, one claim a lane. A token names the claim
 * for which a call is made; a call that comes too late, because the claim was given up or another daemon took it over, changes nothing.
 */
export interface StoreWork {
  /** Does `ops`, which put and remove, in the same step; what one of them conflicts with is thrown, and then nothing entered. */
  enter(entry: WorkEntry, ops?: readonly Op[]): Promise<"queued" | "dropped">;
  /** Enters at the front and marks `old` with `stop` where a turn has it, as one step. `asked`: one has. */
  replace(entry: WorkEntry, old: string, stop: unknown, ops?: readonly Op[]): Promise<{ readonly asked: boolean }>;
  /** `removed`: it waited. `asked`: it is held, and marked. */
  cancel(id: string, stop: unknown): Promise<"removed" | "asked" | "absent">;
  /**
   * Takes what may start by now, `want` batches at most, each within the limits of a turn. When its answer is lost, `held` has what it took.
   */
  claim(agents: readonly WorkAgent[], want: number, turn: { readonly items: number; readonly size: number }): Promise<readonly WorkClaim[]>;
  /**
   * Removes the batch and does `ops`, as one step; with another answer than `finished` nothing was written by this call. `home`: this daemon
   * alone has what the conversation goes on with, such as a native session; others leave the lane to it for a second, as long as it lives.
   */
  finish(claim: Pick<WorkClaim, "conversation" | "token">, ops: readonly Op[], home?: boolean): Promise<"finished" | "repeated" | "fenced">;
  /** The lane may go on. What is unfinished of the batch is out of the lane. */
  leave(claim: Pick<WorkClaim, "conversation" | "token">): Promise<void>;
  /** Gives the batch back to be claimed again, by any daemon. */
  release(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** Gives the agent's slot away and keeps the lane; also takes back an `unpark` that has led to no claim. */
  park(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** The parked batch may be claimed again, by this daemon as long as it lives. */
  unpark(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** What this daemon holds: also the claims whose answer was lost, and what was asked of their batches. */
  held(): Promise<readonly WorkClaim[]>;
  /** Frees what daemons hold that are dead, lanes and leased items of queues; answers how many lanes. */
  sweep(): Promise<number>;
  /** Agents of which a lane could start, had they a slot. */
  agents(): Promise<readonly string[]>;
  /** Ids of what waits, oldest first within each lane. */
  waiting(): Promise<readonly string[]>;
  /** Which of these ids are in no lane any more. */
  gone(ids: readonly string[]): Promise<readonly string[]>;
  blocked(): Promise<readonly WorkBlocked[]>;
  /** Exchanges answers that grow with the other daemons. Best effort: nothing stands on it, and a crash of the state's server loses all. */
  live(answers: WorkAnswers): Promise<WorkAnswersSeen>;
}

/** What a daemon tells of the answers that grow in its turns, and which others it wants to see. Sizes are in characters. */
export interface WorkAnswers {
  /** Ids of what runs here. */
  readonly running: readonly string[];
  /** What was said behind the first `at` characters; from 0 on it takes the place of what is stored. Stored where somebody watches. */
  readonly said: readonly { readonly id: string; readonly at: number; readonly text: string }[];
  /** Ids of what ran here and has ended: nothing of it is kept. */
  readonly over: readonly string[];
  /** By id, how much is known of what is watched here. It counts as watched for 3 s. */
  readonly watched: ReadonlyMap<string, number>;
}

/** What others have told, and want to see. */
export interface WorkAnswersSeen {
  /** By id of what runs here and is watched: how much of it is stored. */
  readonly asked: ReadonlyMap<string, number>;
  /** By id of what is watched here: the whole text as stored, where that is other than what is known. */
  readonly texts: ReadonlyMap<string, string>;
}
