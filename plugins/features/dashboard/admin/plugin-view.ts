import type { Agent, InstalledPlugin, SettingEdit } from "@svc/sdk";

/** A plugin as the page shows it: what it brings, costs and breaks, and the edits that switch it. */
export interface PluginView extends Omit<InstalledPlugin, "manifest" | "folder"> {
  readonly kind: string;
  readonly product?: string;
  readonly section?: string;
  /** Whether it would run at the next start. */
  readonly on: boolean;
  /** Why it cannot be switched here. */
  readonly fixed?: string;
  readonly switch?: { readonly on: readonly SettingEdit[]; readonly off: readonly SettingEdit[] };
  /** Other plugins whose services it uses, and that use its own. */
  readonly needs: readonly string[];
  readonly neededBy: readonly string[];
  /** Features that would break without it, one sentence each. */
  readonly breaks: readonly string[];
  /** Bytes of its own process. */
  readonly memory?: number;
}

/** Inputs of the views. */
export interface PluginFacts {
  readonly plugins: readonly InstalledPlugin[];
  readonly document: Readonly<Record<string, unknown>>;
  readonly agents: readonly Agent[];
  memoryOf(pid: number): number | undefined;
}

/** All plugins as the page shows them. */
export function pluginViews({ plugins, document, agents, memoryOf }: PluginFacts): readonly PluginView[] {
  const serving = new Map(plugins.flatMap(({ id, manifest }) => (manifest?.serves ?? []).map((name) => [name as string, id] as const)));
  const needsOf = ({ id, capabilities }: InstalledPlugin) =>
    [...new Set(capabilities.flatMap((name) => serving.get(name) ?? []))].filter((other) => other !== id);
  const runs = ({ state }: InstalledPlugin) => state === "running";
  return plugins.map((plugin) => {
    const { manifest, folder: _folder, ...shown } = plugin;
    const neededBy = plugins.filter((other) => runs(other) && needsOf(other).includes(plugin.id)).map(({ id }) => id);
    const memory = plugin.isolation?.pid === undefined ? undefined : memoryOf(plugin.isolation.pid);
    return {
      ...shown,
      kind: manifest?.kind ?? plugin.id.split("-")[0] ?? "",
      ...(manifest?.product === undefined ? {} : { product: manifest.product }),
      ...(manifest?.section === undefined ? {} : { section: manifest.section }),
      ...switchOf(plugin, document),
      needs: needsOf(plugin),
      neededBy,
      breaks: runs(plugin) ? breaksOf(plugin, agents, neededBy) : [],
      ...(memory === undefined ? {} : { memory }),
    };
  });
}

function switchOf({ id, state, manifest, source, provides }: InstalledPlugin, document: PluginFacts["document"]): Pick<PluginView, "on" | "fixed" | "switch"> {
  const on = !["known", "disabled"].includes(state);
  if (source === "inline") return { on, fixed: "It was handed over in code." };
  if (provides.some((what) => what.startsWith("store "))) return { on, fixed: "It keeps the state of the daemon." };
  const entries = (Array.isArray(document["plugins"]) ? document["plugins"] : []) as readonly string[];
  const off = entries.indexOf(`!${id}`);
  const lift: readonly SettingEdit[] = off === -1 ? [] : [{ path: ["plugins", off] }];
  if (manifest?.activate === "enabled" && manifest.section !== undefined) {
    const path = manifest.section.split(".");
    return { on, switch: { on: [...lift, { path: [...path, "enabled"], value: true }], off: [{ path: [...path, "enabled"], value: false }] } };
  }
  const bar: readonly SettingEdit[] =
    entries.length === 0 && document["plugins"] === undefined
      ? [{ path: ["plugins"], value: [`!${id}`] }]
      : [{ path: ["plugins", entries.length], value: `!${id}` }];
  if (off === -1 && !on) return { on, fixed: whenItRuns(manifest?.activate, manifest?.section) };
  return { on, switch: { on: lift, off: bar } };
}

function whenItRuns(activate: string | undefined, section: string | undefined): string {
  if (activate === "agent") return "It runs as soon as an agent uses it.";
  if (activate === "needed") return "It runs as soon as another plugin needs it.";
  return section === undefined ? "Nothing asks for it." : `It runs as soon as svc.json has the section ${section}.`;
}

function breaksOf({ id, provides, channels, manifest }: InstalledPlugin, agents: readonly Agent[], neededBy: readonly string[]): readonly string[] {
  const breaks: string[] = [];
  const tiers = provides.filter((what) => what.startsWith("tier ")).map((what) => what.slice("tier ".length));
  for (const tier of tiers) {
    const using = agents.filter((agent) => agent.tier === tier).map((agent) => agent.id);
    if (using.length > 0) breaks.push(`${count(using.length, "agent")} ${using.length === 1 ? "uses" : "use"} the tier ${tier}: ${listed(using)}.`);
  }
  for (const { name } of channels) breaks.push(`Nothing comes in or goes out on the channel ${name}.`);
  if (neededBy.length > 0) breaks.push(`${count(neededBy.length, "plugin")} ${neededBy.length === 1 ? "needs" : "need"} it: ${listed(neededBy)}.`);
  const routes = provides.filter((what) => what.startsWith("route ")).length;
  if (routes > 0) breaks.push(`${count(routes, "address")} of the HTTP API ${routes === 1 ? "is" : "are"} gone.`);
  if (provides.some((what) => what.startsWith("server dashboard")) || id === "feature-dashboard")
    breaks.push("This page is gone: switch it on again with svc plugin enable feature-dashboard.");
  if (provides.some((what) => what.startsWith("authority "))) breaks.push("The tokens that it judges let nobody in.");
  const commands = manifest?.commands ?? [];
  if (commands.length > 0) breaks.push(`svc has no ${listed(commands.map(({ name }) => name))} any more.`);
  return breaks;
}

const MOST_NAMED = 5;
const count = (number: number, noun: string): string => `${number} ${number === 1 ? noun : noun.endsWith("s") ? `${noun}es` : `${noun}s`}`;
const listed = (names: readonly string[]): string =>
  names.length <= MOST_NAMED ? names.join(", ") : `${names.slice(0, MOST_NAMED).join(", ")} and ${names.length - MOST_NAMED} more`;
