import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { type CapabilitySources, emptySection, guardedFiles, sourceOf } from "@svc/sdk/host";
import { fail } from "../base/errors.ts";
import { schemaTrouble } from "../base/schema/schema-check.ts";
import { createBus } from "../core/bus/index.ts";
import { inScope } from "../core/host/call.ts";
import type { PluginScope } from "../core/host/capabilities.ts";
import { type ContextDeps, createContext } from "../core/host/context.ts";
import { declaredJobs } from "../core/host/plugin-jobs.ts";
import { registersOf, thingsOf } from "../core/host/registered.ts";
import { createScope, disposeScope } from "../core/host/scope.ts";
import { scopedEvents } from "../core/host/scoped-events.ts";
import { requireActionSchemas } from "../sources/action-schemas.ts";
import { checkPlugin, importPlugin, requireBuilt } from "../sources/code.ts";
import { describeFailure, type FailedPhase } from "../sources/failure-place.ts";
import { lifecycleOf } from "../sources/plugin-lifecycle.ts";
import type { Source } from "../sources/source.ts";

/** Description of a plugin, observed by running its `setup` against a host that only records. */
export interface Observed {
  readonly id: string;
  readonly version: string;
  /** The version that its code names, where that is another one. */
  readonly codeVersion?: string;
  readonly section?: string;
  readonly agentKeys: readonly string[];
  readonly capabilities: readonly string[];
  /** Kinds of its registrations, sorted: `channel`, `hook inbound`, `route open`, `server` ... */
  readonly registers: readonly string[];
  /** Each thing that it registered by its name, sorted: `route GET /acme open`, `cron nightly 0 3 * * *`. */
  readonly things: readonly string[];
}

/**
 * Imports a plugin and runs its `setup` with a configuration from its `sample.json`, or with none. Its calls have no effect: capabilities return
 * empty answers. Its own top-level code does run: `observeApart` puts walls around it. Throws its errors, with the phase and the place.
 */
export async function observe(source: Source): Promise<Observed> {
  requireBuilt(source);
  const plugin = await inPhase("import", source, () => importPlugin(source));
  await checkPlugin(source, plugin);
  requireSchemas(plugin, source.id);
  const scope = createScope(`${plugin.kind}-${plugin.name}`, () => {}, undefined, undefined, source.manifest, source.folder);
  try {
    await inPhase("setup", source, async () =>
      lifecycleOf(scope.id, await inScope(scope, () => plugin.setup(createContext(plugin, scope, sampleSection(plugin, source.folder), recordingContexts())))),
    );
    requireActionSchemas(scope.id, scope.things.action);
    return {
      id: scope.id,
      version: source.version ?? plugin.version,
      ...(source.version === undefined || source.version === plugin.version ? {} : { codeVersion: plugin.version }),
      ...(plugin.config === undefined ? {} : { section: plugin.config.at }),
      agentKeys: Object.keys(plugin.agentConfig?.properties ?? {}),
      capabilities: [...plugin.capabilities].sort(),
      registers: registersOf(scope),
      things: thingsOf(scope),
    };
  } finally {
    disposeScope(scope);
  }
}

/** Describes an error of a phase as the daemon does: with the phase and the place. */
async function inPhase<T>(phase: FailedPhase, source: Source, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(describeFailure(error, phase, source), { cause: error });
  }
}

/** Report an unusable schema here, not only when an operator sets the section. */
function requireSchemas({ config, agentConfig }: Plugin<never>, plugin: string): void {
  for (const [at, schema] of [
    [config?.at, config?.schema],
    ["agents.<id>", agentConfig],
  ] as const) {
    const reason = schema === undefined ? undefined : schemaTrouble(schema);
    if (reason !== undefined) throw fail("SVC_PLUGIN_SECTION", { plugin, section: at, reason: `its schema is not usable (${reason})` });
  }
}

function sampleSection(plugin: Plugin<never>, folder: string | undefined): unknown {
  const file = folder === undefined ? undefined : join(folder, "sample.json");
  const none = emptySection(plugin.config?.schema);
  if (file === undefined || plugin.config === undefined || !existsSync(file)) return none;
  const steps = plugin.config.at.split(".");
  const sample = steps.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], JSON.parse(readFileSync(file, "utf8")));
  return filled(sample, none);
}

/** With the defaults of the schema where the sample says nothing: a daemon gives a plugin no section without them. */
function filled(sample: unknown, defaults: unknown): unknown {
  if (!isRecord(sample) || !isRecord(defaults)) return sample ?? defaults;
  return { ...defaults, ...Object.fromEntries(Object.entries(sample).map(([key, value]) => [key, filled(value, defaults[key])])) };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Answers every call and every property with itself, and every wait with nothing. */
const nothing: unknown = new Proxy(() => {}, {
  get: (_target, key) => (key === "then" ? undefined : key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? () => [].values() : nothing),
  apply: () => nothing,
});

/** Creates contexts whose capabilities have no effect, except for registrations. */
function recordingContexts(): ContextDeps {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const idle = () => {};
  const bus = createBus({ node: "observed", ringSize: 1, onListenerError: () => {} });
  const recorded = ({ scope, need }: PluginScope): CapabilitySources => ({
    agents: () => ({ get: () => undefined, list: () => [] }),
    events: () => scopedEvents(scope, bus, () => {}, need),
    jobs: () => declaredJobs(scope, { cron: () => idle, after: () => idle, at: () => idle, every: () => idle, next: async () => [], missed: async () => [] }),
    files: () => guardedFiles(nothing as never, need),
  });
  return {
    node: { id: "observed", name: "Observed" },
    env: {},
    capabilities: { ensure: async () => {}, make: (name, plugin) => sourceOf(recorded(plugin), () => nothing as never)(name) },
    log: () => quiet,
    claim: () => {},
    // Only the daemon knows which scopes exist.
    tokenScopes: { declared: [], has: () => true, hasEach: () => true, grants: () => false },
    requireServable: () => {},
    serveFile: async () => {},
    server: () => nothing as never,
    channelState: () => {},
  };
}
