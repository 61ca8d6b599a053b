import type { OwnCommand, OwnGroup } from "./group.ts";

/** A parsed command line. */
export interface Asked {
  readonly command: OwnCommand;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Parses a line of the group's command, its arguments and one-word switches (`svc agent list --json`). Returns undefined for anything else, such as
 * an option with a value, a request for help or a mistake: the full parser handles that, and takes as long to load as everything else a built-in
 * command loads.
 */
export function simpleLine(group: OwnGroup, words: readonly string[]): Asked | undefined {
  const [only] = group.commands;
  const isGroup = group.commands.length === 1 && only?.name === group.name;
  const command = isGroup ? only : group.commands.find(({ name }) => name === words[0]);
  if (command === undefined) return undefined;
  const expected = command.args === "" ? [] : command.args.split(" ");
  const flags = (command.options ?? []).map((option) => option.flags);
  if (expected.some((name) => !/^<[^<>.]+>$/.test(name)) || command.options?.some(({ required }) => required)) return undefined;

  const options: Record<string, unknown> = {};
  for (const flag of flags) if (flag.startsWith("--no-")) options[flag.slice("--no-".length)] = true;
  const args: string[] = [];
  for (const word of isGroup ? words : words.slice(1)) {
    if (!word.startsWith("-")) args.push(word);
    else if (/^--[a-z]+$/.test(word) && (word === "--json" || flags.includes(word))) options[word.slice("--".length)] = true;
    else return undefined;
  }
  return args.length === expected.length ? { command, args, options } : undefined;
}
