import { type CliHost, codeOf, svcError, userName } from "@svc/sdk";
import type { FormField } from "../engine/types.ts";
import { judgeForm, optionLabel, optionsOf, optionValue, readField } from "../tasks/form.ts";
import { act, isRunId, part, read } from "./daemon-call.ts";
import { readPairs } from "./pairs.ts";
import { oneLine } from "./run-lines.ts";
import type { ShownTask } from "./shown.ts";

/** Options of `svc workflow submit` beside the values. */
export interface SubmitOptions {
  readonly actor?: string;
  readonly transition?: string;
}

/** Finds an open task: by its own id, or the only one of a run or a workflow. Throws if there is none, or several. */
export async function findTask(cli: CliHost, id: string): Promise<ShownTask> {
  if (!isRunId(id)) {
    try {
      return await read<ShownTask>(cli, `/tasks/${part(id)}`);
    } catch (error) {
      if (codeOf(error) !== "SVC_TASK_UNKNOWN" && (error as { status?: number }).status !== 404) throw error;
    }
  }
  const { tasks } = await read<{ tasks: readonly ShownTask[] }>(cli, "/tasks", { limit: 200, run: isRunId(id) ? id : undefined });
  const met = tasks.filter(({ runId, workflowId }) => runId === id || workflowId === id);
  const [only] = met;
  if (only === undefined)
    throw svcError("SVC_TASK_UNKNOWN", `No task with the id '${id}' is open, and none of such a run or workflow; see svc workflow tasks.`);
  if (met.length > 1)
    throw svcError(
      "SVC_CLI_USAGE",
      `${met.length} tasks of '${id}' are open; say which:\n${met.map((task) => `  ${task.id}  ${oneLine(task.title)}`).join("\n")}`,
    );
  return only;
}

/** Fills in the form of a task and submits it: with the words of the command line, and asks for missing values at the terminal. */
export async function submitTask(cli: CliHost, id: string, words: readonly string[], { actor, transition }: SubmitOptions): Promise<void> {
  const task = await findTask(cli, id);
  const { fields } = task.form;
  const values = await readPairs(words, (name, text) => {
    const field = fields.find((one) => one.name === name);
    return field === undefined ? text : readField(field, text);
  });
  if (task.state === "open") for (const field of fields) if (isMissing(field, values)) values[field.name] = await askField(cli, task, field);
  // The daemon judges; refused here, nothing is sent.
  if (task.state === "open") judgeForm(fields, values);
  const answer = await act<{ taskId: string; port: string; runId: string }>(cli, `/tasks/${part(task.id)}/submit`, {
    values,
    actor: actor ?? userName(),
    ...(transition === undefined ? {} : { transition }),
  });
  cli.print(`${answer.taskId} submitted: ${answer.runId} goes on at ${answer.port}`, answer);
}

const isMissing = ({ name, required, default: value }: FormField, given: Readonly<Record<string, unknown>>): boolean =>
  required === true && value === undefined && !Object.hasOwn(given, name);

/** Asked again until the answer fits the field. */
async function askField(cli: CliHost, task: ShownTask, field: FormField): Promise<unknown> {
  const words = [oneLine(task.title), field.label ?? field.name, field.help].filter((part) => part !== undefined && part !== "").join(" - ");
  const choices = field.kind === "select" ? optionsOf(field).map((option) => ({ id: optionValue(option), label: optionLabel(option) })) : undefined;
  const hint = field.kind === "multi-select" ? ` (several with commas: ${optionsOf(field).map(optionValue).join(", ")})` : KINDS[field.kind];
  for (let note = ""; ; ) {
    const text = await cli.ask(`${note}${words}${hint ?? ""}`, { flag: `${field.name}=<value>`, ...(choices === undefined ? {} : { choices }) });
    const value = readField(field, text);
    try {
      judgeForm([field], { [field.name]: value });
      return value;
    } catch (error) {
      note = `${(error as Error).message} `;
    }
  }
}

const KINDS: Readonly<Record<string, string>> = { date: " (a day such as 2026-05-31)", number: " (a number)", boolean: " (yes or no)" };
