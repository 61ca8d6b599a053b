import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pluginGroups } from "./catalog.ts";
import { createCli, plain } from "./cli.ts";
import { EXIT, exitCodeOf } from "./exit.ts";
import type { GroupEntry, OwnGroup } from "./group.ts";
import { GROUPS } from "./groups.ts";
import { groupCommand, outline } from "./program.ts";
import { explainFiles } from "./system-error.ts";

/** Run one command line and answer the exit code. Only the group that is called is imported. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  // A reader that has seen enough (`svc ... | head`) is no error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed));
  try {
    const at = argv.findIndex((word, index) => !word.startsWith("-") && argv[index - 1] !== "--config");
    const name = argv[at];
    const entry = name === undefined ? undefined : findGroup(name, argv, env);
    if (entry === undefined) {
      const program = outline(version(), [...GROUPS, ...groupsOfPlugins(argv, env)]);
      if (argv.length === 0) {
        program.outputHelp();
        return EXIT.usage;
      }
      await program.parseAsync([...argv], { from: "user" });
      return name === undefined ? EXIT.ok : EXIT.usage;
    }
    const group = (await entry.load()) as OwnGroup;
    const command = groupCommand(group, (options) => createCli(options, env, () => [...GROUPS, ...groupsOfPlugins(argv, env)]));
    command.name(`svc ${name}`);
    await command.parseAsync([...argv.slice(0, at), ...argv.slice(at + 1)], { from: "user" });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    return report(explainFiles(error), argv.includes("--json"));
  }
}

function findGroup(name: string, argv: readonly string[], env: NodeJS.ProcessEnv): GroupEntry | undefined {
  return GROUPS.find((group) => group.name === name) ?? groupsOfPlugins(argv, env).find((group) => group.name === name);
}

function groupsOfPlugins(argv: readonly string[], env: NodeJS.ProcessEnv) {
  const at = argv.indexOf("--config");
  const file = resolve((at === -1 ? undefined : argv[at + 1]) || env.SVC_CONFIG || "svc.json");
  return pluginGroups(file);
}

/** Errors go to standard error, with the next step in their words; under `--json` as JSON. */
function report(error: unknown, json: boolean): number {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  if (code === "commander.helpDisplayed" || code === "commander.version") return EXIT.ok;
  // commander has printed its own complaint already.
  if (code === "commander.help") return EXIT.usage;
  if (code?.startsWith("commander.")) return EXIT.usage;
  const text = plain(message ?? String(error));
  process.stderr.write(json ? `${JSON.stringify({ error: text, ...(code === undefined ? {} : { code }) })}\n` : `svc: ${text}\n`);
  return exitCodeOf(error);
}

const version = (): string => JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
