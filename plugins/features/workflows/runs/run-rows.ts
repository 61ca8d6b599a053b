import type { Collection, Store } from "@svc/sdk";
import type { Definition, Entry, RunError, RunState, RunStatus } from "../engine/types.ts";

/** A run as it is stored: the state that its journal folds to, and what it is found by. */
export interface RunRow {
  readonly state: RunState;
  readonly workflow: string;
  readonly status: RunStatus;
  readonly hash: string;
  /** For events of all that one entry causes. */
  readonly root: string;
  readonly parent?: string;
  readonly createdAt: number;
  readonly endedAt?: number;
  /** 1: a step is ready or at work, so a start must look at it. 0: it waits, or has ended. */
  readonly busy: 0 | 1;
  /** Display name, if it is not an ordinary run. */
  readonly name?: string;
  /** The task whose trace answers in place of agents and actions. */
  readonly replayOf?: string;
  /** Who has paused the run. */
  readonly pausedBy?: string;
  /** Characters of all outputs so far. */
  readonly chars: number;
  /** Rows of `values` so far. */
  readonly shelved: number;
  /** Content of its row in `wakes`. */
  readonly wake?: number;
}

/** State of a step: one row for each visit of a node that has begun. */
export interface StepRow {
  readonly node: string;
  readonly iteration: string;
  readonly status: "ready" | "running" | "waiting" | "ok" | "failed" | "timeout" | "canceled";
  readonly attempt: number;
  readonly readyAt: number;
  /** Of the entry with which it began: several begin in one millisecond. Rows of older versions have none. */
  readonly seq?: number;
  readonly claimedAt?: number;
  readonly endedAt?: number;
  /** Input of an effect. */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: RunError;
  readonly ports?: readonly string[];
  readonly childRunId?: string;
  readonly taskId?: string;
}

/** The run of a key: see `startKeyOf` and `entryKeyOf`. */
export interface KeyRow {
  readonly runId: string;
  /** Of what was asked with an `Idempotency-Key`. */
  readonly digest?: string;
}

/** The collection of `RunRow`, by run id. */
export const RUNS = "runs";
/** The collection of `StepRow`, by `<run>/<node>/<iteration>`. */
export const STEPS = "steps";
/** The collection of the journals, by `entryKey`. */
export const ENTRIES = "entries";
/** The collection of large values, by `<run>/<number>`. */
export const VALUES = "values";
/** The collection of definitions that runs execute, by hash. */
export const DEFINITIONS = "definitions";
/** The collection of `KeyRow`. */
export const KEYS = "keys";
/** The collection of user tasks, by task id: `TaskPort` writes them. */
export const TASKS = "tasks";

/** The collections of runs. */
export interface RunRooms {
  readonly runs: Collection<RunRow>;
  readonly steps: Collection<StepRow>;
  readonly entries: Collection<Entry>;
  readonly values: Collection<unknown>;
  readonly definitions: Collection<Definition>;
  readonly keys: Collection<KeyRow>;
}

/** Opens the collections of runs. */
export const roomsOf = (store: Store): RunRooms => ({
  runs: store.collection<RunRow>(RUNS, { indexes: ["status", "workflow", "hash", "root", "parent", "createdAt", "endedAt", "busy"] }),
  steps: store.collection<StepRow>(STEPS),
  entries: store.collection<Entry>(ENTRIES),
  values: store.collection<unknown>(VALUES),
  definitions: store.collection<Definition>(DEFINITIONS),
  keys: store.collection<KeyRow>(KEYS),
});

/** The key of an entry. */
export const entryKey = (runId: string, seq: number): string => `${runId}/${String(seq).padStart(8, "0")}`;

const SMALLEST_AFTER = "/";

/** All documents of a run in a collection whose keys begin with its id, in order, from behind `after`. */
export async function* ofRun<T>(
  collection: Collection<T>,
  runId: string,
  after = `${runId}${SMALLEST_AFTER}`,
): AsyncGenerator<{ readonly key: string; readonly value: T }> {
  const prefix = `${runId}${SMALLEST_AFTER}`;
  for (let from = after; ; ) {
    const page = await collection.list({ after: from, limit: 500 });
    for (const { key, value } of page) {
      if (!key.startsWith(prefix)) return;
      yield { key, value };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < 500) return;
    from = last.key;
  }
}

/** The states that change no more. */
export const isOver = (status: RunStatus): boolean => status === "completed" || status === "failed" || status === "canceled";
