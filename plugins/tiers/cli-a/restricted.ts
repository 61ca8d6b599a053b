import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Agent, PluginContext, ProgramSettings } from "@svc/sdk";
import { openRelay, packageFilesOf, programSandbox, type Relay, relayLauncher, removeMountPoints, SYSTEM_PATH } from "@svc/sdk/engine";
import { type Restriction, toolsOf } from "./arguments.ts";
import { type Decision, decide, type GuardedCall, type GuardOptions, type Level } from "./guard.ts";
import { gitEnvironment } from "./guard-git.ts";
import { mayChange } from "./permission.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import type { Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { vendorAccess } from "./vendor.ts";

/*
 * One run of restricted autonomy: its boundary, the start of its program, the decision about each call, and the clean-up. Behind a wall the program
 * has a configuration folder of its own for each agent, since its writes there would otherwise influence the next unrestricted run.
 */

/** Start command of a program. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A run of restricted autonomy that is ready to start. */
export interface Restricted {
  readonly level: Level;
  readonly restriction: Restriction;
  start(program: string, args: readonly string[]): Start;
  decide(call: GuardedCall): Promise<Decision>;
  /** Is the guard asked about this tool? It is not about one that the program does not have in such a run. */
  asksAbout(tool: string): boolean;
  /** Call it when the program is gone. */
  end(): Promise<void>;
}

/** Any, in a network of its own. */
const PORT = 8008;
const SOCKET = "/run/svc-relay";

/** Number of runs that may write, by workspace: leftovers are removed with the last one. */
const writers = new Map<string, number>();

/** Prepares a restricted run. Throws `SVC_GUARD_PROGRAM` and `SVC_GUARD_WALL`. */
export async function restrict(
  ctx: PluginContext<Section>,
  sandboxes: SandboxLevels,
  run: {
    readonly agent: Agent;
    readonly settings: ProgramSettings;
    readonly autonomy: "report" | "propose";
    readonly program: string;
    readonly env: Readonly<Record<string, string>>;
    readonly switches: Switches;
  },
): Promise<Restricted> {
  const { agent, settings, autonomy, env, switches } = run;
  switches.requireRestricting();
  const workspace = realpathSync(agent.workspace);
  const writable = mayChange(settings.permissionMode, autonomy);
  const access = vendorAccess(settings, env, PORT);
  const level = await sandboxes.levelOf({ workspace, writable, version: switches.version, ...(typeof access === "string" ? { obstacle: access } : {}) });
  const walled = level.kind === "wall" && typeof access !== "string" ? { ...access, bubblewrap: level.bubblewrap } : undefined;
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "svc-guard-")));
  const folders = [...(ctx.config.guard?.folders ?? [])];
  const names =
    autonomy === "propose" && settings.permissionMode !== "plan" ? settings.servers.filter((name) => ctx.config.guard?.servers?.includes(name)) : [];
  const own = walled === undefined ? undefined : ownFolder(ctx, agent.id);
  const servers = names.length === 0 ? undefined : writeServers(own ?? scratch, settings, names);
  let relay: Relay | undefined;
  if (walled !== undefined) relay = await openRelay(join(scratch, "relay"), walled.vendor);
  const writing = walled !== undefined && writable;
  if (writing) enter(workspace);
  const options: GuardOptions = { autonomy, writable, level, workspace, folders, servers: names, searchPath: ctx.env("PATH") ?? "", scratch };
  return {
    level,
    restriction: { autonomy, writable, words: wordsFor(level, writable), ...(servers === undefined ? {} : { servers }) },
    start(program, args) {
      if (walled === undefined || relay === undefined || own === undefined) {
        const variables = Object.entries(gitEnvironment()).map(([name, value]) => `${name}=${value}`);
        return { command: "/usr/bin/env", args: [...variables, program, ...args], env: { ...env, SHELL: "/bin/bash" } };
      }
      const { script, files } = relayLauncher();
      const inside = {
        ...walled.env,
        ...gitEnvironment(),
        PATH: `${SYSTEM_PATH}:${dirname(process.execPath)}`,
        HOME: "/tmp",
        TMPDIR: "/tmp",
        SHELL: "/bin/bash",
        LANG: "C.UTF-8",
        TERM: "dumb",
      };
      const [command = "", ...around] = programSandbox(
        walled.bubblewrap,
        {
          workspace,
          writable,
          readable: folders,
          program: [...packageFilesOf(program), ...packageFilesOf(process.execPath), ...files],
          own: [own],
          socket: { outside: relay.socket, inside: SOCKET },
        },
        { ...inside, CLAUDE_CONFIG_DIR: own },
      );
      return { command, args: [...around, realpathSync(process.execPath), script, SOCKET, String(PORT), realpathSync(program), ...args], env: {} };
    },
    decide: (call) => decide(options, call),
    // A sub-agent's tool has two names.
    asksAbout: (tool) => [...toolsOf(writable), "Agent", "TaskOutput"].includes(tool) || tool.startsWith("mcp__"),
    async end() {
      await relay?.close();
      rmSync(scratch, { recursive: true, force: true });
      if (writing)
        for (const taken of leave(workspace))
          ctx.log.warn({ agent: agent.id, file: taken }, "a restricted run left a file that redirects git's settings; it was taken away");
    },
  };
}

/** The program's configuration folder for this agent's runs behind the wall. */
function ownFolder(ctx: PluginContext<Section>, agent: string): string {
  const folder = join(ctx.files.own.roots[0] as string, "engine", Buffer.from(agent).toString("base64url"));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return realpathSync(folder);
}

/** The operator's words about the servers, not the workspace's file, which the agent may have written. */
function writeServers(folder: string, { serverEntries }: ProgramSettings, names: readonly string[]): string {
  const file = join(folder, "servers.json");
  writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, serverEntries[name]])) }), { mode: 0o600 });
  return file;
}

function enter(workspace: string): void {
  const others = writers.get(workspace) ?? 0;
  // Leftovers of a crashed daemon would be taken for the workspace's own files.
  if (others === 0) removeMountPoints(workspace);
  writers.set(workspace, others + 1);
}

function leave(workspace: string): string[] {
  const others = (writers.get(workspace) ?? 1) - 1;
  if (others > 0) {
    writers.set(workspace, others);
    return [];
  }
  writers.delete(workspace);
  return removeMountPoints(workspace);
}

/** Returns hints for the model, so that it does not try calls that can only fail. */
function wordsFor(level: Level, writable: boolean): string {
  const may = writable
    ? "You may change files in the workspace and commit; you may not push, merge, deploy or change anything elsewhere."
    : "This run only reads: it changes nothing.";
  const shell =
    level.kind === "wall"
      ? "Each shell command runs by itself, from the workspace, without network; a change of folder does not last to the next one, and /tmp is its own."
      : "Each shell command runs by itself, from the workspace. Use plain commands, pipelines and lists: variables, substitutions, loops, redirections to files and unknown programs or options are refused.";
  return `${may} ${shell}`;
}
