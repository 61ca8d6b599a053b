import type { TaskResult } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { ago } from "../table.ts";

interface HealthAnswer {
  readonly ok: boolean;
  readonly state: string;
  readonly node: { readonly id: string; readonly name: string };
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly tasks: { readonly running: number; readonly queued: number };
  readonly plugins: readonly { readonly id: string; readonly state: string }[];
  readonly problems: readonly string[];
}

const group: OwnGroup = {
  name: "daemon",
  summary: "Start, stop, restart and watch the daemon; send it a message",
  commands: [
    {
      name: "start",
      args: "",
      summary: "Start the daemon in the background and wait until it answers",
      options: [
        { flags: "--foreground", description: "stay in this terminal; end with Ctrl-C" },
        { flags: "--last-good", description: "use the last configuration that worked, and show what differs" },
        { flags: "--no-watchdog", description: "do not end a daemon whose loop hangs" },
      ],
      async run(_args, options, cli) {
        if (options.foreground) {
          const { daemonCode } = await import("../daemon/daemon-code.js");
          await daemonCode().runDaemon(cli, { lastGood: options.lastGood === true, watchdog: options.watchdog !== false });
          return;
        }
        const { startDetached } = await import("../daemon/detach.js");
        await startDetached(cli, [...(options.lastGood ? ["--last-good"] : []), ...(options.watchdog === false ? ["--no-watchdog"] : [])]);
      },
    },
    {
      name: "stop",
      args: "",
      summary: "Let running work finish, then stop",
      options: [{ flags: "--timeout <seconds>", description: "how long to wait here (default: until it has stopped)" }],
      async run(_args, options, cli) {
        const { stopDaemon } = await import("../daemon/detach.js");
        await stopDaemon(cli, options.timeout === undefined ? undefined : Number(options.timeout));
      },
    },
    {
      name: "restart",
      args: "",
      summary: "Let running work finish, then start anew; waits until the new daemon answers",
      options: [
        { flags: "--by <name>", description: "who asks, for shutdown.restart.allowBy (default: the variable USER)" },
        { flags: "--reason <text>", description: "why" },
      ],
      async run(_args, options, cli) {
        const { restartDaemon } = await import("../daemon/restart.js");
        const by = String(options.by ?? process.env.USER ?? "svc daemon restart");
        await restartDaemon(cli, { by, ...(options.reason === undefined ? {} : { reason: String(options.reason) }) });
      },
    },
    { name: "status", args: "", summary: "Is it up, what runs, what is broken", run: (_args, _options, cli) => status(cli) },
    {
      name: "logs",
      args: "",
      summary: "The daemon's log",
      options: [
        { flags: "-f, --follow", description: "go on as lines come" },
        { flags: "-n, --lines <count>", description: "how many lines (default 50)" },
      ],
      async run(_args, options, cli) {
        const { showLog } = await import("../daemon/log-tail.js");
        await showLog(cli, Number(options.lines ?? 50), options.follow === true);
      },
    },
    {
      name: "watch",
      args: "",
      summary: "Events as they happen",
      options: [
        { flags: "--kind <kinds>", description: "only these kinds, separated by commas" },
        { flags: "--agent <id>", description: "only this agent's" },
      ],
      run: (_args, options, cli) => watch(cli, options),
    },
    {
      name: "send",
      args: "<agent> <message...>",
      summary: "Send a message to an agent and print its answer as it comes",
      options: [
        { flags: "--chat <id>", description: "the conversation (default: cli)" },
        { flags: "--fresh", description: "start a new native session" },
      ],
      run: ([agent, ...words], options, cli) => send(cli, agent as string, words.join(" "), options),
    },
  ],
};

export default group;

async function status(cli: Cli): Promise<void> {
  const health = (await cli.request("GET", "/health")) as HealthAnswer;
  const counts = new Map<string, number>();
  for (const { state } of health.plugins) counts.set(state, (counts.get(state) ?? 0) + 1);
  const lines = [
    `${health.node.name} (${health.node.id}) is ${health.state}, version ${health.version}, pid ${health.pid}, up ${ago(health.uptimeSeconds * 1000)}`,
    `tasks: ${health.tasks.running} running, ${health.tasks.queued} queued`,
    `plugins: ${[...counts].map(([state, count]) => `${count} ${state}`).join(", ")}`,
    ...health.problems.map((problem) => `problem: ${problem}`),
  ];
  cli.print(lines.join("\n"), health);
  if (!health.ok) process.exitCode = 1;
}

async function watch(cli: Cli, options: Readonly<Record<string, unknown>>): Promise<void> {
  const query = new URLSearchParams({ format: "envelope" });
  for (const key of ["kind", "agent"]) if (options[key] !== undefined) query.set(key, String(options[key]));
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  try {
    for await (const { data } of cli.stream("GET", `/events?${query}`, undefined, { signal: stop.signal })) {
      const event = data as { at: string; kind: string; type: string; agentId?: string; summary: string; source?: string };
      const by = event.source === undefined ? "" : ` (${event.source})`;
      cli.print(`${event.at.slice(11, 19)}  ${event.kind.padEnd(8)} ${event.type.padEnd(16)} ${event.summary}${by}`, event);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

async function send(cli: Cli, agent: string, message: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const body = { agent, message, ...(options.fresh ? { freshSession: true } : {}), context: { channel: "cli", chatId: String(options.chat ?? "cli") } };
  let taskId: string | undefined;
  let shown = "";
  let result: TaskResult | undefined;
  try {
    for await (const { event, data } of cli.stream("POST", "/task", body)) {
      const facts = data as { taskId?: string; text?: string };
      if (event === "accepted") taskId = facts.taskId;
      else if (event === "queued" && cli.terminal) cli.say("(waiting for an earlier turn)");
      else if (event === "text" && facts.text !== undefined) {
        shown += facts.text;
        if (!cli.json) process.stdout.write(facts.text);
      } else if (event === "done") result = data as TaskResult;
    }
  } catch (error) {
    if (taskId === undefined) throw error;
  }
  // Interrupted by a stop or a restart: the daemon takes it up again when it is back.
  if (taskId !== undefined && (result === undefined || result.errorKind === "interrupted")) {
    const { awaitTask } = await import("../daemon/await-task.js");
    result = await awaitTask(cli, taskId);
  }
  if (result === undefined) throw fail("SVC_CLI_TASK_FAILED", { reason: "the daemon ended the stream without a result; look with: svc trace list" });
  if (cli.json) cli.print("", result);
  else if (result.ok && !result.reply.startsWith(shown)) process.stdout.write(`\n${result.reply}\n`);
  else process.stdout.write(`${result.ok ? result.reply.slice(shown.length) : ""}\n`);
  if (!result.ok) throw fail("SVC_CLI_TASK_FAILED", { reason: result.error ?? result.status });
}
