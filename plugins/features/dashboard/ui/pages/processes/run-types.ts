import type { WorkflowRun, WorkflowWait } from "@svc/sdk";

/** Why a run or a step has failed. */
export interface StepError {
  readonly code: string;
  readonly message: string;
  readonly node?: string;
  readonly iteration?: string;
  readonly attempt?: number;
  readonly details?: unknown;
}

/** A run as lists show it. */
export type Run = Omit<WorkflowRun, "error"> & { readonly error?: StepError };

/** One page of runs. */
export interface RunPage {
  readonly runs: readonly Run[];
  readonly next?: string;
}

/** The states of a step, as the server tells them. */
export type StepStatus = "ready" | "running" | "waiting" | "ok" | "failed" | "timeout" | "canceled";

/** One visit of a node. Times in ISO 8601. */
export interface Step {
  readonly id: string;
  readonly node: string;
  /** `2`, or in items `<iteration of the forEach>.<index>.2`. */
  readonly iteration: string;
  readonly status: StepStatus;
  readonly attempt: number;
  readonly readyAt: string;
  readonly claimedAt?: string;
  readonly endedAt?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: StepError;
  readonly ports?: readonly string[];
  readonly childRunId?: string;
  readonly taskId?: string;
}

/** A run with its steps, without values. */
export interface RunDetail extends Run {
  readonly steps: readonly Step[];
  readonly children: readonly { readonly id: string; readonly workflowId: string; readonly status: Run["status"]; readonly parentStep?: string }[];
}

/** A line of the journal about one step. */
export interface StepEntry {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly attempt?: number;
  readonly due?: number;
  readonly error?: StepError;
  readonly by?: string;
}

/** One step whole. */
export interface StepDetail {
  readonly step: Step;
  readonly entries: readonly StepEntry[];
}

/** A node of a definition, as far as a page reads it. */
export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly label?: string;
  readonly retry?: { readonly attempts?: number };
  readonly do?: { readonly nodes: readonly GraphNode[]; readonly edges?: readonly GraphEdge[] };
  readonly [more: string]: unknown;
}

/** An edge of a definition. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly fromPort?: string;
}

/** Executed definition of a run. */
export interface Executed {
  readonly definition: { readonly id: string; readonly name?: string; readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] };
  readonly hash: string;
  readonly current?: string;
  readonly layout?: unknown;
}

/** A wait of a run. */
export type Wait = WorkflowWait;
