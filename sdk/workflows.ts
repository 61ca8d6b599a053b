/** Origin of a run: `ref` is the origin's own id, such as that of a delivery or a message. */
export interface WorkflowEntry {
  readonly kind: "api" | "cli" | "webhook" | "cron" | "match" | "action" | "agent" | "a2a" | "sub" | "replay";
  readonly ref?: string;
}

/** An input field of a workflow, declared by its trigger. */
export interface WorkflowField {
  readonly type: "string" | "number" | "integer" | "boolean" | "object" | "array";
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly required?: boolean;
  readonly description?: string;
}

/** A definition without its nodes and edges. */
export interface WorkflowHead {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  /** The agent that receives questions for people when a step was interrupted. */
  readonly ownerAgent?: string;
  readonly tags?: readonly string[];
  /** Hash of the executed definition; empty where the file is broken. */
  readonly hash: string;
  readonly inputSchema: Readonly<Record<string, WorkflowField>>;
  /** Texts that mean it, where messages are matched. */
  readonly phrases?: readonly string[];
  /** The workflow cannot be started; its problems say why. */
  readonly broken: boolean;
}

/** Options of a run: `Workflows.start`. */
export interface WorkflowStart {
  readonly input?: Readonly<Record<string, unknown>>;
  /** The same key twice for one workflow is one run. */
  readonly startKey?: string;
  readonly entry: WorkflowEntry;
  /** Start although a run with the same `entry.ref` is in progress. */
  readonly force?: boolean;
  /** Minutes after which the run fails; default and upper limit is the definition's value. */
  readonly timeoutMinutes?: number;
}

/** A run that was started now or before. */
export interface WorkflowStarted {
  readonly runId: string;
  readonly workflowId: string;
  readonly status: WorkflowStatus;
  /** Of the definition that it executes, whatever becomes of the file. */
  readonly hash: string;
  /** The start key was used before: this is its run, nothing was started. */
  readonly duplicate?: true;
}

/** The states of a run; the last three are final. */
export type WorkflowStatus = "running" | "paused" | "completed" | "failed" | "canceled";

/** Why a step or a run failed. */
export interface WorkflowError {
  readonly code: string;
  readonly message: string;
  readonly node?: string;
  readonly details?: unknown;
}

/** Pending wait of a step. */
export interface WorkflowWait {
  readonly node: string;
  readonly iteration: string;
  readonly kind: "timer" | "task" | "signal" | "child" | "items" | "retry" | "effect" | "incident";
  /** ISO 8601. */
  readonly since: string;
  readonly until?: string;
  /** The id of the task or run, the name of the signal, or another identifier. */
  readonly for?: string;
}

/** A run. Times in ISO 8601. */
export interface WorkflowRun {
  readonly id: string;
  readonly workflowId: string;
  readonly name?: string;
  readonly hash: string;
  readonly status: WorkflowStatus;
  readonly entry: WorkflowEntry;
  /** Root of all events that it causes: it stays the same over pauses, restarts and timers. */
  readonly rootId: string;
  readonly parentRunId?: string;
  readonly parentStep?: string;
  /** The run that it does again from a step on. */
  readonly restartOf?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: WorkflowError;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly endedAt?: string;
  readonly waits: readonly WorkflowWait[];
  /** The latest output of each node. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** Something that a run may wait for. */
export interface WorkflowSignal {
  readonly name: string;
  readonly payload?: unknown;
  /** The same key twice for one run is one signal. */
  readonly key?: string;
  /** Stores the signal for a later wait if none is open. Default true. */
  readonly stored?: boolean;
}

/** Result of a signal. */
export interface WorkflowSignaled {
  readonly delivered: boolean;
  readonly stored: boolean;
  readonly duplicate: boolean;
}

/**
 * Service `workflows`: definitions of the operator, and their runs, which survive the daemon. Served while the section `workflows` of
 * svc.json has `enabled: true`.
 */
export interface Workflows {
  /** The definitions, broken ones too, by id. */
  list(): Promise<readonly WorkflowHead[]>;
  /**
   * Stores a run and resolves; the run continues by itself, over restarts. Its events share the root of the calling code. Throws
   * `SVC_WORKFLOW_UNKNOWN` (404), `SVC_WORKFLOW_BROKEN` (422), `SVC_WORKFLOW_INPUT` (400) with the `field`, `SVC_WORKFLOW_SIZE` (413), or
   * `SVC_WORKFLOW_IN_FLIGHT` (409) where a run with the same `entry.ref` is in progress.
   */
  start(id: string, start: WorkflowStart): Promise<WorkflowStarted>;
  /** Undefined for one that does not exist (any more): ended runs are kept for 90 days. */
  run(runId: string): Promise<WorkflowRun | undefined>;
  /** Throws `SVC_WORKFLOW_RUN_UNKNOWN` (404), or `SVC_WORKFLOW_RUN_STATE` (409) where the run has ended. */
  signal(runId: string, signal: WorkflowSignal): Promise<WorkflowSignaled>;
  /** Resolves with the run when it has ended. Rejects with the reason of `signal`, and with `SVC_WORKFLOW_RUN_UNKNOWN`. */
  wait(runId: string, signal?: AbortSignal): Promise<WorkflowRun>;
  /** Pauses a running one, resumes a paused one, cancels either. Throws `SVC_WORKFLOW_RUN_STATE` (409) in any other state. */
  change(runId: string, action: "pause" | "resume" | "cancel", by: { readonly by: string; readonly reason?: string }): Promise<WorkflowRun>;
}
