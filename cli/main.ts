import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pluginGroups } from "./catalog.ts";
import { createCli, type GlobalOptions, plain } from "./cli.ts";
import { fail } from "./errors.ts";
import { EXIT, exitCodeOf } from "./exit.ts";
import type { GroupEntry, OwnCommand, OwnGroup } from "./group.ts";
import { GROUPS } from "./groups.ts";
import { simpleLine } from "./simple-line.ts";

/** Run one command line and answer the exit code. Only the group that is called is imported. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  // A closed pipe (`svc ... | head`) is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed));
  // Words beside the work: where nobody reads them, or a full disk takes none, the work is done all the same, and the exit code tells.
  if (process.stderr.listenerCount("error") === 0) process.stderr.on("error", () => {});
  const json = argv.includes("--json");
  // No process that this one starts has use for it.
  const { SVC_TOKEN: token } = env;
  delete env.SVC_TOKEN;
  let entry: GroupEntry | undefined;
  try {
    const line = helpLast(argv);
    const at = commandAt(line);
    const name = line[at];
    entry = name === undefined ? undefined : findGroup(name, line, env);
    if (entry === undefined) {
      const { outline } = await import("./program.js");
      const program = outline(version(), [...GROUPS, ...groupsOfPlugins(line, env)], json);
      if (line.length === 0) {
        program.outputHelp();
        return EXIT.usage;
      }
      const missing = name === undefined ? undefined : (await import("./plugin/on-demand.js")).whyNoGroup(name);
      if (missing !== undefined) throw fail("SVC_CLI_USAGE", { reason: `${missing}.` });
      // A command that is unknown is unknown to --help, too.
      await program.parseAsync(name === undefined ? [...line] : [name], { from: "user" });
      return name === undefined ? EXIT.ok : EXIT.usage;
    }
    const group = (await entry.load()) as OwnGroup;
    const makeCli = (options: GlobalOptions) => createCli(options, env, () => [...GROUPS, ...groupsOfPlugins(line, env)]);
    const makeCliAt = async (options: GlobalOptions, command: OwnCommand) => {
      const cli = makeCli(options);
      if (options.node === undefined) return cli;
      const kind = entry?.plugin !== undefined ? "watched" : command.anywhere === true ? "anywhere" : "refused";
      const { atNode } = await import("./other-node.js");
      return atNode(cli, options.node, { command: command.name === name ? name : `${name} ${command.name}`, kind, token });
    };
    const rest = [...line.slice(0, at), ...line.slice(at + 1)];
    const simple = simpleLine(group, rest);
    if (simple !== undefined) {
      await simple.command.run(simple.args, simple.options, makeCli(simple.options));
      return Number(process.exitCode ?? EXIT.ok);
    }
    const { groupCommand } = await import("./program.js");
    const command = groupCommand(group, makeCliAt, json);
    command.name(`svc ${name}`);
    const unknown = command.commands.length > 0 && rest.some(isHelp) ? rest[commandAt(rest)] : undefined;
    const isNone = unknown !== undefined && unknown !== "help" && !command.commands.some((one) => one.name() === unknown || one.name() === group.name);
    await command.parseAsync(isNone ? [unknown] : rest, { from: "user" });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    const { explainFiles } = await import("./system-error.js");
    return report(explainFiles(ofPlugin(error, entry)), json);
  }
}

/** Returns the index of the command's name. */
const commandAt = (line: readonly string[]): number =>
  line.findIndex((word, index) => !word.startsWith("-") && !["--config", "--node"].includes(line[index - 1] ?? ""));

const isHelp = (word: string): boolean => word === "--help" || word === "-h";

/** `svc help daemon` as `svc daemon --help`, `svc help` as `svc --help`. */
function helpLast(argv: readonly string[]): readonly string[] {
  const at = commandAt(argv);
  return argv[at] === "help" ? [...argv.slice(0, at), ...argv.slice(at + 1), "--help"] : argv;
}

function findGroup(name: string, argv: readonly string[], env: NodeJS.ProcessEnv): GroupEntry | undefined {
  return GROUPS.find((group) => group.name === name) ?? groupsOfPlugins(argv, env).find((group) => group.name === name);
}

/** Explains that the daemon lacks the route: it does not run the plugin of this command. */
function ofPlugin(error: unknown, entry: GroupEntry | undefined): unknown {
  if (entry?.plugin === undefined || (error as { code?: unknown } | undefined)?.code !== "SVC_HTTP_NOT_FOUND") return error;
  return fail("SVC_CLI_NO_PLUGIN", { group: entry.name, plugin: entry.plugin.id, loaded: entry.plugin.loaded });
}

function groupsOfPlugins(argv: readonly string[], env: NodeJS.ProcessEnv) {
  const at = argv.indexOf("--config");
  const file = resolve((at === -1 ? undefined : argv[at + 1]) || env.SVC_CONFIG || "svc.json");
  return pluginGroups(file);
}

/** Errors go to standard error, with the next step in their words; under `--json` as JSON. */
function report(error: unknown, json: boolean): number {
  const { code, message, exitCode } = (error ?? {}) as { code?: string; message?: string; exitCode?: number };
  if (code?.startsWith("commander.")) return exitCode === EXIT.ok ? EXIT.ok : reportUsage(code, message ?? "", json);
  const text = plain(message ?? String(error));
  process.stderr.write(json ? `${JSON.stringify({ error: text, ...(code === undefined ? {} : { code }) })}\n` : `svc: ${text}\n`);
  return exitCodeOf(error);
}

/** Reports commander's errors: it has printed them already, except under `--json`. */
function reportUsage(code: string, message: string, json: boolean): number {
  const error = code === "commander.help" ? "A command is missing; --help lists what is possible." : message.replace(/^error: /, "");
  if (json) process.stderr.write(`${JSON.stringify({ error, code: "SVC_CLI_USAGE" })}\n`);
  return EXIT.usage;
}

const version = (): string => JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
