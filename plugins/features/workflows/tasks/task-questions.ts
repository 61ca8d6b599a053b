import { type ApprovalChoice, type ApprovalDecision, type Approvals, codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import type { FormField } from "../engine/types.ts";
import { buttonField, optionLabel, optionsOf, optionValue } from "./form.ts";
import type { TaskRow } from "./task-row.ts";
import type { TaskRows } from "./task-rows.ts";
import type { Tasks } from "./tasks.ts";

/** Tasks as questions on chat and page, where some plugin serves approvals. A question and its answer only ever follow from the task. */
export interface TaskQuestions {
  /** The task has just been stored. */
  opened(taskId: string): void;
  /** The task is no longer open. */
  closed(taskId: string, words: string): void;
  /** Asks once more, in place of the question before. `round` names the occasion: the same one asks once. */
  remind(row: TaskRow, round: number): Promise<void>;
  /** Hears answers, asks what a stop left unasked, and takes back what was done elsewhere. Again when the plugin that asks was started anew. */
  reconcile(): Promise<void>;
}

const KIND = "workflow-task";
const PAGE = 200;
/** As many questions as are listed at once. */
const MOST = 1_000;
/** A task without an end is asked about as long as the settings of approvals allow. */
const LONGEST_MS = 365 * 86_400_000;
/** A form may be longer than what people can be asked with. */
const MOST_DETAIL = 50_000;
/** The only answer on chat for a task whose form needs more than a button: it changes nothing. */
const SEEN: ApprovalChoice = { id: "seen", label: "Seen" };

/** Makes the link to the questions. */
export function createTaskQuestions(
  { services, log }: Pick<PluginContext, "services" | "log">,
  { collection }: Pick<TaskRows, "collection">,
  submit: Tasks["submit"],
): TaskQuestions {
  let heard: Approvals | undefined;
  /** The newest question of each open task, as far as it is known here: looking for it in all that are open costs as many reads. */
  const questions = new Map<string, string>();
  /** Questions and withdrawals in order: a question must not be asked after its end. */
  let last: Promise<void> = Promise.resolve();

  const inOrder = (taskId: string, work: (approvals: Approvals) => Promise<void>): Promise<void> => {
    last = last.then(async () => {
      const approvals = services.get("approvals");
      if (approvals === undefined) return;
      await work(approvals).catch((error) => log.warn({ err: error, task: taskId }, `the task ${taskId} could not be put to people: ${reasonOf(error)}`));
    });
    return last;
  };
  const rowOf = async (taskId: string) => (await collection.get(taskId))?.value;

  async function ask(approvals: Approvals, row: TaskRow, key = row.id): Promise<void> {
    if (row.state !== "open") return;
    const { id, title, workflowId, expiresAt, form, step } = row;
    const field = buttonField(form.fields);
    const asked = await approvals.ask({
      kind: KIND,
      title: `${title} (${workflowId})`,
      detail: detailOf(row, field),
      digest: await approvals.digest({ id, step, title, fields: form.fields }),
      choices: field === undefined ? [SEEN] : choicesOf(field),
      requestedBy: `workflow ${workflowId}`,
      expiresMs: expiresAt === undefined ? LONGEST_MS : Math.max(1, expiresAt - Date.now()),
      key,
    });
    questions.set(id, asked.id);
  }

  /** The same occasion again, as after a stop or where somebody else was first: its question stays, and only the others go. */
  async function askAgain(approvals: Approvals, row: TaskRow, key: string): Promise<void> {
    const before = questions.get(row.id);
    await ask(approvals, row, key);
    const now = questions.get(row.id);
    if (before === now || (before !== undefined && (await approvals.withdraw(before, "asked again")))) return;
    for (const { id, key: other } of await approvals.list({ open: true, kind: KIND, limit: MOST }))
      if (id !== now && taskOf(other) === row.id) await approvals.withdraw(id, "asked again");
  }

  async function withdraw(approvals: Approvals, taskId: string, words: string): Promise<void> {
    const known = questions.get(taskId);
    questions.delete(taskId);
    if (known !== undefined) {
      if (await approvals.withdraw(known, words)) return;
      const { state } = (await approvals.get(known)) ?? {};
      if (state === "approved" || state === "rejected") return;
    }
    for (const { id, key } of await approvals.list({ open: true, kind: KIND, limit: MOST })) if (taskOf(key) === taskId) await approvals.withdraw(id, words);
  }

  async function hear({ key, state, choice, by, surface, at }: ApprovalDecision): Promise<void> {
    const taskId = taskOf(key);
    const row = taskId === undefined ? undefined : await rowOf(taskId);
    if (row === undefined || row.state !== "open" || state === "withdrawn") return;
    // The question has ended, and the task has not.
    if (state === "expired") return void inOrder(row.id, (approvals) => ask(approvals, row, `${row.id}@${at}`));
    const field = buttonField(row.form.fields);
    const value = field === undefined ? undefined : valueOfChoice(field, choice);
    if (field === undefined || value === undefined) return;
    const who = [by ?? "somebody", surface].filter((part) => part !== undefined && part !== "").join(" on ");
    try {
      await submit(row.id, { values: { [field.name]: value }, by: who });
    } catch (error) {
      const { status } = error as { status?: number };
      // Somebody was first, or the run takes nothing any more: the answer has come too late, and stays so.
      if (status !== undefined && status < 500)
        return log.info({ task: row.id, code: codeOf(error) }, `an answer to the task ${row.id} was not taken: ${reasonOf(error)}`);
      throw error;
    }
  }

  return {
    opened: (taskId) =>
      void inOrder(taskId, async (approvals) => {
        const row = await rowOf(taskId);
        if (row !== undefined) await ask(approvals, row);
      }),
    closed: (taskId, words) => void inOrder(taskId, (approvals) => withdraw(approvals, taskId, words)),
    remind: (row, round) => inOrder(row.id, (approvals) => askAgain(approvals, row, `${row.id}@${round}`)),
    async reconcile() {
      const approvals = services.get("approvals");
      if (approvals === undefined || approvals === heard) return;
      heard = approvals;
      approvals.onDecided(KIND, hear);
      const asked = new Set<string>();
      // What is taken back makes room for older ones.
      const seen = new Set<string>();
      for (let more = true; more; ) {
        const open = await approvals.list({ open: true, kind: KIND, limit: MOST });
        const fresh = open.filter(({ id }) => !seen.has(id));
        for (const { id, key } of fresh) {
          seen.add(id);
          const row = await rowOf(taskOf(key) ?? "");
          if (row?.state !== "open") await approvals.withdraw(id, row === undefined ? "the task is gone" : `the task is ${row.state}`);
          else if (!asked.has(row.id)) {
            asked.add(row.id);
            questions.set(row.id, id);
          }
        }
        more = open.length === MOST && fresh.length > 0;
      }
      for (let after: string | undefined; ; ) {
        const page = await collection.list({ where: { state: "open" }, limit: PAGE, ...(after === undefined ? {} : { after }) });
        for (const { value } of page) if (!asked.has(value.id)) await inOrder(value.id, (service) => ask(service, value));
        after = page.at(-1)?.key;
        if (page.length < PAGE) return;
      }
    },
  };
}

/** The task of a question, by its key: `<task>`, or `<task>@<occasion>`. */
const taskOf = (key: string | undefined): string | undefined => key?.split("@")[0];

function detailOf({ id, detail, assignee, dueAt, form }: TaskRow, button: FormField | undefined): string {
  const how = form.fields.map(
    ({ name, kind, label, required }) => `${name}=<${kind}>${required === true ? "" : " (may be left out)"}${label === undefined ? "" : ` ${label}`}`,
  );
  const fill = `svc workflow submit ${id}`;
  return [
    detail,
    `For ${assignee}${dueAt === undefined ? "" : `, due ${new Date(dueAt).toISOString()}`}.`,
    button === undefined ? `Answer it on the page /inbox, or with: ${fill}` : form.fields.length > 1 ? `To say more than the answer: ${fill}` : undefined,
    button === undefined || form.fields.length > 1 ? how.map((line) => `  ${line}`).join("\n") : undefined,
  ]
    .filter((part) => part !== undefined && part !== "")
    .join("\n\n")
    .slice(0, MOST_DETAIL);
}

/** The answers as buttons: an option that can be no id of a choice makes all of them numbers. */
function choicesOf(field: FormField): readonly ApprovalChoice[] {
  const ids = idsOf(field);
  return optionsOf(field).map((option, at) => ({
    id: ids[at] as string,
    label: optionLabel(option) || optionValue(option),
    ...(["reject", "fail", "no"].includes(optionValue(option)) ? { rejects: true as const } : {}),
  }));
}

function idsOf(field: FormField): readonly string[] {
  const values = optionsOf(field).map(optionValue);
  const fit = values.every((value) => /^[a-z0-9._-]{1,16}$/.test(value) && value !== "later");
  return fit ? values : values.map((_value, at) => `option-${at + 1}`);
}

function valueOfChoice(field: FormField, choice: string | undefined): string | undefined {
  const at = idsOf(field).indexOf(choice ?? "");
  const option = optionsOf(field)[at];
  return option === undefined ? undefined : optionValue(option);
}
