import { readFileSync } from "node:fs";
import { added, calledAs, firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import type { GroupEntry, OwnCommand, OwnGroup } from "../group.ts";
import { offlineCode } from "../kernel-code.ts";
import { SCRIPTS } from "./scripts.ts";

/** A shell inserts words into the line unchanged: exclude words with special characters. */
const PLAIN = /^[\p{L}\p{N}_.:@/+=,-]+$/u;
const COMMON = ["--json", "--config", "--node", "--help"];

/** Returns the completions of the last word. Never throws: a failing completion is empty. */
export async function completeWords(words: readonly string[], cli: Cli): Promise<readonly string[]> {
  const typed = words.at(-1) ?? "";
  const candidates = await candidatesFor(words.slice(0, -1), typed, cli).catch(() => []);
  return [...new Set(candidates)].filter((word) => word.startsWith(typed) && PLAIN.test(word)).sort();
}

async function candidatesFor(before: readonly string[], typed: string, cli: Cli): Promise<readonly string[]> {
  const entries = cli.groups();
  const groupAt = firstPlain(before, ["--config", "--node"]);
  const group = await loadGroup(entries, before[groupAt]);
  if (group === undefined) return groupAt === -1 ? [...entries.map(({ name }) => name), ...COMMON] : [];
  const flat = group.commands.length === 1 && group.commands[0]?.name === group.name;
  const rest = before.slice(groupAt + 1);
  const commandAt = flat ? -1 : firstPlain(rest, ["--config", "--node"]);
  if (!flat && commandAt === -1) return typed.startsWith("-") ? COMMON : group.commands.map(({ name }) => name).filter((name) => name !== group.name);
  const command = flat ? group.commands[0] : group.commands.find(({ name }) => name === rest[commandAt]);
  if (command === undefined) return [];
  return ofCommand(group, command, rest.slice(commandAt + 1), typed, cli);
}

/** Values of the option before, options, or the argument whose turn it is. */
async function ofCommand(group: OwnGroup, command: OwnCommand, given: readonly string[], typed: string, cli: Cli): Promise<readonly string[]> {
  const options = (command.options ?? []).map(({ flags }) => ({
    names: flags.split(/[ ,]+/).filter((part) => part.startsWith("-")),
    value: /<([\w-]+)/.exec(flags)?.[1],
  }));
  const withValue = (word: string | undefined) => options.find(({ names, value }) => value !== undefined && names.includes(word ?? ""));
  const option = withValue(given.at(-1));
  if (option?.value !== undefined)
    return values(option.names.includes("--agent") ? "agent" : option.names.includes("--channel") ? "channel" : option.value, group, cli);
  if (typed.startsWith("-")) return [...options.flatMap(({ names }) => names), ...COMMON];
  const plain = given.filter(
    (word, at) => !word.startsWith("-") && withValue(given[at - 1]) === undefined && !["--config", "--node"].includes(given[at - 1] ?? ""),
  );
  const names = command.args.split(" ").map((part) => part.replace(/[<>[\]]/g, ""));
  const name = names[plain.length] ?? (names.at(-1)?.endsWith("...") ? names.at(-1) : undefined);
  return name === undefined ? [] : values(name.replace("...", ""), group, cli, typed);
}

/** The known values of an argument, by its name and its group. */
async function values(name: string, group: Pick<OwnGroup, "name">, cli: Cli, typed = ""): Promise<readonly string[]> {
  const kind = name === "id" || name === "name" ? group.name : name;
  switch (kind) {
    case "agent":
      return Object.keys(configured(cli).agents ?? {});
    case "channel":
      return group.name === "connect" ? known(cli, "channel") : Object.keys(configured(cli).channels ?? {});
    case "plugin":
      return [...firstParty(), ...added(cli.file)].map(({ manifest }) => `${manifest.kind}-${manifest.name}`);
    case "tier":
      return known(cli, "tier");
    case "kind":
      return ["channel", "tier", "action", "feature"];
    case "shell":
      return Object.keys(SCRIPTS);
    case "path":
      return group.name === "config" ? settings(typed, cli) : [];
    default:
      return [];
  }
}

const known = (cli: Cli, kind: string): string[] =>
  [...firstParty(), ...added(cli.file)].flatMap(({ manifest }) => (manifest.kind === kind ? [kind === "channel" ? calledAs(manifest) : manifest.name] : []));

function configured(cli: Cli): { readonly agents?: object; readonly channels?: object } {
  return JSON.parse(readFileSync(cli.file, "utf8"));
}

/** One level at a time: the settings below the last dot typed. */
async function settings(typed: string, cli: Cli): Promise<readonly string[]> {
  const { configurationSchema, describeSetting } = offlineCode();
  const root = await configurationSchema({
    file: cli.file,
    dataFolder: cli.dataFolder,
    known: firstParty().map(({ folder }) => folder),
    env: process.env,
  });
  const above = typed.includes(".") ? typed.slice(0, typed.lastIndexOf(".")) : "";
  const { setting } = describeSetting(root, above);
  const named = above === "agents" || above === "channels" ? Object.keys(configured(cli)[above] ?? {}) : [];
  return [...(setting?.keys ?? []).map(({ key }) => key), ...named].map((key) => (above === "" ? key : `${above}.${key}`));
}

const loadGroup = async (entries: readonly GroupEntry[], name: string | undefined): Promise<OwnGroup | undefined> =>
  (await entries.find((entry) => entry.name === name)?.load()) as OwnGroup | undefined;

/** The index of the first word that is neither an option nor the value of one of `valued`. */
const firstPlain = (words: readonly string[], valued: readonly string[]): number =>
  words.findIndex((word, at) => !word.startsWith("-") && !valued.includes(words[at - 1] ?? ""));
