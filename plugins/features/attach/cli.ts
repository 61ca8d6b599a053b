import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type CliHost, type CommandGroup, codeOf } from "@svc/sdk";
import type { ShownSession } from "./hand-out.ts";

const SESSION = { flags: "--session <id>", description: "another session than the one that this command runs in" };

const group: CommandGroup = {
  name: "attach",
  summary: "Let an open coding session answer for an agent",
  commands: [
    {
      name: "attach",
      args: "<agent>",
      summary: "Let this session wear the agent: its messages come here, for 90 s each, before the agent's own engine takes them",
      options: [
        {
          flags: "--mode <mode>",
          description: "manual: its tool asks for them; notify: it is told how many wait; auto: they are handed over (default: manual)",
          choices: ["manual", "notify", "auto"],
        },
        SESSION,
      ],
      run: ([agent = ""], { mode = "manual", session }, cli) => attach(agent, String(mode), session as string | undefined, cli),
    },
    {
      name: "detach",
      args: "[agent]",
      summary: "Give the agent back: what waits or is not answered goes to its own engine",
      options: [SESSION],
      async run([agent], { session }, cli) {
        const named = agent === undefined ? placed(session as string | undefined) : { agent };
        const released = (await cli.request("POST", "/attach/detach", named)) as { agent: string };
        cli.print(`${released.agent} answers by its own engine again.`, released);
      },
    },
    {
      name: "list",
      args: "",
      summary: "The sessions on this machine, what they wear and what waits for them",
      async run(_args, _options, cli) {
        const sessions = await listed(cli);
        cli.print(sessions.map(lineOf).join("\n") || "No session has called a hook yet; set the hooks up with: svc attach install", sessions);
      },
    },
    {
      name: "install",
      args: "",
      summary: "Write the hooks to the settings of Claude Code, or take them out again",
      options: [
        { flags: "--project", description: "for this folder alone: .claude/settings.local.json" },
        { flags: "--remove", description: "take them out again" },
      ],
      run: (_args, { project, remove }, cli) => setUp(project === true, remove === true, cli),
    },
  ],
};
export default group;

async function attach(agent: string, mode: string, session: string | undefined, cli: CliHost): Promise<void> {
  try {
    await bind(cli, { agent, mode, ...placed(session) });
  } catch (error) {
    if (codeOf(error) !== "SVC_ATTACH_SESSION" || session !== undefined) throw error;
    const sessions = await listed(cli);
    if (sessions.length === 0) throw error;
    // Outside a session: the person says which one is meant. Two programs may show one session, so the process counts.
    const choices = sessions.map((one) => ({ id: one.pid === undefined ? one.session : String(one.pid), label: lineOf(one) }));
    const chosen = await cli.ask("Which session?", { choices, flag: "--session <id>" });
    const pid = sessions.find((one) => String(one.pid) === chosen)?.pid;
    await bind(cli, { agent, mode, ...(pid === undefined ? { session: chosen } : { pid }) });
  }
}

async function bind(cli: CliHost, wanted: Readonly<Record<string, unknown>>): Promise<void> {
  const bound = (await cli.request("POST", "/attach/bind", wanted)) as { agent: string; mode: string; session: string; movedFrom?: string };
  const moved = bound.movedFrom === undefined ? "" : ` Session ${bound.movedFrom} wore it until now.`;
  cli.print(`Session ${bound.session} wears ${bound.agent} (${bound.mode}).${moved}`, bound);
}

/** The daemon finds the session that this command descends from. */
const placed = (session: string | undefined) => (session === undefined ? { pid: process.pid } : { session });

const listed = async (cli: CliHost) => (await cli.request("GET", "/attach/sessions")) as readonly ShownSession[];

function lineOf({ session, pid, cwd, agent, mode, depth, wakeable }: ShownSession): string {
  const wears =
    agent === undefined
      ? "wears nothing"
      : `wears ${agent} (${mode}), ${depth} waiting${mode === "auto" && !wakeable ? ", handed over at the end of its turn" : ""}`;
  return `${session}  ${pid === undefined ? "" : `process ${pid}  `}${cwd}  ${wears}`;
}

async function setUp(project: boolean, remove: boolean, cli: CliHost): Promise<void> {
  const { install, uninstall } = await import("./install.js");
  const home = process.env.CLAUDE_CONFIG_DIR || join(homedir(), ".claude");
  const settings = project ? resolve(".claude", "settings.local.json") : join(home, "settings.json");
  const place = { dataFolder: cli.dataFolder, settings };
  if (remove) {
    const removed = await uninstall(place);
    return cli.print(removed ? `The hooks are out of ${settings}.` : `${settings} has no hooks of svc.`, { settings, removed });
  }
  const changed = await install(place);
  const next = [
    "A session that is open takes them up by itself. Then, in the session:  ! svc attach <agent>",
    "To take and answer messages by itself it needs the agent's tools:  claude mcp add svc -e SVC_CONFIG=<svc.json> -- svc mcp --agent <agent>",
  ];
  cli.print([changed ? `The hooks stand in ${settings}.` : `${settings} has them already.`, ...next].join("\n"), { settings, changed });
}
