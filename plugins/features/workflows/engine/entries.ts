import type { RunState, RunStatus } from "./run-state.ts";

/** Origin of a run. */
export interface RunEntry {
  readonly kind: "api" | "cli" | "webhook" | "cron" | "match" | "action" | "agent" | "a2a" | "sub" | "replay";
  readonly ref?: string;
}

/** Why a step or a run has failed. */
export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly node?: string;
  readonly iteration?: string;
  readonly attempt?: number;
  readonly details?: unknown;
}

/** For what a live step that is not `ready` or `running` waits. */
export interface Wait {
  readonly kind: "timer" | "task" | "signal" | "child" | "items" | "retry" | "effect" | "incident";
  /** Milliseconds since the epoch, as all times here. */
  readonly since: number;
  /** timer, retry: goes on then. task, signal and others with a timeout: not longer. */
  readonly until?: number;
  /** Id of the task or the run, name of the signal, or the step itself. */
  readonly for: string;
  /** task: when it is overdue. */
  readonly due?: number;
  /** incident: what has happened. */
  readonly error?: RunError;
}

/** Visit numbers of the splits that dominate a token's node: with which visit it last went through each. */
export type TokenLineage = Readonly<Record<string, number>>;

/** Common fields of the entries of a token: its origin and its owner. */
interface Token {
  /** Step or join visit that it comes from; null for the trigger. */
  readonly from: string | null;
  readonly lin: TokenLineage;
  /** Joins that have fired without it. */
  readonly late?: readonly string[];
}

/** Head of a run: facts from its start. */
export interface RunHead {
  readonly id: string;
  readonly workflow: string;
  readonly hash: string;
  readonly rootId: string;
  /** 0; one more in each sub-process. */
  readonly depth: number;
  readonly entry: RunEntry;
  readonly startKey?: string;
  readonly parentRunId?: string;
  readonly parentStep?: string;
  readonly restartOf?: string;
  readonly input: unknown;
  /** RUN_TIMEOUT then. */
  readonly timeoutAt?: number;
}

/** Fields of an entry, by its kind. */
export interface EntryFields {
  /** `prior`: a restarted run goes on from here. */
  "run.started": { readonly run: RunHead; readonly prior?: RunState };
  "step.ready": Token & { readonly step: string; readonly node: string; readonly iteration: string; readonly visit: number; readonly scope: string };
  "step.claimed": { readonly step: string; readonly attempt: number; readonly boot?: string; readonly timeoutAt?: number; readonly input?: unknown };
  "step.waiting": { readonly step: string; readonly wait: Wait };
  /** `ports` is empty where the token ends here. */
  "step.ended": { readonly step: string; readonly ports: readonly string[]; readonly output: unknown };
  /** `again`: a person asked for it, so the attempts count from here. */
  "step.retry": { readonly step: string; readonly attempt: number; readonly error: RunError; readonly due: number; readonly again?: true };
  "step.failed": { readonly step: string; readonly attempt: number; readonly error: RunError; readonly port: string | null };
  /** `by`: the step that did it, or `run`. */
  "step.canceled": { readonly step: string; readonly by: string };
  "port.dead": { readonly step: string; readonly ports: readonly string[] };
  "join.arrived": Token & { readonly node: string; readonly group: string; readonly scope: string; readonly edge: number };
  "join.fired": {
    readonly node: string;
    readonly group: string;
    readonly scope: string;
    readonly step: string;
    readonly iteration: string;
    readonly visit: number;
    /** The steps, and the groups whose arrivals, are late for it now. */
    readonly late: readonly string[];
    readonly output: readonly unknown[];
  };
  /** A token that came after the join had fired without it. */
  "join.late": { readonly node: string; readonly group: string; readonly from: string | null };
  "join.short": {
    readonly node: string;
    readonly group: string;
    readonly scope: string;
    readonly step: string;
    readonly iteration: string;
    readonly visit: number;
    readonly error: RunError;
    readonly port: string | null;
  };
  "join.dropped": { readonly node: string; readonly group: string };
  "items.opened": { readonly step: string; readonly items: readonly unknown[]; readonly need?: number };
  "item.started": { readonly step: string; readonly index: number; readonly scope: string };
  "item.ended": { readonly step: string; readonly index: number; readonly scope: string; readonly ok: boolean; readonly error?: RunError };
  "scope.dropped": { readonly step: string; readonly index: number; readonly scope: string };
  /** The output of this `end` is the value of its scope. */
  "scope.output": { readonly step: string; readonly scope: string };
  "child.started": { readonly step: string; readonly runId: string };
  "child.ended": { readonly step: string; readonly runId: string; readonly status: RunStatus };
  "task.created": { readonly step: string; readonly taskId: string };
  "task.commented": { readonly step: string; readonly taskId: string; readonly by?: string; readonly text: string };
  "task.overdue": { readonly step: string; readonly taskId: string };
  "task.submitted": { readonly step: string; readonly taskId: string; readonly by?: string; readonly values: unknown; readonly port: string };
  "task.canceled": { readonly step: string; readonly taskId: string };
  "signal.received": { readonly name: string; readonly payload: unknown; readonly key?: string };
  /** The newest signal goes to this step. */
  "signal.delivered": { readonly name: string; readonly step: string };
  /** The newest signal is kept under `id`. */
  "signal.stored": { readonly name: string; readonly id: number };
  "signal.taken": { readonly name: string; readonly id: number; readonly step: string };
  /** Without `id`: the newest one, for which no step waited. */
  "signal.dropped": { readonly name: string; readonly id?: number };
  "run.paused": { readonly by?: string; readonly reason?: string };
  "run.resumed": { readonly by?: string; readonly reason?: string };
  "run.completed": { readonly output: unknown };
  /** `step`: what failed it, where one did. */
  "run.failed": { readonly error: RunError; readonly step?: string };
  "run.canceled": { readonly by?: string; readonly reason?: string };
}

/** The kind of an entry. */
export type EntryKind = keyof EntryFields;

/** One line of the journal of a run: what has happened, with nothing left out that `apply` needs. `seq` counts from 1 without a gap. */
export type Entry<K extends EntryKind = EntryKind> = {
  [One in K]: { readonly seq: number; readonly at: number; readonly kind: One } & EntryFields[One];
}[K];
