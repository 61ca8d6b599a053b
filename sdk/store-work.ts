import type { Op } from "./store.ts";

/** Something to work on, as it enters its lane. Sizes are in characters. */
export interface WorkEntry {
  /** Unique over all lanes. Entering an existing one again is idempotent. */
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

/** An agent whose lanes a daemon claims. */
export interface WorkAgent {
  readonly agent: string;
  /** Parallel turns over all daemons. */
  readonly limit: number;
  /** Overrides the mode of the entries. */
  readonly mode?: WorkEntry["mode"];
}

/** An entry of a claimed batch. */
export interface WorkBatchItem {
  readonly id: string;
  /** Number of this claim, from 1. */
  readonly attempt: number;
  /** Argument of the `cancel` or `replace` that stops it. */
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
  /** The agent for whose slot it waits; undefined while a batch of the lane is held. */
  readonly agent?: string;
  /** Slots of that agent in use, over all daemons. */
  readonly active: number;
}

/**
 * Queue of waiting and running work, in the state that several daemons share. One lane a conversation, one claim a lane. A token names the claim for
 * which a call is made; a call that comes too late, because the claim was released or another daemon took it over, changes nothing.
 */
export interface StoreWork {
  /** Applies `ops`, puts and deletes, in the same step; a conflict of one of them is thrown, and then the entry was not queued. */
  enter(entry: WorkEntry, ops?: readonly Op[]): Promise<"queued" | "dropped">;
  /** Enters at the front and marks `old` with `stop` if a turn has it, as one step. `asked`: a turn has it. */
  replace(entry: WorkEntry, old: string, stop: unknown, ops?: readonly Op[]): Promise<{ readonly asked: boolean }>;
  /** `removed`: it was waiting. `asked`: it is claimed, and marked. */
  cancel(id: string, stop: unknown): Promise<"removed" | "asked" | "absent">;
  /** Claims the batches that may start now, at most `want`, each within the limits of a turn. If the answer is lost, `held` lists the claims. */
  claim(agents: readonly WorkAgent[], want: number, turn: { readonly items: number; readonly size: number }): Promise<readonly WorkClaim[]>;
  /**
   * Removes the batch and applies `ops`, as one step; with any answer but `finished` this call wrote nothing. `home`: only this daemon has the local
   * state of the conversation, such as a native session; others leave the lane to it for a second, as long as it lives.
   */
  finish(claim: Pick<WorkClaim, "conversation" | "token">, ops: readonly Op[], home?: boolean): Promise<"finished" | "repeated" | "fenced">;
  /** Releases the lane. Unfinished items of the batch are removed from it. */
  leave(claim: Pick<WorkClaim, "conversation" | "token">): Promise<void>;
  /** Gives the batch back to be claimed again, by any daemon. */
  release(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** Releases the agent's slot and keeps the lane; also cancels an `unpark` that has led to no claim. */
  park(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** The parked batch may be claimed again, by this daemon as long as it lives. */
  unpark(claim: Pick<WorkClaim, "conversation" | "token">): Promise<boolean>;
  /** Claims of this daemon: including those whose answer was lost, with the stop requests for their batches. */
  held(): Promise<readonly WorkClaim[]>;
  /** Releases lanes and leased items of queues held by dead daemons; returns the number of lanes. */
  sweep(): Promise<number>;
  /** Agents of which a lane could start, had they a slot. */
  agents(): Promise<readonly string[]>;
  /** Ids of waiting items, oldest first within each lane. */
  waiting(): Promise<readonly string[]>;
  /** Those of the given ids that are in no lane any more. */
  gone(ids: readonly string[]): Promise<readonly string[]>;
  blocked(): Promise<readonly WorkBlocked[]>;
  /** Exchanges growing answers with the other daemons. Best effort: no other feature depends on it, and a crash of the state's server loses all. */
  live(answers: WorkAnswers): Promise<WorkAnswersSeen>;
}

/** A daemon's report of the growing answers in its turns, and of the others it wants to watch. Sizes are in characters. */
export interface WorkAnswers {
  /** Ids of tasks running here. */
  readonly running: readonly string[];
  /** Text behind the first `at` characters; from 0 on it replaces the stored text. Stored only while another daemon watches. */
  readonly said: readonly { readonly id: string; readonly at: number; readonly text: string }[];
  /** Ids of tasks that ran here and have ended: their stored text is deleted. */
  readonly over: readonly string[];
  /** Known length of each answer watched here, by id. It counts as watched for 3 s. */
  readonly watched: ReadonlyMap<string, number>;
}

/** Reports and requests of the other daemons. */
export interface WorkAnswersSeen {
  /** Stored length of each running answer that is watched elsewhere, by id. */
  readonly asked: ReadonlyMap<string, number>;
  /** Whole stored text of each answer watched here, by id, if it differs from the known one. */
  readonly texts: ReadonlyMap<string, string>;
}
