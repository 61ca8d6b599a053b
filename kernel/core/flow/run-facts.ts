import type { TaskResult, Trace, Usage } from "@svc/sdk";
import type { TaskRecord } from "./record.ts";

/** Result of a run, beside its status and answer. Made once, in `turn.ts` or for a task that never ran; the functions below map it. */
export interface RunFacts {
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly usage?: Usage;
  readonly model?: string;
  readonly sessionId?: string;
  /** The value of a structured answer. */
  readonly output?: unknown;
  readonly autonomyBlocks?: NonNullable<Trace["autonomyBlocks"]>;
  readonly guard?: NonNullable<Trace["guard"]>;
  readonly context?: NonNullable<Trace["context"]>;
  /** Id of the delivery that holds the answer until somebody decides about it. */
  readonly withheld?: string;
}

/** Result of a turn, before it is stored. */
export interface Outcome extends RunFacts {
  readonly status: "ok" | "error" | "timeout";
  readonly reply: string;
  /** The engine's session is of no more use. */
  readonly sessionLost?: true;
}

/** The reason on an aborted turn's signal. */
export interface Ending {
  readonly kind: "cancelled" | "timeout" | "interrupted";
  readonly text: string;
}

/** A follow-up takes the task's place. */
export const REPLACED: Ending = { kind: "cancelled", text: "cancelled: replaced by a follow-up" };
/** The daemon stops over the task. */
export const STOPPING: Ending = { kind: "interrupted", text: "The daemon is stopping; this is taken up again at the next start." };
/** The same of a scheduled run. */
export const STOPPING_SCHEDULED: Ending = {
  kind: "interrupted",
  text: "The daemon is stopping; a scheduled run is not taken up again, its record says so at the next start.",
};

const ENDED = ["error", "errorKind", "exitCode", "model", "sessionId", "output", "withheld"] as const satisfies readonly (keyof RunFacts)[];
const OF_RECORD = [...ENDED, "usage", "autonomyBlocks", "guard", "context"] as const;
const OF_RESULT = ["error", "errorKind", "exitCode", "model", "sessionId", "output", "usage", "withheld"] as const;
const OF_EVENT = ["usage", "sessionId", "errorKind"] as const;

/** The facts of a run for its record, without the keys that are absent. */
export const recordFacts = (facts: RunFacts): RunFacts => present(facts, OF_RECORD);

/** The facts that a merged task's record shows of the run that answered it; tokens are counted with the lead alone. */
export const mergedFacts = (lead: RunFacts): RunFacts => present(lead, ENDED);

/** The facts in the event of a task's end. */
export const eventFacts = (result: Pick<RunFacts, (typeof OF_EVENT)[number]>): RunFacts => present(result, OF_EVENT);

/** The result of a record, as callers get it: of a withheld answer `reply` is empty and there is no `output`. */
export function resultOf(record: TaskRecord, now: number): TaskResult {
  const { id, agent, status, response = "", startedAt, endedAt = now, errorKind } = record;
  const { output, ...facts } = present(record, OF_RESULT);
  return {
    ok: status === "ok",
    taskId: id,
    agent,
    reply: errorKind === "held" ? "" : response,
    status: status === "in-flight" ? "error" : status,
    durationMs: endedAt - startedAt,
    ...facts,
    ...(output === undefined || errorKind === "held" ? {} : { output }),
  };
}

function present<T extends object, K extends keyof T & string>(from: T, keys: readonly K[]): { readonly [Key in K]?: Exclude<T[Key], undefined> } {
  const found: { [Key in K]?: Exclude<T[Key], undefined> } = {};
  for (const key of keys) if (from[key] !== undefined) found[key] = from[key] as Exclude<T[K], undefined>;
  return found;
}
