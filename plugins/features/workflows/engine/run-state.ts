import type { RunError, RunHead, TokenLineage, Wait } from "./entries.ts";

/** The states of a run; the last three are final. */
export type RunStatus = "running" | "paused" | "completed" | "failed" | "canceled";

/** State of a run: the fold of `apply` over its journal. Plain JSON; apart from values its size is bounded by the live steps. */
export interface RunState extends RunHead {
  readonly status: RunStatus;
  /** Of the last entry. */
  readonly seq: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly endedAt?: number;
  /** Steps so far, for `maxSteps`. */
  readonly stepCount: number;
  readonly output?: unknown;
  readonly error?: RunError;
  /** Step that failed the run. */
  readonly failedStep?: string;
  /** The live steps by id, in the order in which they became ready. */
  readonly steps: Readonly<Record<string, StepState>>;
  /** The tokens that wait at joins, by group. */
  readonly groups: Readonly<Record<string, GroupState>>;
  /** The graphs in execution by id; the top one is `""`. */
  readonly scopes: Readonly<Record<string, ScopeState>>;
  /** Signals that wait for a step, oldest first. */
  readonly signals: readonly StoredSignal[];
  /** The newest keys of signals, which are taken once. */
  readonly signalKeys: readonly string[];
  /** The signal of this commit, until an entry says where it went. */
  readonly signal?: { readonly name: string; readonly payload: unknown };
}

/** A live step: one visit of one node. */
export interface StepState {
  readonly id: string;
  readonly node: string;
  /** `2`, or in items `<iteration of the forEach>.<index>.2`. */
  readonly iteration: string;
  readonly visit: number;
  readonly scope: string;
  readonly status: "ready" | "running" | "waiting";
  /** Claims so far. */
  readonly attempt: number;
  /** Claims before a person asked for another series; default 0. */
  readonly attemptsBefore?: number;
  /** Attempts that were lost to a stop of the daemon. */
  readonly lost?: number;
  readonly from: string | null;
  readonly lin: TokenLineage;
  readonly late?: readonly string[];
  /** The token's value: `in` of expressions. */
  readonly in: unknown;
  /** Of the daemon that claimed it last. */
  readonly boot?: string;
  readonly claimedAt?: number;
  readonly timeoutAt?: number;
  readonly wait?: Wait;
  /** `seq` of the entry with which it began to wait: of two the smaller is the older. */
  readonly waitSeq?: number;
  /** The task is past its due time and has said so. */
  readonly overdue?: true;
  /** Sub-processes that it has started. */
  readonly children?: number;
  readonly items?: ItemsState;
  /** Maximum visits of each node of a `forEach` in an item, in the attempts before this one. */
  readonly itemVisits?: Readonly<Record<string, number>>;
}

/** The items of a `forEach`. */
export interface ItemsState {
  readonly list: readonly unknown[];
  /** The items 0 to `started` - 1 were started. */
  readonly started: number;
  /** Scopes of the items that run now. */
  readonly open: readonly string[];
  readonly need?: number;
  readonly good: number;
  /** In item order: the value, `{error}`, or null. */
  readonly outputs: readonly unknown[];
  /** Maximum visits of each node in an item that has ended. */
  readonly visits?: Readonly<Record<string, number>>;
}

/** Tokens of one activation of a join's split that wait at the join. */
export interface GroupState {
  readonly id: string;
  readonly node: string;
  readonly scope: string;
  readonly arrivals: readonly Arrival[];
}

/** A token at a join. */
export interface Arrival {
  readonly from: string | null;
  /** Place of its edge among the edges into the join, in file order. */
  readonly edge: number;
  readonly lin: TokenLineage;
  readonly late?: readonly string[];
  readonly value: unknown;
}

/** A graph in execution: the top one, or one item of a `forEach`. */
export interface ScopeState {
  readonly id: string;
  /** The step of the `forEach`, and which item of it. */
  readonly owner?: string;
  readonly index?: number;
  /** Iterations in it begin with this. */
  readonly prefix: string;
  /** Visits of each node. */
  readonly visits: Readonly<Record<string, number>>;
  /** The latest ended visit of each node. */
  readonly results: Readonly<Record<string, StepResult>>;
  /** Output of the last `end`. */
  readonly output?: unknown;
}

/** Result of a visit of a node: `steps.<id>` of expressions. */
export interface StepResult {
  readonly status: "ok" | "failed" | "timeout";
  readonly iteration: string;
  readonly output?: unknown;
  readonly error?: RunError;
}

/** A stored signal for which no step has waited yet. */
export interface StoredSignal {
  readonly id: number;
  readonly name: string;
  readonly payload: unknown;
}
