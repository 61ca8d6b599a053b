import type { WorkflowField, WorkflowRun } from "@svc/sdk";
import type { FormField } from "../engine/types.ts";

/** A mistake in a definition, as `GET /api/workflows` tells it. */
export interface ShownProblem {
  readonly message: string;
  readonly pointer?: string;
  readonly line?: number;
  readonly column?: number;
  readonly severity: "error" | "warning";
  readonly code?: string;
}

/** A definition in the list. */
export interface ShownWorkflow {
  readonly definition: { readonly id: string; readonly name?: string; readonly description?: string };
  readonly hash: string;
  readonly file: string;
  readonly inputSchema: Readonly<Record<string, WorkflowField>>;
  readonly problems: readonly ShownProblem[];
  readonly broken: boolean;
}

/** An entry of a run's journal. */
export interface ShownEntry {
  readonly seq: number;
  readonly at: string | number;
  readonly kind: string;
  readonly step?: string;
  readonly [fact: string]: unknown;
}

/** A run with what happened in it. */
export interface ShownRun extends WorkflowRun {
  readonly timeline?: readonly ShownEntry[];
}

/** A task for a person. */
export interface ShownTask {
  readonly id: string;
  readonly kind: "userTask" | "approval" | "incident";
  readonly runId: string;
  readonly workflowId: string;
  readonly step: string;
  readonly title: string;
  readonly detail?: string;
  readonly assignee: string;
  readonly form: { readonly fields: readonly FormField[] };
  readonly state: "open" | "completed" | "canceled";
  readonly dueAt?: string;
  readonly expiresAt?: string;
  readonly overdue: boolean;
  readonly history?: readonly { readonly at: string; readonly by?: string; readonly type: string; readonly text?: string }[];
}

/** Of a run that was started. */
export interface ShownStart {
  readonly runId: string;
  readonly workflowId: string;
  readonly status: string;
  readonly hash: string;
  readonly duplicate?: boolean;
}
