import { createRequire } from "node:module";
import type * as Commander from "commander";
import type { Cli, GlobalOptions } from "./cli.ts";
import type { CommandOption, GroupEntry, OwnCommand, OwnGroup } from "./group.ts";

// Required, not imported: looking for the names of its exports would take as long as running it.
const { Command, InvalidArgumentError, Option } = createRequire(import.meta.url)("commander") as typeof Commander;
type Command = Commander.Command;

/** Creates the interface that a command runs on. */
export type MakeCli = (options: GlobalOptions, command: OwnCommand) => Cli | Promise<Cli>;

/** Adds the common options, at each level so that they may stand anywhere. Under `--json` the caller reports errors. */
function common(command: Command, quiet: boolean, node = true): Command {
  if (quiet) command.configureOutput({ writeErr: () => {}, outputError: () => {} });
  if (node) command.option("--node <id>", "ask another daemon of the same store, with the token in SVC_TOKEN (see svc node list)");
  return command
    .option("--json", "print JSON")
    .option("--config <file>", "the configuration file (default: svc.json)")
    .showHelpAfterError("(--help lists what is possible)")
    .exitOverride();
}

/** The whole program's outline: names and summaries, nothing imported. */
export function outline(version: string, entries: readonly Pick<GroupEntry, "name" | "summary">[], quiet: boolean): Command {
  const program = common(new Command("svc"), quiet)
    .version(version, "-V, --version")
    .description("A daemon that hosts named AI agents.")
    .enablePositionalOptions();
  for (const { name, summary } of entries) program.addCommand(new Command(name).description(summary).allowUnknownOption());
  program.addHelpText("after", '\nStart here: svc init, svc daemon start, svc daemon send assistant "hello"');
  return program;
}

/** Builds the commands of one group, ready to parse. `run` gets the parsed line. */
export function groupCommand(group: OwnGroup, makeCli: MakeCli, quiet: boolean): Command {
  const [only] = group.commands;
  if (group.commands.length === 1 && only?.name === group.name) return fill(common(new Command(group.name), quiet), only, makeCli);
  const parent = common(new Command(group.name), quiet).description(group.summary);
  for (const command of group.commands) {
    // A command named like its group is the group's default: `svc schedule "every day at 9"`.
    const isDefault = command.name === group.name;
    parent.addCommand(fill(common(new Command(command.name), quiet, !ownsNode(command)), command, makeCli), { isDefault });
  }
  return parent;
}

/** `svc daemon deploy --node <path>` says something else by it. */
const ownsNode = ({ options = [] }: OwnCommand): boolean => options.some(({ flags }) => flags.startsWith("--node "));

function fill(command: Command, own: OwnCommand, makeCli: MakeCli): Command {
  const { args, summary, options = [], run } = own;
  command.description(summary);
  if (args !== "") command.arguments(args);
  for (const option of options) command.addOption(declare(option));
  return command.action(async () => {
    const given = command.optsWithGlobals() as GlobalOptions & Record<string, unknown>;
    const cli = await makeCli(ownsNode(own) ? { ...given, node: undefined } : given, own);
    const values = command.processedArgs.flat().filter((value): value is string => value !== undefined);
    await run(values, given, cli);
  });
}

/** Declares an option whose value is validated before the command runs. */
function declare({ flags, description, number, choices, required = false }: CommandOption): Commander.Option {
  const option = new Option(flags, description).makeOptionMandatory(required);
  if (choices !== undefined) option.choices(choices);
  return number === undefined ? option : option.argParser((given) => parseNumber(given, number));
}

function parseNumber(given: string, { least, most, whole = true }: NonNullable<CommandOption["number"]>): number {
  // Digits as people write them: `1e3` and `0x10` are slips.
  const value = /^-?\d+(?:\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isFinite(value) && value >= least && value <= (most ?? value) && (!whole || Number.isInteger(value))) return value;
  const range = most === undefined ? `from ${least} on` : `from ${least} to ${most}`;
  throw new InvalidArgumentError(`It must be a ${whole ? "whole number" : "number"} ${range}.`);
}
