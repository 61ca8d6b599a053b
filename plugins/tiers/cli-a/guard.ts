import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { type Bubblewrap, commandSandbox, type Fields, SYSTEM_PATH, shellQuoted, textOf } from "@svc/sdk/engine";
import { hopeless } from "./guard-early.ts";
import { gitEnvironment } from "./guard-git.ts";
import { judgeShell, REAL_REPOSITORY } from "./guard-narrow.ts";
import { follow, refuseWrite } from "./guard-path.ts";
import { hasNested, makeShadow } from "./guard-shadow.ts";

/*
 * Policy of a restricted run (001:L164). Called before each tool call; it may rewrite the call, and the rewritten one runs.
 *
 *   shell   wall     the text as it is, as one argument of bash, behind the command wall (sdk/engine/wall.ts)
 *           narrow   the text read, judged and printed anew (guard-narrow.ts), for bash without any of its files
 *   files   reading in the workspace and `guard.folders`; a proposal writes in the workspace
 *   others  by the lists below: any other tool is refused
 */

/** Boundary of the shell: the kernel, or the analysis of its commands. */
export type Level = { readonly kind: "wall"; readonly bubblewrap: Bubblewrap } | { readonly kind: "narrow"; readonly reason: string };

/** Options of a guard. Paths are absolute. */
export interface GuardOptions {
  readonly autonomy: "report" | "propose";
  /** Files may be changed: a proposal of an agent whose permission mode takes edits. */
  readonly writable: boolean;
  readonly level: Level;
  readonly workspace: string;
  /** Folders beside the workspace that may be read. */
  readonly folders: readonly string[];
  /** Tool servers that the run was given. */
  readonly servers: readonly string[];
  /** Where the daemon finds programs. */
  readonly searchPath: string;
  /** A private folder for what a command needs; it goes with the run. */
  readonly scratch: string;
}

/** A tool call before it runs. */
export interface GuardedCall {
  readonly tool: string;
  readonly input: Fields;
}

/** May the call run, and if not, why. */
export interface Decision {
  readonly allow: boolean;
  /** Why not, for the model and the guard log. Empty when allowed. */
  readonly reason: string;
  /** Replacement for the call's input. */
  readonly input?: Fields;
}

/** Their own calls are asked about one by one, and the others touch nothing. */
const HARMLESS = new Set([
  "Task",
  "Agent",
  "TaskStop",
  "TaskOutput",
  "BashOutput",
  "KillShell",
  "KillBash",
  "TodoRead",
  "TodoWrite",
  "ToolSearch",
  "ExitPlanMode",
]);
const READING: Readonly<Record<string, string>> = { Read: "file_path", NotebookRead: "notebook_path", Glob: "path", Grep: "path", LS: "path" };
const WRITING: Readonly<Record<string, string>> = { Write: "file_path", Edit: "file_path", MultiEdit: "file_path", NotebookEdit: "notebook_path" };
const SHELLS = new Set(["Bash", "Monitor"]);
/** Fields of a shell call's input that are passed on beside its command. None of them decides where or how the command runs. */
const SHELL_INPUT = ["description", "timeout", "timeout_ms", "run_in_background", "persistent"];
const HARMFUL_WORDS =
  /(^|[_-])(merge|delete|remove|destroy|drop|deploy|publish|release|rollback|restart|reboot|shutdown|approve|transfer|archive|revoke|push|force)([_-]|$)/i;
/** Of the system what engines read. */
const SYSTEM = /^\/(usr|bin|lib|lib64|etc\/(os-release|debian_version|passwd|group|hosts))(\/|$)/;
const LONGEST = 100_000;

/** May a run make this call, and as what? Throws nothing: what cannot be judged is refused. */
export async function decide(options: GuardOptions, call: GuardedCall): Promise<Decision> {
  try {
    const input = judge(options, call);
    return { allow: true, reason: "", ...(input === undefined ? {} : { input }) };
  } catch (error) {
    const limits = options.autonomy === "propose" && !options.writable ? " (the agent's permissionMode takes no edits)" : "";
    return { allow: false, reason: `autonomy '${options.autonomy}'${limits} does not allow ${call.tool.slice(0, 100)}: ${(error as Error).message}` };
  }
}

/** The rewritten input, where there is one. Throws the reason against it. */
function judge(options: GuardOptions, { tool, input }: GuardedCall): Fields | undefined {
  if (HARMLESS.has(tool)) return undefined;
  if (Object.hasOwn(READING, tool)) return requireReadable(options, textOf(input[READING[tool] as string]) ?? options.workspace);
  if (SHELLS.has(tool)) return { ...passed(input), command: shell(options, input) };
  if (Object.hasOwn(WRITING, tool)) {
    if (!options.writable) throw new Error("it changes files");
    const reason = refuseWrite(textOf(input[WRITING[tool] as string]) ?? "", options.workspace);
    if (reason !== undefined) throw new Error(reason);
    return undefined;
  }
  const server = options.autonomy === "propose" && options.servers.some((name) => tool.startsWith(`mcp__${name}__`));
  if (!server) throw new Error("it is not among the tools of such a run");
  if (HARMFUL_WORDS.test(tool.replace(/([a-z])([A-Z])/g, "$1_$2"))) throw new Error("its name says that it goes further than a proposal");
  return undefined;
}

const passed = (input: Fields): Fields => Object.fromEntries(SHELL_INPUT.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]));

/** The command line that runs in the place of the call's. */
function shell(options: GuardOptions, input: Fields): string {
  const text = textOf(input.command) ?? "";
  if (text.trim() === "") throw new Error("there is no command");
  if (text.includes("\0") || text.length > LONGEST || !text.isWellFormed()) throw new Error("the command cannot be passed on");
  const { level, workspace, writable, folders, searchPath, scratch } = options;
  const home = realpathSync(workspace);
  const environment = { LANG: "C.UTF-8", TERM: "dumb", ...gitEnvironment() };
  if (level.kind === "wall") {
    const reason = hopeless(text, writable);
    if (reason !== undefined) throw new Error(reason);
    // A tool chain that the operator names is found by its programs' names.
    const PATH = [SYSTEM_PATH, ...folders.map((folder) => join(folder, "bin"))].join(":");
    return shellQuoted(commandSandbox(level.bubblewrap, { workspace: home, writable, readable: folders }, { ...environment, PATH }, text));
  }
  if (writable && input.run_in_background === true) throw new Error("in the background, where there is no wall");
  const judged = judgeShell(text, { workspace: home, folders: folders.map(realPath), searchPath, proposing: writable });
  const shadow = judged.git ? makeShadow(home, join(scratch, randomUUID()), folders.map(realPath), writable) : undefined;
  if (shadow !== undefined && judged.commits && hasNested(shadow)) {
    throw new Error("git would look into the repositories within this one, whose settings run programs; a person adds and commits here");
  }
  const git = shadow === undefined ? { GIT_DIR: join(scratch, "none") } : { ...shadow.env, [REAL_REPOSITORY]: shadow.real };
  const variables = Object.entries({ PATH: pathFor(searchPath, home), HOME: "/nonexistent", ...environment, ...git }).map(
    ([name, value]) => `${name}=${value}`,
  );
  return shellQuoted(["/usr/bin/env", "-i", ...variables, "/bin/bash", "--noprofile", "--norc", "-c", judged.text]);
}

/** The daemon's folders of programs, but none in the workspace. */
function pathFor(searchPath: string, workspace: string): string {
  const folders = searchPath.split(":").filter((folder) => folder.startsWith("/") && !`${realPath(folder)}/`.startsWith(`${workspace}/`));
  return [...new Set([...folders, ...SYSTEM_PATH.split(":")])].join(":");
}

/** Files that the engine's own tools may read. Links are followed first. */
function requireReadable({ workspace, folders }: GuardOptions, path: string): undefined {
  const real = follow(path, workspace);
  const roots = [workspace, ...folders].map(realPath);
  // Where the program keeps what its background commands print, for this workspace.
  const printed = new RegExp(`^(/private)?/tmp/claude-\\d+/${realPath(workspace).replaceAll(/[^A-Za-z0-9]/g, "-")}/`);
  if (/(^|\/)(\.svc|svc\.json)(\/|$)/.test(real)) throw new Error(`${path.slice(0, 200)} is the daemon's own`);
  if (SYSTEM.test(real) || printed.test(real) || roots.some((root) => real === root || real.startsWith(`${root}/`))) return undefined;
  throw new Error(`${path.slice(0, 200)} is outside the workspace; tiers.cli-a.guard.folders names further folders that may be read`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
