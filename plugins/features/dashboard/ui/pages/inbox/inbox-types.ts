import type { Approval } from "@svc/sdk";

/** A field of a form, as the server sends and judges it. */
export interface TaskField {
  readonly name: string;
  readonly kind: "text" | "long-text" | "number" | "boolean" | "select" | "multi-select" | "date";
  readonly label?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly help?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly integer?: boolean;
  readonly options?: readonly (string | { readonly value: string; readonly label?: string })[];
}

/** A task of a run for a person. Times in ISO 8601. */
export interface UserTask {
  readonly id: string;
  readonly kind: "userTask" | "approval" | "incident";
  readonly runId: string;
  readonly workflowId: string;
  readonly step: string;
  readonly title: string;
  readonly detail?: string;
  readonly assignee: string;
  readonly form: { readonly fields: readonly TaskField[] };
  readonly submitTransition: string;
  readonly state: "open" | "completed" | "canceled";
  readonly assignedAt: string;
  readonly dueAt?: string;
  readonly expiresAt?: string;
  readonly overdue: boolean;
  readonly completedAt?: string;
  readonly completedBy?: string;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly history: readonly { readonly at: string; readonly by?: string; readonly type: string; readonly text?: string }[];
}

/** A question to the people who run the daemon. */
export type Question = Approval;

/** A workflow that is not in force yet. */
export interface Draft {
  readonly definition: { readonly id: string; readonly name?: string; readonly confidence?: number; readonly generatedFrom?: string };
  readonly file: string;
  readonly problems: readonly { readonly severity: string; readonly message: string }[];
  readonly updatedAt: string;
}
