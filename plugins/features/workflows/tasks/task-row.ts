import type { FormField } from "../engine/types.ts";
import type { FormValues } from "./form.ts";

/** Something that a person must do before a run goes on, as it is stored. Times in Unix milliseconds. */
export interface TaskRow {
  readonly id: string;
  readonly kind: "userTask" | "approval" | "incident";
  readonly run: string;
  readonly workflowId: string;
  readonly step: string;
  readonly title: string;
  readonly detail?: string;
  /** `actor:<id>` or `role:<name>`. */
  readonly assignee: string;
  readonly form: { readonly fields: readonly FormField[] };
  /** The port that the run takes, or a template over `values` that gives it. */
  readonly submitTransition: string;
  readonly state: "open" | "completed" | "canceled";
  readonly assignedAt: number;
  readonly dueAt?: number;
  readonly expiresAt?: number;
  readonly overdue: boolean;
  readonly completedAt?: number;
  readonly completedBy?: string;
  readonly values?: FormValues;
  /** The newest ones; all of them stand in the run's journal. */
  readonly history: readonly TaskChange[];
  /** Milliseconds between reminders. */
  readonly remindMs?: number;
  /** Of the next one; only while it is open. */
  readonly remindAt?: number;
  /** By which open tasks are listed: due ones first, then as they came. */
  readonly order?: number;
}

/** Something that happened to a task. */
export interface TaskChange {
  readonly at: number;
  readonly by?: string;
  readonly type: "created" | "commented" | "overdue" | "submitted" | "canceled";
  readonly text?: string;
}

/** A task as its people see it. Times in ISO 8601. */
export interface TaskView extends Omit<TaskRow, "run" | "assignedAt" | "dueAt" | "expiresAt" | "completedAt" | "history" | "remindMs" | "remindAt" | "order"> {
  readonly runId: string;
  readonly assignedAt: string;
  readonly dueAt?: string;
  readonly expiresAt?: string;
  readonly completedAt?: string;
  readonly history: readonly (Omit<TaskChange, "at"> & { readonly at: string })[];
}

/** The collection of `TaskRow`, and its indexes. */
export const TASKS = "tasks";
/** See `TASKS`. */
export const TASK_INDEXES = ["state", "assignee", "run", "order", "assignedAt", "remindAt"] as const;

/** Changes of one task that its row keeps. */
const KEPT_CHANGES = 200;
/** Open tasks without a due date come after all that have one. */
const WITHOUT_DUE = 9_000_000_000_000_000;
/** `order` of an open task: those without a due date in the order in which they came, at one a second. */
export const orderOf = ({ dueAt, assignedAt }: Pick<TaskRow, "dueAt" | "assignedAt">): number => dueAt ?? WITHOUT_DUE + Math.floor(assignedAt / 1_000);

/** An open task that has just been made. */
export function openRow(row: Omit<TaskRow, "state" | "overdue" | "history" | "order" | "remindAt">): TaskRow {
  const { assignedAt, remindMs } = row;
  return {
    ...row,
    state: "open",
    overdue: false,
    history: [{ at: assignedAt, type: "created" }],
    order: orderOf(row),
    ...(remindMs === undefined ? {} : { remindAt: assignedAt + remindMs }),
  };
}

/** The row with one more change. */
export const changedRow = (row: TaskRow, change: TaskChange, facts: Partial<TaskRow> = {}): TaskRow => ({
  ...row,
  ...facts,
  history: [...row.history, change].slice(-KEPT_CHANGES),
});

/** Returns the row of a closed task. */
export function closedRow(row: TaskRow, change: TaskChange, facts: Partial<TaskRow>): TaskRow {
  const { order: _order, remindAt: _remindAt, ...rest } = row;
  return changedRow(rest, change, facts);
}

/** Returns the public part of a row. */
export function shownTask({
  run,
  assignedAt,
  dueAt,
  expiresAt,
  completedAt,
  history,
  remindMs: _ms,
  remindAt: _at,
  order: _order,
  ...rest
}: TaskRow): TaskView {
  const iso = (at: number) => new Date(at).toISOString();
  return {
    ...rest,
    runId: run,
    assignedAt: iso(assignedAt),
    ...(dueAt === undefined ? {} : { dueAt: iso(dueAt) }),
    ...(expiresAt === undefined ? {} : { expiresAt: iso(expiresAt) }),
    ...(completedAt === undefined ? {} : { completedAt: iso(completedAt) }),
    history: history.map((change) => ({ ...change, at: iso(change.at) })),
  };
}
