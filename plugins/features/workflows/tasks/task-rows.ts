import { type Collection, type Op, put, type Store } from "@svc/sdk";
import { durationMs } from "../engine/duration.ts";
import type { Entry, FormField, Node, RunError } from "../engine/types.ts";
import type { KnownRun, TaskStep } from "../runs/ports.ts";
import type { FormValues } from "./form.ts";
import { changedRow, closedRow, openRow, TASK_INDEXES, TASKS, type TaskRow } from "./task-row.ts";

/** Form of an approval. */
const APPROVAL: readonly FormField[] = [
  {
    name: "decision",
    kind: "select",
    required: true,
    options: [
      { value: "approve", label: "Approve" },
      { value: "reject", label: "Reject" },
    ],
  },
  { name: "comment", kind: "long-text", label: "Comment" },
];
/** Decisions of a person about a step that cannot continue by itself. */
const INCIDENT: readonly FormField[] = [
  {
    name: "decision",
    kind: "select",
    required: true,
    options: [
      { value: "again", label: "Try again" },
      { value: "skip", label: "Skip it" },
      { value: "fail", label: "Let it fail" },
    ],
  },
  { name: "value", kind: "long-text", label: "Its output when it is skipped", help: "JSON, or text as it is" },
];
const BY_DECISION = "{{ values.decision }}";

/** The rows of tasks: they follow from the journals of runs, in the same commits. */
export interface TaskRows {
  readonly collection: Collection<TaskRow>;
  /** The writes for what the entries of one commit say of tasks. */
  rows(run: KnownRun, entries: readonly Entry[], step: (id: string) => TaskStep | undefined): Promise<readonly Op[]>;
  /** The values of a task that is being submitted: a journal may hold a reference in their place. */
  submitting<T>(id: string, values: FormValues, work: () => Promise<T>): Promise<T>;
}

/** Opens the rows of tasks in the plugin's store. */
export function createTaskRows(store: Store): TaskRows {
  const collection = store.collection<TaskRow>(TASKS, { indexes: TASK_INDEXES });
  const submitted = new Map<string, FormValues>();
  const submissions = new Map<string, Promise<unknown>>();

  return {
    collection,
    async rows(run, entries, step) {
      const changed = new Map<string, { readonly row: TaskRow; readonly expect: number | "absent" }>();
      for (const entry of entries) {
        if (!isTaskEntry(entry)) continue;
        const { taskId } = entry;
        if (entry.kind === "task.created") {
          const known = await collection.get(taskId);
          const made = step(entry.step);
          if (known === undefined && made !== undefined) changed.set(taskId, { row: madeRow(run, entry, made, entries), expect: "absent" });
          continue;
        }
        const before = changed.get(taskId) ?? (await found(taskId));
        if (before === undefined) continue;
        changed.set(taskId, { row: nextRow(before.row, entry, submitted.get(taskId)), expect: before.expect });
      }
      return [...changed].map(([id, { row, expect }]) => put(TASKS, id, row, expect));
    },
    async submitting(id, values, work) {
      // One after the other: the row of a task must not get the values of who came second.
      const mine = (submissions.get(id) ?? Promise.resolve()).then(async () => {
        submitted.set(id, values);
        try {
          return await work();
        } finally {
          submitted.delete(id);
        }
      });
      const over = mine.catch(() => {});
      submissions.set(id, over);
      try {
        return await mine;
      } finally {
        if (submissions.get(id) === over) submissions.delete(id);
      }
    },
  };

  async function found(id: string) {
    const doc = await collection.get(id);
    return doc === undefined ? undefined : { row: doc.value, expect: doc.version };
  }
}

type TaskEntry = Entry<"task.created" | "task.commented" | "task.overdue" | "task.submitted" | "task.canceled">;
const isTaskEntry = (entry: Entry): entry is TaskEntry => entry.kind.startsWith("task.");

/** The row as a further entry leaves it. One that is closed changes no more, but for remarks that came before its end was stored. */
function nextRow(row: TaskRow, entry: Exclude<TaskEntry, Entry<"task.created">>, values: FormValues | undefined): TaskRow {
  const { at } = entry;
  if (row.state !== "open") return row;
  switch (entry.kind) {
    case "task.commented":
      return changedRow(row, { at, type: "commented", text: entry.text, ...by(entry) });
    case "task.overdue":
      return changedRow(row, { at, type: "overdue" }, { overdue: true });
    case "task.submitted":
      return closedRow(
        row,
        { at, type: "submitted", text: entry.port, ...by(entry) },
        { state: "completed", completedAt: at, values: values ?? (entry.values as FormValues), ...(entry.by === undefined ? {} : { completedBy: entry.by }) },
      );
    default:
      return closedRow(row, { at, type: "canceled" }, { state: "canceled", completedAt: at });
  }
}

const by = ({ by: who }: { readonly by?: string }): { readonly by?: string } => (who === undefined ? {} : { by: who });

/** The row of a task that a run has just asked for. */
function madeRow(run: KnownRun, { taskId: id, step, at }: Entry<"task.created">, { node, row }: TaskStep, entries: readonly Entry[]): TaskRow {
  const waiting = entries.find((entry): entry is Entry<"step.waiting"> => entry.kind === "step.waiting" && entry.step === step);
  const { due, until } = waiting?.wait ?? {};
  const asked = { id, run: run.id, workflowId: run.workflow, step, assignedAt: at };
  if (waiting?.wait.kind === "incident" || !isAsked(node)) return openRow({ ...asked, ...incident(run, step, node, waiting?.wait.error ?? row.error) });
  const { title, detail, assignee, form } = (row.input ?? {}) as { title?: unknown; detail?: unknown; assignee?: unknown; form?: unknown };
  const remindMs = node.remindEvery === undefined ? undefined : durationMs(node.remindEvery);
  return openRow({
    ...asked,
    kind: node.kind,
    title: textOf(title ?? node.title).slice(0, 1_000),
    assignee: assigneeOf(textOf(assignee ?? node.assignee)),
    form: { fields: node.kind === "approval" ? APPROVAL : ((form ?? node.form ?? []) as readonly FormField[]).map(fieldOf) },
    submitTransition: node.kind === "approval" ? BY_DECISION : (node.submitTransition ?? "out"),
    ...(detail === undefined || detail === null || detail === "" ? {} : { detail: textOf(detail).slice(0, 20_000) }),
    ...(due === undefined ? {} : { dueAt: due }),
    ...(until === undefined ? {} : { expiresAt: until }),
    ...(remindMs === undefined ? {} : { remindMs: Math.max(remindMs, 60_000) }),
  });
}

const isAsked = (node: Node): node is Node<"userTask" | "approval"> => node.kind === "userTask" || node.kind === "approval";

/** The question what becomes of a step that was interrupted or has used up its attempts. */
function incident({ workflow, ownerAgent }: KnownRun, step: string, node: Node, error: RunError | undefined) {
  const what = node.label === undefined ? step : `${node.label} (${step})`;
  const detail = [
    error === undefined ? "It was interrupted, and whether it had done its work is not known." : `${error.code}: ${error.message}`,
    "Again tries it once more; it may do its work twice where it was interrupted. Skip goes on with the value that is given, as if the step had made it. Fail lets the error go its way.",
  ].join("\n\n");
  return {
    kind: "incident" as const,
    title: `The step ${what} of the workflow ${workflow} cannot go on`,
    detail,
    assignee: ownerAgent === undefined ? "role:operator" : `actor:${ownerAgent}`,
    form: { fields: INCIDENT },
    submitTransition: BY_DECISION,
  };
}

/** The assignee comes from an expression: replace an invalid one, so that the task can be found. */
const assigneeOf = (text: string): string => (/^(actor|role):./.test(text) ? text.slice(0, 500) : "role:operator");

/** A field as its texts came out of their expressions, which may have made numbers of options, or nothing. */
function fieldOf({ label, help, options, ...field }: FormField): FormField {
  return {
    ...field,
    ...(label === undefined || label === null ? {} : { label: textOf(label) }),
    ...(help === undefined || help === null ? {} : { help: textOf(help) }),
    ...(options === undefined ? {} : { options: options.flatMap(optionOf) }),
  };
}

function optionOf(option: unknown): NonNullable<FormField["options"]> {
  if (typeof option !== "object" || option === null) return option === undefined || option === null ? [] : [String(option)];
  const { value, label } = option as { readonly value?: unknown; readonly label?: unknown };
  if (value === undefined || value === null) return [];
  return [{ value: textOf(value), ...(label === undefined || label === null ? {} : { label: textOf(label) }) }];
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
