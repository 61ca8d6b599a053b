import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { createBus } from "../bus/index.ts";
import { within } from "./call.ts";
import { createContext, type Services } from "./context.ts";
import { createScope, disposeScope, type Scope } from "./scope.ts";
import { checkPlugin, importPlugin, type Source } from "./source.ts";

/** What a plugin is, as seen by running its `setup` against a host that only records. */
export interface Observed {
  readonly id: string;
  readonly version: string;
  readonly section?: string;
  readonly agentKeys: readonly string[];
  readonly capabilities: readonly string[];
  /** Kinds of what it registered, sorted: `channel`, `hook inbound`, `route open`, `server` ... */
  readonly registers: readonly string[];
}

/** The kinds of what a scope holds: what an operator agrees to, and what later versions may not quietly add to. */
export function registersOf(scope: Scope): string[] {
  const kinds = new Set([
    ...scope.taps.map(({ hook }) => `hook ${hook}`),
    ...scope.channels.map(() => "channel"),
    ...scope.tiers.map(() => "tier"),
    ...scope.actions.map(() => "action"),
    ...scope.tools.map(() => "tool"),
    ...scope.authorities.map(() => "authority"),
    ...scope.routes.map(({ guard }) => `route ${guard}`),
    ...scope.servers.map(() => "server"),
    // What this machine may do there without a token.
    ...scope.servers.flatMap(({ localScopes = [] }) => localScopes.map((granted) => `server granting ${granted}`)),
  ]);
  return [...kinds].sort();
}

/**
 * Import a plugin and run its `setup` with a configuration from its `sample.json`, or with none. Nothing it asks for happens:
 * capabilities answer with nothing. Its own top-level code does run: do this in a process of its own, and that of an isolated plugin
 * runs in one more, as in the daemon. Throws what `setup` throws.
 */
export async function observe(source: Source, folder: string | undefined): Promise<Observed> {
  const plugin = source.isolated === true ? await apart(source) : await importPlugin(source);
  await checkPlugin(source, plugin);
  const scope = createScope(`${plugin.kind}-${plugin.name}`, () => {});
  try {
    await within(scope, () => plugin.setup(createContext(plugin, scope, sampleSection(plugin, folder), recordingServices())));
    return {
      id: scope.id,
      version: plugin.version,
      ...(plugin.config === undefined ? {} : { section: plugin.config.at }),
      agentKeys: Object.keys(plugin.agentConfig?.properties ?? {}),
      capabilities: [...plugin.capabilities].sort(),
      registers: registersOf(scope),
    };
  } finally {
    disposeScope(scope);
  }
}

async function apart(source: Source): Promise<Plugin<never>> {
  const { isolate } = await import("../isolation/isolate.ts");
  return (await isolate(source, { env: process.env, hidden: [] })).plugin;
}

function sampleSection(plugin: Plugin<never>, folder: string | undefined): unknown {
  const file = folder === undefined ? undefined : join(folder, "sample.json");
  if (file === undefined || plugin.config === undefined || !existsSync(file)) return {};
  return (
    plugin.config.at.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], JSON.parse(readFileSync(file, "utf8"))) ?? {}
  );
}

/** Answers every call and every property with itself, and every wait with nothing. */
const nothing: unknown = new Proxy(() => {}, {
  get: (_target, key) => (key === "then" ? undefined : key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? () => [].values() : nothing),
  apply: () => nothing,
});

function recordingServices(): Services {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const none = () => nothing as never;
  return {
    node: { id: "observed", name: "Observed" },
    env: {},
    bus: createBus({ node: "observed", ringSize: 1, onListenerError: () => {} }),
    tasks: nothing as never,
    agents: { get: () => undefined, list: () => [] },
    traces: nothing as never,
    actions: nothing as never,
    log: () => quiet,
    store: none,
    jobs: none,
    files: none,
    fetch: none,
    spawn: none,
    warm: none,
    media: none,
    models: none,
    render: none,
    ensure: async () => {},
    claim: () => {},
    server: none,
    channelState: () => {},
    failed: () => {},
  };
}
