import { type CliHost, type Command, type CommandGroup, svcError, userName } from "@svc/sdk";
import { act, isRunId, part, read, withExit } from "./daemon-call.ts";
import { jsonOr, readInput, readPairs } from "./pairs.ts";
import { problemLine } from "./problem-line.ts";
import { errorLine, oneLine, waitLine } from "./run-lines.ts";
import type { ShownRun, ShownStart, ShownTask, ShownWorkflow } from "./shown.ts";

const REASON = { flags: "--reason <text>", description: "why, for the run's record" };

/** `pause`, `resume` and `cancel` of a run. */
const change = (action: "pause" | "resume" | "cancel", done: string, summary: string): Command => ({
  name: action,
  args: "<run>",
  summary,
  options: [REASON],
  async run([id = ""], { reason }, cli) {
    const run = await act<ShownRun>(cli, `/runs/${part(id)}/status`, { action, ...(reason === undefined ? {} : { reason: String(reason) }) });
    cli.print(`${run.id} ${done}`, run);
  },
});

const RUNS: readonly Command[] = [
  {
    name: "run",
    args: "<id>",
    summary: "Start a run",
    options: [
      { flags: "--input <name=value...>", description: "what it takes: name=value, or @file with an object of JSON" },
      { flags: "--key <key>", description: "the same key twice is one run" },
      { flags: "--force", description: "start although a run for the same thing is under way" },
      { flags: "--timeout <minutes>", description: "minutes after which the run fails", number: { least: 1, most: 43_200 } },
      { flags: "--watch", description: "follow it to its end" },
    ],
    run: ([id = ""], options, cli) => start(id, options, cli),
  },
  {
    name: "runs",
    args: "[id]",
    summary: "Runs, newest first; with the id of a workflow those of it",
    options: [
      { flags: "--status <status>", description: "only these", choices: ["running", "paused", "completed", "failed", "canceled"] },
      { flags: "--limit <count>", description: "how many (default 20)", number: { least: 1, most: 200 } },
    ],
    async run([id], { status, limit = 20 }, cli) {
      const answer = await read<{ runs: readonly ShownRun[] }>(cli, "/runs", {
        summary: 1,
        workflow: id,
        status: status as string | undefined,
        limit: Number(limit),
      });
      cli.print(answer.runs.map(runLine).join("\n") || "No such run is kept.", answer);
    },
  },
  {
    name: "watch",
    args: "[id]",
    summary: "Follow a run to its end: its id, or the newest of a workflow; 4 where it failed, 5 where it was canceled",
    async run([id], _options, cli) {
      const { findRun, watchRun } = await import("./watch.js");
      await watchRun(cli, await findRun(cli, id));
    },
  },
  change("pause", "is paused", "Start no further step of a run"),
  change("resume", "goes on", "Go on with a paused run"),
  change("cancel", "is canceled", "End a run, its tasks and its sub-processes"),
  {
    name: "signal",
    args: "<run> <name>",
    summary: "Send a signal to a run",
    options: [
      { flags: "--payload <json>", description: "what it carries" },
      { flags: "--key <key>", description: "the same key twice is one signal" },
      { flags: "--no-stored", description: "drop it where no step waits for it" },
    ],
    async run([id = "", name = ""], { payload, key, stored }, cli) {
      const body = {
        name,
        ...(payload === undefined ? {} : { payload: jsonOr(String(payload)) }),
        ...(key === undefined ? {} : { key: String(key) }),
        ...(stored === false ? { stored: false } : {}),
      };
      const answer = await act<{ delivered: boolean; stored: boolean; duplicate: boolean }>(cli, `/runs/${part(id)}/signal`, body);
      const what = answer.duplicate
        ? "came before"
        : answer.delivered
          ? "is delivered"
          : answer.stored
            ? "is stored for a later step"
            : "is dropped: no step waits for it";
      cli.print(`the signal ${name} ${what}`, answer);
    },
  },
  {
    name: "restart",
    args: "<run>",
    summary: "Do an ended run again from a step on, as a new run",
    options: [
      { flags: "--step <step>", description: "such as fetch/1 (default: the one that failed the run; a completed run needs one)" },
      { flags: "--definition <which>", description: "pinned: that of the run (default); current: the file as it is now", choices: ["pinned", "current"] },
    ],
    async run([id = ""], { step, definition }, cli) {
      const answer = await act<ShownStart>(cli, `/runs/${part(id)}/restart`, {
        ...(step === undefined ? {} : { step: String(step) }),
        ...(definition === undefined ? {} : { definition: String(definition) }),
      });
      cli.print(`${answer.runId} started`, answer);
    },
  },
];

const TASKS: readonly Command[] = [
  {
    name: "tasks",
    args: "",
    summary: "Open tasks of people, the most urgent first",
    options: [{ flags: "--actor <id>", description: "only those of this person, and of the person's roles" }],
    async run(_args, { actor }, cli) {
      const answer = await read<{ tasks: readonly ShownTask[] }>(cli, "/tasks", { actor: actor as string | undefined, limit: 200 });
      cli.print(answer.tasks.map(taskLine).join("\n") || "No task is open.", answer);
    },
  },
  {
    name: "submit",
    args: "<id> [value...]",
    summary: "Answer a task: its id, or a run or workflow with one open task; name=value or @file, what is missing is asked",
    options: [
      { flags: "--actor <id>", description: "who answers (default: the user of this machine)" },
      { flags: "--transition <port>", description: "where the run goes on, for a task that leaves it open" },
    ],
    async run([id = "", ...words], options, cli) {
      const { submitTask } = await import("./submit.js");
      await submitTask(cli, id, words, options);
    },
  },
  {
    name: "comment",
    args: "<task> <text>",
    summary: "Say something about a task, which stays open",
    async run([id = "", text = ""], _options, cli) {
      const task = await act<ShownTask>(cli, `/tasks/${part(id)}/comment`, { text, by: userName() });
      cli.print(`the comment is kept with ${task.id}`, task);
    },
  },
];

const AUTHORING: readonly Command[] = [
  {
    name: "new",
    args: "[example] [id]",
    summary: "Copy a worked example, under its own name or another id; without one, the examples that there are",
    async run([example, id], _options, cli) {
      const { newWorkflow } = await import("./new-workflow.js");
      await newWorkflow(cli, example, id);
    },
  },
  { name: "list", args: "", summary: "All workflows", run: (_args, _options, cli) => list(cli) },
  { name: "show", args: "<id>", summary: "A workflow with what it takes and its problems; a run, or a task", run: ([id = ""], _options, cli) => show(id, cli) },
  {
    name: "check",
    args: "<file...>",
    summary: "Judge files of workflows, without a daemon: file:line:column of each mistake; 1 where one cannot run",
    async run(files, _options, cli) {
      const { checkFiles } = await import("./check.js");
      await checkFiles(cli, files);
    },
  },
  {
    name: "draft",
    args: "<verb> [id] [file]",
    summary: "Drafts: list, show, new, save, validate, promote, reject, replay",
    options: [
      { flags: "--as <id>", description: "promote: the id of the workflow (default: the draft's)" },
      { flags: "--reason <text>", description: "reject: why" },
      { flags: "--task <id>", description: "new: the recorded task that it is made of; replay: the one that answers" },
      { flags: "--input <json>", description: "replay: what the workflow is given" },
      { flags: "--watch", description: "replay: follow the run to its end" },
    ],
    async run([verb = "", id, file], options, cli) {
      const { draftCommand } = await import("./draft-command.js");
      await draftCommand(cli, verb, id, file, options);
    },
  },
];

const group: CommandGroup = {
  name: "workflow",
  summary: "Workflows: start and follow runs, answer tasks, write and check definitions",
  commands: [...AUTHORING, ...RUNS, ...TASKS].map(withExit),
};
export default group;

async function list(cli: CliHost): Promise<void> {
  const answer = await read<{ workflows: readonly ShownWorkflow[] }>(cli, "", { limit: 200 });
  const live = await read<{ runs: readonly ShownRun[] }>(cli, "/runs", { summary: 1, status: "running", limit: 200 });
  const rows = answer.workflows.map(({ definition: { id, name = "" }, broken, problems }) => {
    const state = broken ? "broken" : problems.length > 0 ? "warnings" : "ok";
    return [id, oneLine(name), state, String(live.runs.filter(({ workflowId }) => workflowId === id).length)];
  });
  const none = "There are no workflows yet; begin with: svc workflow new";
  cli.print(rows.length === 0 ? none : columns([["ID", "NAME", "STATE", "RUNS"], ...rows]), answer);
}

async function show(id: string, cli: CliHost): Promise<void> {
  if (isRunId(id)) {
    const run = await read<ShownRun>(cli, `/runs/${part(id)}`);
    const waits = run.waits.map((wait) => `  ${waitLine(wait)}`);
    const output = run.output === undefined ? [] : [`output: ${JSON.stringify(run.output)}`];
    return cli.print([runLine(run), ...(run.error === undefined ? [] : [`  ${errorLine(run.error)}`]), ...waits, ...output].join("\n"), run);
  }
  if (id.startsWith("ut_")) {
    const task = await read<ShownTask>(cli, `/tasks/${part(id)}`);
    const fields = task.form.fields.map(
      ({ name, kind, label, required }) => `  ${name}: ${kind}${required ? ", required" : ""}${label === undefined ? "" : ` - ${oneLine(label)}`}`,
    );
    const history = (task.history ?? []).map(
      ({ at, by, type, text }) => `  ${at} ${type}${by === undefined ? "" : ` by ${oneLine(by)}`}${text === undefined ? "" : `: ${oneLine(text)}`}`,
    );
    return cli.print([taskLine(task), ...(task.detail === undefined ? [] : [task.detail]), ...fields, ...history].join("\n"), task);
  }
  const shown = await read<{ definition: ShownWorkflow["definition"] & Record<string, unknown>; file: string; problems: ShownWorkflow["problems"] }>(
    cli,
    `/${part(id)}`,
  );
  cli.print([JSON.stringify(shown.definition, undefined, 2), ...shown.problems.map((problem) => problemLine(shown.file, problem))].join("\n"), shown);
}

async function start(id: string, { input = [], key, force, timeout, watch }: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  const words = input as readonly string[];
  const schema = words.length === 0 ? {} : await schemaOf(id, cli);
  const payload = await readPairs(words, (name, text) => readInput(Object.hasOwn(schema, name) ? schema[name] : undefined, text));
  const answer = (await cli.request("POST", `/workflows/${part(id)}/run?entry=cli`, {
    payload,
    ...(key === undefined ? {} : { startKey: String(key) }),
    ...(force === true ? { force: true } : {}),
    ...(timeout === undefined ? {} : { timeoutMinutes: Number(timeout) }),
  })) as ShownStart;
  cli.print(answer.duplicate === true ? `${answer.runId} was started before with this key (${answer.status})` : `${answer.runId} started`, answer);
  if (watch !== true) return;
  const { watchRun } = await import("./watch.js");
  await watchRun(cli, answer.runId);
}

/** Returns the input fields of the workflow; empty for an unknown one, which the start refuses. */
async function schemaOf(id: string, cli: CliHost): Promise<ShownWorkflow["inputSchema"]> {
  const { workflows } = await read<{ workflows: readonly ShownWorkflow[] }>(cli, "", { limit: 200 });
  const found = workflows.find(({ definition }) => definition.id === id);
  if (found === undefined) throw svcError("SVC_WORKFLOW_UNKNOWN", `There is no workflow '${id}'; see svc workflow list.`);
  return found.inputSchema;
}

const runLine = ({ id, workflowId, status, createdAt, waits = [] }: ShownRun): string =>
  [id, workflowId, status, createdAt, ...waits.slice(0, 3).map((wait) => waitLine(wait))].join("  ");

const taskLine = ({ id, workflowId, state, title, assignee, dueAt, overdue }: ShownTask): string =>
  [id, workflowId, state, oneLine(title), assignee, dueAt === undefined ? "" : `due ${dueAt}${overdue ? " (overdue)" : ""}`]
    .filter((part) => part !== "")
    .join("  ");

/** Aligned columns. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, at) => Math.max(...rows.map((row) => [...(row[at] ?? "")].length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - [...cell].length)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
