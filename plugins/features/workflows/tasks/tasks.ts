import { reasonOf, svcError } from "@svc/sdk";
import type { Input } from "../engine/types.ts";
import type { KnownRun } from "../runs/ports.ts";
import { type FormValues, judgeForm } from "./form.ts";
import { closedRun, closedTask, unknownTask } from "./task-errors.ts";
import { orderOf, shownTask, type TaskRow, type TaskView } from "./task-row.ts";
import type { TaskRows } from "./task-rows.ts";

/** The host of the runs that tasks belong to. */
export interface TaskHost {
  /** Every input of a run goes through here; not applied: the step does not wait any more, the run has ended, or has no such port. */
  input(runId: string, input: Input): Promise<{ readonly applied: boolean; readonly refused?: string }>;
  /** The run as it is; undefined for one that is gone. */
  load(runId: string): Promise<Pick<KnownRun, "status"> | undefined>;
  /** Names that a template of the step can read. */
  names(runId: string, step: string): Promise<Readonly<Record<string, unknown>>>;
  evaluate(template: unknown, names: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Values of a submitted task. */
export interface Submission {
  readonly values: Readonly<Record<string, unknown>>;
  /** Who answers, for the record. */
  readonly by?: string;
  /** The port that the run shall take, where the task leaves that open. */
  readonly transition?: string;
}

/** Filter of listed tasks. */
export interface TaskQuery {
  /** Tasks of this person and, by the business chart, of the person's roles (WF-09). */
  readonly actor?: string;
  /** Default `open`. */
  readonly state?: TaskRow["state"];
  readonly run?: string;
  /** Default 50, at most 200. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** The tasks of people in runs. */
export interface Tasks {
  get(id: string): Promise<TaskView>;
  /** Open ones by their due date; ended ones newest first. */
  list(query: TaskQuery): Promise<{ readonly tasks: readonly TaskView[]; readonly next?: string }>;
  /**
   * Judges the form and ends the task together with its step, in one commit. Throws for the first bad field (400), for a port that the task
   * has not (400), and 409 where somebody was first or the run has ended.
   */
  submit(id: string, submission: Submission): Promise<{ readonly ok: true; readonly taskId: string; readonly port: string; readonly runId: string }>;
  /** Keeps a remark; the task stays as it is (WF-10). */
  comment(id: string, text: string, by?: string): Promise<TaskView>;
}

/** Ports that a person does not choose. */
const OF_THE_ENGINE: ReadonlySet<string> = new Set(["error", "timeout", "due"]);
const LISTED = 50;
const LISTED_MOST = 200;

/** Makes the tasks over their rows. */
export function createTasks({ collection, submitting }: TaskRows, host: TaskHost, rolesOf: (actor: string) => readonly string[]): Tasks {
  const known = async (id: string): Promise<TaskRow> => {
    const row = (await collection.get(id))?.value;
    if (row === undefined) throw unknownTask(id);
    return row;
  };
  /** Why an input was not taken. */
  const refusal = async (row: TaskRow) => {
    const now = await known(row.id);
    if (now.state !== "open") return closedTask(now);
    return closedRun(row.run, (await host.load(row.run))?.status ?? "gone");
  };

  return {
    get: async (id) => shownTask(await known(id)),
    async list({ actor, state = "open", run, limit = LISTED, cursor }) {
      const most = Math.min(Math.max(1, limit), LISTED_MOST);
      const assignees = actor === undefined ? [undefined] : [`actor:${actor}`, ...rolesOf(actor).map((role) => `role:${role}`)];
      const after = cursor === undefined ? undefined : await cursorOf(cursor, state);
      const pages = await Promise.all([...new Set(assignees)].map((assignee) => page({ state, run, assignee, after, most })));
      const met = pages.flat().sort(state === "open" ? byOrder : (left, right) => byOrder(right, left));
      const tasks = met.slice(0, most);
      const more = met.length > most || pages.some(({ length }) => length > most);
      return { tasks: tasks.map(shownTask), ...(more ? { next: tasks.at(-1)?.id } : {}) } as Awaited<ReturnType<Tasks["list"]>>;
    },
    async submit(id, { values: given, by, transition }) {
      const row = await known(id);
      if (row.state !== "open") throw closedTask(row);
      const { status = "gone" } = (await host.load(row.run)) ?? {};
      if (status !== "running" && status !== "paused") throw closedRun(row.run, status);
      const values = judgeForm(row.form.fields, given);
      const port = await portOf(row, values, transition);
      const taken = row.kind === "incident" ? { ...values, value: jsonOr(values["value"]) } : values;
      const { applied, refused } = await submitting(id, values, () =>
        host.input(row.run, { kind: "submit", at: Date.now(), step: row.step, port, values: taken, ...(by === undefined ? {} : { by }) }),
      );
      if (!applied && refused === "unknown-port") throw noPort(port);
      if (!applied) throw await refusal(row);
      return { ok: true, taskId: id, port, runId: row.run };
    },
    async comment(id, text, by) {
      const row = await known(id);
      if (row.state !== "open") throw closedTask(row);
      const { applied } = await host.input(row.run, { kind: "comment", at: Date.now(), step: row.step, text, ...(by === undefined ? {} : { by }) });
      if (!applied) throw await refusal(row);
      return shownTask(await known(id));
    },
  };

  /** The port that the run takes: the task's word over the values; a caller may choose one only where the task says just `out`. */
  async function portOf({ kind, run, step, submitTransition }: TaskRow, values: FormValues, asked: string | undefined): Promise<string> {
    const isOpen = kind === "userTask" && submitTransition === "out";
    if (asked !== undefined && isOpen) return asked;
    let port: unknown = submitTransition;
    if (kind !== "userTask") port = values["decision"];
    else if (submitTransition.includes("{{")) {
      const names = { ...(await host.names(run, step)), values };
      port = await host.evaluate(submitTransition, names).catch((error) => {
        throw svcError("option", `The transition of this task cannot be told from these values: ${reasonOf(error)}`, { status: 400, field: "transition" });
      });
    }
    if (typeof port !== "string" || OF_THE_ENGINE.has(port)) throw noPort(port);
    if (asked !== undefined && asked !== port)
      throw svcError("option", `The values of this task lead to '${port}', not to '${asked}'.`, { status: 400, field: "transition" });
    return port;
  }

  /** One more than `most`, so that it is known whether there are others. */
  async function page({ state, run, assignee, after, most }: Page): Promise<readonly TaskRow[]> {
    const open = state === "open";
    const where = { state, ...(run === undefined ? {} : { run }), ...(assignee === undefined ? {} : { assignee }) };
    const found: TaskRow[] = [];
    let last: string | undefined;
    const from = after === undefined ? {} : open ? { from: after.order ?? 0 } : { to: after.assignedAt + 1 };
    for (;;) {
      const docs = await collection.list({
        where,
        by: open ? "order" : "assignedAt",
        reverse: !open,
        limit: LISTED_MOST,
        ...from,
        ...(last === undefined ? {} : { after: last }),
      });
      found.push(...docs.map(({ value }) => value).filter((row) => after === undefined || (open ? byOrder(row, after) > 0 : byOrder(row, after) < 0)));
      last = docs.at(-1)?.key;
      if (found.length > most || docs.length < LISTED_MOST) return found.slice(0, most + 1);
    }
  }

  async function cursorOf(cursor: string, state: TaskRow["state"]): Promise<TaskRow> {
    const row = (await collection.get(cursor))?.value;
    if (row === undefined)
      throw svcError("SVC_WORKFLOW_CURSOR", `The cursor '${cursor.slice(0, 100)}' is none of this list; start again without one.`, {
        status: 400,
        field: "cursor",
      });
    // One that was closed meanwhile stands where it stood.
    return row.order === undefined && state === "open" ? { ...row, order: orderOf(row) } : row;
  }
}

interface Page {
  readonly state: TaskRow["state"];
  readonly run: string | undefined;
  readonly assignee: string | undefined;
  readonly after: TaskRow | undefined;
  readonly most: number;
}

const byOrder = (left: TaskRow, right: TaskRow): number =>
  (left.order ?? left.assignedAt) - (right.order ?? right.assignedAt) || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);

const noPort = (port: unknown) =>
  svcError("option", `The task has no transition ${JSON.stringify(port) ?? "of that name"}; it stays open.`, { status: 400, field: "transition" });

/** Output of a skipped step: JSON, or the text. */
function jsonOr(text: unknown): unknown {
  if (typeof text !== "string") return text ?? null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
