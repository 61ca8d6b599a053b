import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InstalledPlugin, OfferedPlugin, PluginContext } from "@svc/sdk";
import { runsHere } from "./channel-setups.ts";

/** Questions of a channel's set-up. */
export interface ConnectForm {
  /** Description and prerequisites, from its README. */
  readonly explanation: string;
  /** Credentials: where each one stands in the section, and the variable that is proposed for it. */
  readonly secrets: readonly { readonly path: string; readonly variable: string }[];
  /** Where the agent that answers, and those who may write, are named. */
  readonly agent?: string;
  readonly allow?: string;
  /** Where the address of another server than the public one is set. */
  readonly server?: string;
  /** The channel has a set-up of its own: `page`, run here; `terminal`, on the command line. */
  readonly asks?: "page" | "terminal";
  /** Path of the dashboard at which it links a device, once it is switched on. */
  readonly pair?: string;
}

/** A channel that is set up, or could be. */
export interface ChannelView {
  readonly name: string;
  readonly section: string;
  readonly plugin: string;
  readonly product?: string;
  /** `off`: its section is missing or switched off. `failed`: its plugin cannot run. */
  readonly state: "ready" | "connecting" | "down" | "off" | "failed";
  readonly reason?: string;
  /** The names under which messages are sent through it. */
  readonly channels: readonly string[];
  /** Newest trace that came in through it, Unix ms. */
  readonly lastIn?: number;
  /** Where people who wrote for the first time are confirmed, while it runs. */
  readonly people?: string;
}

/** A channel of this release that is not installed, and is installed on the command line alone. */
export interface OfferedChannel extends Pick<OfferedPlugin, "package" | "product" | "summary" | "bytes" | "because"> {
  /** What `svc connect` takes. */
  readonly name: string;
}

/** As the key of its section, which may have signs that a plugin's name cannot have. */
const nameOf = ({ id, manifest }: InstalledPlugin): string => manifest?.section?.split(".").at(-1) ?? id.replace(/^channel-/, "");

/** All channels that are installed, with how they stand. */
export function channelViews(plugins: readonly InstalledPlugin[], traces: PluginContext["traces"]): Promise<readonly ChannelView[]> {
  return Promise.all(plugins.filter(({ manifest }) => manifest?.kind === "channel").map((plugin) => viewOf(plugin, traces)));
}

/** The channels that could be installed, by the name that people know them by. */
export const offeredChannels = (plugins: readonly OfferedPlugin[]): readonly OfferedChannel[] =>
  plugins
    .filter(({ kind }) => kind === "channel")
    .map(({ kind: _kind, name, section, ...shown }) => ({ name: section?.split(".").at(-1) ?? name, ...shown }))
    .sort((one, other) => (one.product ?? one.name).localeCompare(other.product ?? other.name));

/** The installed channel of that name. */
export const channelNamed = (plugins: readonly InstalledPlugin[], name: string): InstalledPlugin | undefined =>
  plugins.find((one) => one.manifest?.kind === "channel" && nameOf(one) === name);

async function viewOf(plugin: InstalledPlugin, traces: PluginContext["traces"]): Promise<ChannelView> {
  const { id, manifest, state, reason, channels } = plugin;
  const name = nameOf(plugin);
  const [first] = channels;
  const [last] = first === undefined ? [] : await traces.list({ channel: first.name, limit: 1 });
  const why = reason ?? first?.reason;
  return {
    name,
    section: manifest?.section ?? `channels.${name}`,
    plugin: id,
    ...(manifest?.product === undefined ? {} : { product: manifest.product }),
    state: ["failed", "quarantined"].includes(state) ? "failed" : state !== "running" ? "off" : (first?.state ?? "connecting"),
    ...(why === undefined ? {} : { reason: why }),
    channels: channels.map((channel) => channel.name),
    ...(manifest?.connect?.people === true && state === "running" ? { people: `/api/channels/${encodeURIComponent(name)}/people` } : {}),
    ...(last?.startedAt === undefined ? {} : { lastIn: timeOf(last.startedAt) }),
  };
}

const timeOf = (at: string | number): number => (typeof at === "number" ? at : Date.parse(at));

/** Usual keys of the answering agent, for channels whose manifest does not name one. */
const AGENT_KEYS: ReadonlySet<string> = new Set(["agentBinding", "defaultAgent", "agent"]);

/** Returns the questions for setting a channel up: read from its manifest, its sample and its README, so that a new channel needs no code here. */
export async function connectForm(plugin: InstalledPlugin): Promise<ConnectForm> {
  const { folder, manifest } = plugin;
  const sample = folder === undefined ? {} : sectionOf(await readJson(join(folder, "sample.json")), manifest?.section);
  const leaves = leavesOf(sample);
  const agent = manifest?.connect?.agent ?? leaves.find(([path]) => AGENT_KEYS.has(path.split(".").at(-1) ?? ""))?.[0];
  const allow = manifest?.connect?.allow ?? leaves.find(([path]) => path.split(".").at(-1) === "allowFrom")?.[0];
  return {
    explanation: folder === undefined ? "" : explanationIn(await readFile(join(folder, "README.md"), "utf8").catch(() => "")),
    secrets: leaves.flatMap(([path, value]) => {
      const variable = /^\$\{(\w+)\}$/.exec(String(value))?.[1];
      return variable === undefined ? [] : [{ path, variable }];
    }),
    ...(agent === undefined ? {} : { agent }),
    ...(allow === undefined ? {} : { allow }),
    ...(manifest?.connect?.server === undefined ? {} : { server: manifest.connect.server }),
    ...(manifest?.connect?.pair === true
      ? { pair: `/api/channels/${encodeURIComponent(nameOf(plugin))}/pair` }
      : manifest?.connect?.module === undefined
        ? {}
        : { asks: runsHere(plugin) ? "page" : "terminal" }),
  };
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return {};
  }
}

/** The section of a sample, which may hold it alone or below its path. */
function sectionOf(sample: unknown, section = ""): unknown {
  const below = section.split(".").reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), sample);
  return below ?? sample;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function leavesOf(value: unknown, path = ""): readonly (readonly [path: string, value: unknown])[] {
  if (!isRecord(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, path === "" ? key : `${path}.${key}`));
}

/** The paragraph below the title is the description, the first block after the sample the prerequisites. */
function explanationIn(readme: string): string {
  const [before = "", after = ""] = readme.split(/<!-- sample -->[\s\S]*?<!-- \/sample -->/);
  const what = before
    .replace(/^# .*$/m, "")
    .trim()
    .split(/\n\s*\n/)[0];
  return [what, after.trim().split(/\n\s*\n/)[0]].filter(Boolean).map(asText).join("\n\n");
}

/** Markdown as plain sentences: lines end where their maker meant them to, signs are gone. */
const asText = (block = ""): string =>
  block
    .replace(/\n(?!\s*(?:\d+\.|[-*]) )\s*/g, " ")
    .replace(/<(https?:[^>]+)>/g, "$1")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|`/g, "");
