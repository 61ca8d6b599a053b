import { type CliHost, type CommandGroup, type SettingsReport, svcError } from "@svc/sdk";
import { addition, changeJobs, freeId, jobIn, readJobs, removal, switching, verdict, type WrittenJob, workOf } from "./job-changes.ts";
import { fileOf } from "./job-file.ts";
import { splitPhrase } from "./phrase.ts";
import { inZone, understand } from "./understand.ts";

const TIMES = 5;

const group: CommandGroup = {
  name: "schedule",
  summary: "Schedules as phrases: add, parse, turn on and off, approve",
  commands: [
    {
      name: "schedule",
      args: "<phrase...>",
      summary: 'Add a job by a phrase: svc schedule "every weekday at 9 in Athens: read the mail"',
      options: [
        { flags: "--agent <agent>", description: "who runs it, or is told when a command fails (default: the default agent)" },
        { flags: "--prompt <text>", description: "what the agent is asked (default: what stands behind the colon)" },
        { flags: "--command <text>", description: "a shell command, in place of a prompt" },
        { flags: "--id <id>", description: "its name (default: made of the prompt)" },
        { flags: "--timezone <zone>", description: "where the phrase names no place (default: UTC)" },
        { flags: "--notify <channel:chat>", description: "where failures and the agent's answer go" },
        { flags: "--autonomy <autonomy>", description: "what the agent may do", choices: ["report", "propose", "act"] },
        { flags: "--model <model>", description: "in place of the agent's" },
        { flags: "--timeout <seconds>", description: "limit (default 600; agents have two hours at least)", number: { least: 1 } },
        { flags: "--on-error <list>", description: "log, notify and disable, with commas between them" },
      ],
      run: (words, options, cli) => add(words.join(" "), options, cli),
    },
    {
      name: "list",
      args: "",
      summary: "Jobs as svc.json has them; svc cron list says how they went",
      async run(_args, _options, cli) {
        const jobs = await readJobs(fileOf(cli));
        const rows = Object.entries(jobs).map(([id, job]) => {
          const { schedule, timezone = "UTC", enabled = true, approval } = job;
          const state =
            approval === undefined
              ? enabled
                ? "on"
                : "off"
              : `${approval.action === "create" ? "" : `${enabled ? "on" : "off"}, `}${approval.action} waits for approval, asked by ${approval.requestedBy}`;
          return `${id}  ${schedule} ${timezone}  ${workOf(job)}  ${state}`;
        });
        cli.print(
          rows.join("\n") || 'There are no jobs; add one with: svc schedule "every weekday at 9: <what to do>"',
          Object.entries(jobs).map(([id, job]) => ({ id, ...job })),
        );
      },
    },
    {
      name: "on",
      args: "<id>",
      summary: "Turn a job on",
      run: ([id = ""], _options, cli) => change(cli, id, (job) => (job.enabled === false ? switching(id, true) : undefined), `The job '${id}' is on.`),
    },
    {
      name: "off",
      args: "<id>",
      summary: "Turn a job off",
      run: ([id = ""], _options, cli) => change(cli, id, (job) => (job.enabled === false ? undefined : switching(id, false)), `The job '${id}' is off.`),
    },
    {
      name: "remove",
      args: "<id>",
      summary: "Take a job out of svc.json",
      run: ([id = ""], _options, cli) => change(cli, id, () => removal(id), `The job '${id}' is removed.`),
    },
    {
      name: "parse",
      args: "<phrase...>",
      summary: "Say what a phrase means and when it comes next; writes nothing",
      options: [{ flags: "--timezone <zone>", description: "where the phrase names no place (default: UTC)" }],
      async run(words, { timezone }, cli) {
        const { expression, timezone: zone, words: meaning, next } = await read(cli, splitPhrase(words.join(" ")).when, timezone);
        cli.print([`${expression}  (${zone})`, meaning, ...next.map((time) => `  ${inZone(time, zone)}`)].join("\n"), {
          expression,
          timezone: zone,
          words: meaning,
          next: next.map((time) => time.toISOString()),
        });
      },
    },
    {
      name: "approve",
      args: "<id>",
      summary: "Say yes to what an agent asked for: a new job, or the deletion of one",
      run: ([id = ""], _options, cli) => decide(cli, id, true),
    },
    { name: "reject", args: "<id>", summary: "Say no to it", run: ([id = ""], _options, cli) => decide(cli, id, false) },
  ],
};
export default group;

const read = (cli: CliHost, phrase: string, timezone: unknown) =>
  understand(phrase, (expression, zone) => cli.next(expression, zone, { count: TIMES }), timezone === undefined ? undefined : String(timezone));

async function add(text: string, options: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  refuseAgents();
  const { when, what } = splitPhrase(text);
  const said = (key: string) => (options[key] === undefined ? undefined : String(options[key]));
  const understood = await read(cli, when, options["timezone"]);
  const [prompt, command] = [said("prompt") ?? (what === "" ? undefined : what), said("command")];
  if ((prompt === undefined) === (command === undefined)) throw invalid(`Say what to do, once: svc schedule "${when}: read the mail", --prompt or --command.`);
  const file = fileOf(cli);
  const agent = said("agent") ?? defaultAgent((await file.read()).document);
  const notify = said("notify")?.split(/:(.*)/s);
  if (notify !== undefined && (notify[0] === "" || !notify[1])) throw invalid("--notify is <channel>:<chat>, such as topicpush:me.");
  const job: WrittenJob = {
    schedule: understood.expression,
    timezone: understood.timezone,
    agent,
    ...(prompt === undefined ? {} : { prompt }),
    ...(command === undefined ? {} : { command }),
    ...given("autonomy", said("autonomy")),
    ...given("model", said("model")),
    ...given("timeout", options["timeout"]),
    ...given(
      "onError",
      said("onError")
        ?.split(",")
        .map((one) => one.trim()),
    ),
    ...(notify === undefined
      ? {}
      : { notify: { channel: notify[0] as string, chatId: notify[1] as string }, ...(prompt === undefined ? {} : { sendAnswer: true }) }),
  };
  let id = "";
  const report = await changeJobs(file, "svc schedule", (jobs) => {
    id = said("id") ?? freeId(jobs, prompt ?? command ?? "");
    if (Object.hasOwn(jobs, id)) throw invalid(`There is a job '${id}' already; choose another with --id, or svc schedule remove ${id}.`);
    return [addition(id, job, true)];
  });
  const next = understood.next[0];
  const first = next === undefined ? "" : ` First: ${inZone(next, understood.timezone)}.`;
  cli.print(`The job '${id}' runs ${understood.words}, by agent ${agent}.${first}\n${inForce(report)}`, {
    id,
    ...job,
    next: understood.next.map((time) => time.toISOString()),
  });
}

const given = (key: string, value: unknown): object => (value === undefined ? {} : { [key]: value });

function defaultAgent({ node, agents }: Readonly<Record<string, unknown>>): string {
  const ids = Object.keys((agents ?? {}) as object);
  const agent = (node as { defaultAgent?: string } | undefined)?.defaultAgent ?? (ids.length === 1 ? ids[0] : undefined);
  if (agent === undefined) throw invalid("Name the agent: --agent <agent>.");
  return agent;
}

async function change(cli: CliHost, id: string, edit: (job: WrittenJob) => ReturnType<typeof removal> | undefined, words: string): Promise<void> {
  refuseAgents();
  let waits = false;
  const report = await changeJobs(fileOf(cli), "svc schedule", (jobs) => {
    const job = jobIn(jobs, id);
    waits = job.approval?.action === "create";
    const wanted = edit(job);
    return wanted === undefined ? [] : [wanted];
  });
  const pending = waits && !words.endsWith("removed.") ? ` It waits for approval all the same: svc schedule approve ${id}` : "";
  cli.print(`${words}${pending}${report === undefined ? "" : `\n${inForce(report)}`}`, { id, ...report });
}

async function decide(cli: CliHost, id: string, approved: boolean): Promise<void> {
  refuseAgents();
  let words = "";
  const report = await changeJobs(fileOf(cli), `svc schedule ${approved ? "approve" : "reject"}`, (jobs) => {
    const { approval } = jobIn(jobs, id);
    if (approval === undefined) {
      if (!approved)
        throw svcError("SVC_SCHEDULE_DECIDED", `Nothing about the job '${id}' waits for a decision; svc schedule remove ${id} takes it out.`, { status: 409 });
      words = `Nothing about the job '${id}' waits: it is in force as it is.`;
      return [];
    }
    words = sentence(id, approval.action, approved);
    return [verdict(id, approval, approved)];
  });
  cli.print(`${words}${report === undefined ? "" : `\n${inForce(report)}`}`, { id, approved, ...report });
}

const sentence = (id: string, action: "create" | "delete", approved: boolean): string =>
  action === "create"
    ? approved
      ? `The job '${id}' is approved and runs by its schedule.`
      : `The job '${id}' is rejected and removed.`
    : approved
      ? `The job '${id}' is deleted, as was asked.`
      : `The job '${id}' goes on: its deletion is rejected.`;

const inForce = (report: SettingsReport | undefined): string =>
  report?.reloadSkipped === undefined
    ? "In force now."
    : `Written, and in force at the daemon's next start: ${report.reloadSkipped.replace(/^ECONNREFUSED: /, "")}.`;

/** Approval stays with the operator (CRON-07): a shell that an agent works in is not the operator's. A seat belt: what an agent runs, runs as the operator's user. */
function refuseAgents(): void {
  const task = process.env["SVC_TASK_ID"];
  if (task !== undefined && task !== "")
    throw svcError(
      "SVC_SCHEDULE_OPERATOR",
      `This is the operator's command, and it is called from ${task}, the task of an agent; agents use the tools svc_schedule_*.`,
      { status: 403 },
    );
}

const invalid = (message: string) => svcError("SVC_SCHEDULE_INVALID", message, { status: 400 });
