import type { CliHost, CommandGroup, MissedMinutes } from "@svc/sdk";
import { workOf } from "./job-changes.ts";
import type { JobView } from "./overview.ts";
import type { Run } from "./runs.ts";

type StoredRun = Run & { readonly id: string };

const group: CommandGroup = {
  name: "cron",
  summary: "Scheduled jobs: what runs when, what it did, run one now",
  commands: [
    {
      name: "list",
      args: "",
      summary: "All jobs, when they run next and how they went",
      async run(_args, _options, cli) {
        const jobs = await jobsOf(cli);
        cli.print(jobs.map(lineOf).join("\n") || 'There are no jobs; add one with: svc schedule "every weekday at 9: <what to do>"', jobs);
      },
    },
    {
      name: "show",
      args: "<id>",
      summary: "A job as it is configured, its next times and its last run",
      async run([id = ""], _options, cli) {
        const job = (await jobsOf(cli)).find((one) => one.id === id);
        // Let the daemon report the unknown job, as every command does.
        if (job === undefined) return void (await cli.request("GET", `/crons/${encodeURIComponent(id)}/runs`));
        cli.print(describe(job), job);
      },
    },
    {
      name: "runs",
      args: "<id>",
      summary: "What a job did, newest first",
      options: [{ flags: "--limit <count>", description: "how many (default 20)", number: { least: 1, most: 200 } }],
      async run([id = ""], { limit = 20 }, cli) {
        const { runs } = (await cli.request("GET", `/crons/${encodeURIComponent(id)}/runs?limit=${limit}`)) as { runs: readonly StoredRun[] };
        cli.print(runs.map(runLine).join("\n") || "It has not run yet.", runs);
      },
    },
    {
      name: "run",
      args: "<id>",
      summary: "Run a job now, beside its schedule",
      async run([id = ""], _options, cli) {
        const started = (await cli.request("POST", `/crons/${encodeURIComponent(id)}/run`)) as { run: string };
        cli.print(`The job '${id}' has started; see svc cron runs ${id}`, started);
      },
    },
  ],
};
export default group;

const jobsOf = async (cli: CliHost): Promise<readonly JobView[]> => ((await cli.request("GET", "/crons")) as { crons: readonly JobView[] }).crons;

/** On, off, or what it waits for. */
function stateOf({ enabled, approval, running, turnedOff, failures }: JobView): string {
  if (approval?.action === "create") return "waits for approval";
  const state = running !== undefined ? "running" : enabled ? "on" : turnedOff === undefined ? "off" : "off after three failures";
  return `${state}${approval === undefined ? "" : ", deletion waits for approval"}${failures > 0 ? `, failed ${failures} in a row` : ""}`;
}

function lineOf(job: JobView): string {
  const { id, schedule, timezone, last, missed, next } = job;
  const runs = `${next[0] === undefined ? "" : `  next ${next[0]}`}${last === undefined ? "" : `  last ${last.status} ${iso(last.at)}`}`;
  const lost = missed.at(-1);
  return `${id}  ${schedule} ${timezone}  ${workOf(job)}  ${stateOf(job)}${runs}${lost === undefined ? "" : `\n  missed ${spanWords(lost)}`}`;
}

function describe(job: JobView): string {
  const { prompt, command, workflow, next, missed, last, createdBy, notify, autonomy, model, onError } = job;
  return [
    lineOf({ ...job, missed: [] }),
    workflow !== undefined ? `Workflow: ${workflow}` : command === undefined ? `Prompt: ${prompt}` : `Command: ${command}`,
    autonomy && `Autonomy: ${autonomy}`,
    model && `Model: ${model}`,
    `On errors: ${[onError].flat().join(", ")}`,
    notify && `Messages to: ${notify.channel} ${notify.chatId}`,
    createdBy && `Asked for by: ${createdBy}`,
    next.length > 0 && `Next: ${next.join(", ")}`,
    last && `Last: ${runLine(last)}`,
    ...missed.map((lost) => `Missed: ${spanWords(lost)}`),
  ]
    .filter(Boolean)
    .join("\n");
}

const spanWords = ({ first, last, count, more, unsure }: MissedMinutes): string =>
  unsure ? `perhaps ${first}: the daemon ended as it began, and it does not begin again` : `${count}${more ? " or more" : ""} from ${first} to ${last}`;

const iso = (at: number): string => new Date(at).toISOString();

function runLine({ at, by, status, endedAt, error, taskId, refused }: Run): string {
  const took = endedAt === undefined ? "" : `  ${((endedAt - at) / 1000).toFixed(1)} s`;
  return `${iso(at)}  ${status}  ${by}${took}${error === undefined ? "" : `  ${error}`}${refused === undefined ? "" : `  ${refused} starts refused meanwhile`}${taskId === undefined ? "" : `  ${taskId}`}`;
}
