import type { Trace } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { ago, table } from "../table.ts";

/** Status filters of `GET /traces`. */
const STATUSES = ["in-flight", "ok", "error", "timeout"];

const group: OwnGroup = {
  name: "trace",
  summary: "What tasks did: list, show, replay",
  commands: [
    {
      name: "list",
      anywhere: true,
      args: "",
      summary: "The newest tasks",
      options: [
        { flags: "--agent <id>", description: "only this agent's" },
        { flags: "--status <status>", description: "how they stand", choices: STATUSES },
        { flags: "-n, --limit <count>", description: "how many (default 20)", number: { least: 1 } },
      ],
      run: (_args, options, cli) => list(cli, options),
    },
    {
      name: "show",
      anywhere: true,
      args: "<id>",
      summary: "One task with its whole message, steps and answer",
      run: ([id], _options, cli) => showTrace(cli, id as string),
    },
    {
      name: "replay",
      args: "[id]",
      summary: "Run the original message again as a new task; with --with, show what recorded tasks would come to and run nothing",
      options: [
        {
          flags: "--with <file>",
          description: "rehearse against this configuration (a .json file), or with this plugin besides (a folder, module or package)",
        },
        { flags: "--last <count>", description: "with --with: the newest tasks, so many (default 20)", number: { least: 1 } },
        { flags: "--agent <id>", description: "with --with: only this agent's" },
        { flags: "--since <time>", description: "with --with: since 30m, 2h, 3d, or a date" },
      ],
      run: ([id], options, cli) => replay(cli, id, options),
    },
  ],
};

export default group;

async function list(cli: Cli, options: Readonly<Record<string, unknown>>): Promise<void> {
  const query = new URLSearchParams({ limit: String(options.limit ?? 20) });
  for (const key of ["agent", "status"]) if (options[key] !== undefined) query.set(key, String(options[key]));
  const { traces } = (await cli.request("GET", `/traces?${query}`)) as { traces: Trace[] };
  const rows = traces.map((trace) => [
    trace.id,
    trace.agent,
    trace.status,
    `${ago(Date.now() - trace.startedAt)} ago`,
    (trace.message ?? trace.messagePreview ?? trace.entry).replace(/\s+/g, " ").slice(0, 50),
  ]);
  if (rows.length === 0 && options.agent !== undefined) await requireAgent(cli, String(options.agent));
  const none = options.agent === undefined && options.status === undefined ? "No tasks yet." : "No such tasks.";
  cli.print(rows.length === 0 ? none : table([["ID", "AGENT", "STATUS", "STARTED", "MESSAGE"], ...rows]), traces);
}

/** Tasks of a removed agent stay, so its existence is only checked if there are none. */
async function requireAgent(cli: Cli, id: string): Promise<void> {
  const { agents } = (await cli.request("GET", "/agents")) as { agents: readonly { id: string }[] };
  if (!agents.some((agent) => agent.id === id)) throw fail("SVC_CLI_MISSING", { what: `agent ${id}, nor a task of one`, next: "svc agent list" });
}

const get = (cli: Cli, id: string) => cli.request("GET", `/traces/${encodeURIComponent(id)}`) as Promise<Trace>;

/** One task with its whole message, steps and answer. */
export async function showTrace(cli: Cli, id: string): Promise<void> {
  const trace = await get(cli, id);
  const { usage } = trace;
  const lines = [
    `${trace.id}  ${trace.status}${trace.errorKind === undefined ? "" : ` (${trace.errorKind})`}`,
    `agent ${trace.agent}, ${trace.entry} on ${trace.channel}:${trace.chat}${trace.sender === undefined ? "" : ` from ${trace.sender}`}`,
    `started ${new Date(trace.startedAt).toISOString()}${trace.durationMs === undefined ? "" : `, took ${trace.durationMs} ms`}, attempts ${trace.attempts}`,
    ...(usage === undefined
      ? []
      : [`tokens: ${usage.input} in, ${usage.output} out, ${usage.cacheRead ?? 0} read from cache, ${usage.cacheCreate ?? 0} written to it`]),
    ...(trace.model === undefined ? [] : [`model ${trace.model}`]),
    ...(trace.sessionId === undefined ? [] : [`session ${trace.sessionId}`]),
    ...trace.steps.map(
      (step) =>
        `  ${step.kind} ${step.name}${step.durationMs === undefined ? "" : ` ${step.durationMs} ms`}${step.input === undefined ? "" : ` <- ${step.input}`}${step.error === undefined ? (step.output === undefined ? "" : ` -> ${step.output}`) : ` !! ${step.error}`}`,
    ),
    ...(trace.lead === undefined ? [] : [`answered by the turn of ${trace.lead}, whose trace has steps and tokens`]),
    ...(trace.error === undefined ? [] : [`error: ${trace.error}`]),
    "",
    `> ${(trace.message ?? trace.messagePreview ?? "").replaceAll("\n", "\n> ")}`,
    "",
    trace.response ?? "",
  ];
  cli.print(lines.join("\n"), trace);
}

async function replay(cli: Cli, id: string | undefined, options: Readonly<Record<string, unknown>>): Promise<void> {
  if (options.with !== undefined) return (await import("../trace/replay-with.js")).replayAgainst(cli, id, options);
  const alone = ["last", "agent", "since"].find((name) => options[name] !== undefined);
  if (alone !== undefined)
    throw fail("SVC_CLI_USAGE", { reason: `--${alone} chooses tasks for --with <file>; without it name one task: svc trace replay <id>` });
  if (id === undefined)
    throw fail("SVC_CLI_USAGE", { reason: "name the task: svc trace replay <id>; or rehearse the newest ones: svc trace replay --with <file>" });
  const trace = await get(cli, id);
  if (trace.message === undefined || trace.message === "") throw fail("SVC_CLI_MISSING", { what: `whole message in trace ${id}`, next: "svc trace show" });
  const context = { channel: trace.channel, chatId: trace.chat, ...(trace.sender === undefined ? {} : { sender: trace.sender }) };
  const { runTask } = await import("../daemon/run-task.js");
  const result = await runTask(cli, { agent: trace.agent, message: trace.message, context });
  cli.print(`Task ${result.taskId}:\n${result.ok ? result.reply : result.error}`, result);
  if (!result.ok) process.exitCode = 1;
}
