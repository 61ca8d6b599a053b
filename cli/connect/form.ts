import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ChannelSetup, Manifest } from "@svc/sdk";
import { added, calledAs, firstParty, type Listed } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { offlineCode } from "../kernel-code.ts";
import { sampleSection } from "../plugin/sample.ts";

/** A setting that holds a credential. */
export interface SecretField {
  /** Its place in the channel's section. */
  readonly path: readonly string[];
  /** The variable that its sample refers to. */
  readonly variable: string;
}

/** Questions for setting up a channel. Read from the plugin's own sample and README, so that a new channel needs no code here. */
export interface Form {
  readonly channel: string;
  /** The plugin's id. */
  readonly plugin: string;
  /** Where its section is: `channels.botmsg`. */
  readonly section: string;
  /** Description and prerequisites, from its README; empty if that has none. */
  readonly explanation: string;
  /** The account in the channel's sample, if the channel has accounts. */
  readonly account?: string;
  readonly secrets: readonly SecretField[];
  /** Where the agent that answers is named, where one is. */
  readonly agent?: readonly string[];
  /** Path of the list of allowed senders, if there is one. */
  readonly allow?: readonly string[];
  /** Where the address of another server than the public one is set, where one can be. */
  readonly server?: readonly string[];
  /** Product name of the platform. */
  readonly product?: string;
  /** The channel's own set-up, in place of the questions common to all channels. */
  readonly setup?: () => Promise<ChannelSetup>;
}

/** The form of an installed channel. Throws `SVC_CLI_MISSING` naming those there are. */
export function formOf(cli: Cli, channel: string): Form {
  const channels = [...firstParty(), ...added(cli.file)].filter(({ manifest }) => manifest.kind === "channel");
  const listed = channels.find(({ manifest }) => calledAs(manifest) === channel);
  if (listed === undefined) {
    const names = channels
      .map(({ manifest }) => (manifest.product === undefined ? calledAs(manifest) : `${calledAs(manifest)} (${manifest.product})`))
      .join(", ");
    throw fail("SVC_CLI_MISSING", { what: `installed channel ${channel}`, next: `these: ${names}; others are installed with: svc plugin add` });
  }
  const { folder, manifest } = listed;
  const sample = (sampleSection(folder, { svc: manifest }) ?? {}) as Record<string, unknown>;
  const [account] = Object.keys((sample.accounts ?? {}) as object);
  const leaves = leavesOf(sample);
  const { connect } = manifest;
  const agent = connect?.agent?.split(".") ?? leaves.find(({ path }) => AGENT_KEYS.has(path.at(-1) ?? ""))?.path;
  const server = connect?.server?.split(".");
  const listedAt = connect?.allow?.split(".") ?? leaves.find(({ path }) => path.at(-1) === "allowFrom")?.path;
  // The allow list of one account does not extend to the others.
  const allow = listedAt === undefined || account === undefined ? listedAt : ["accounts", account, "allowFrom"];
  return {
    channel: keyOf(manifest),
    plugin: `channel-${manifest.name}`,
    section: manifest.section ?? `channels.${manifest.name}`,
    explanation: explanationOf(folder),
    secrets: leaves.flatMap(({ path, value }) => {
      const variable = /^\$\{(\w+)\}$/.exec(String(value))?.[1];
      return variable === undefined ? [] : [{ path, variable }];
    }),
    ...(account === undefined ? {} : { account }),
    ...(agent === undefined ? {} : { agent }),
    ...(allow === undefined ? {} : { allow }),
    ...(server === undefined ? {} : { server }),
    ...(manifest.product === undefined ? {} : { product: manifest.product }),
    ...(connect?.module === undefined ? {} : { setup: () => setupOf(cli, listed, connect.module as string) }),
  };
}

/** Returns the channel's name: the key of its section, which may contain characters that a plugin's name cannot. */
const keyOf = ({ name, section }: Manifest): string => section?.split(".").at(-1) ?? name;

/** Imports its own set-up; that of an installed plugin only while it matches its pin. */
async function setupOf(cli: Cli, { folder, name, path }: Listed, module: string): Promise<ChannelSetup> {
  if (name === undefined && path === undefined) return (await import(pathToFileURL(join(folder, module)).href)).default as ChannelSetup;
  const { importFile, readManifest, readPins, requirePinned } = offlineCode();
  if (name !== undefined) await requirePinned(name, folder, await readPins(cli.dataFolder));
  // Refuses a module that lies outside of its package.
  readManifest(folder, "package");
  return (await importFile(join(folder, module))).default as ChannelSetup;
}

/** Usual keys of the answering agent, for channels whose manifest does not name one. */
const AGENT_KEYS: ReadonlySet<string> = new Set(["agentBinding", "defaultAgent", "agent"]);

interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

function leavesOf(value: unknown, path: readonly string[] = []): Leaf[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

/** The paragraph below the title is the description, the first block after the sample the prerequisites. */
function explanationOf(folder: string): string {
  const file = join(folder, "README.md");
  if (!existsSync(file)) return "";
  const [before = "", after = ""] = readFileSync(file, "utf8").split(/<!-- sample -->[\s\S]*?<!-- \/sample -->/);
  const what = before
    .replace(/^# .*$/m, "")
    .trim()
    .split(/\n\s*\n/)[0];
  const needs = after.trim().split(/\n\s*\n/)[0];
  return [what, needs].filter(Boolean).join("\n\n");
}
