import { CAPABILITIES, type Capability, type CapabilityTypes } from "./capabilities.ts";
import type { Schema } from "./config.ts";
import { svcError } from "./errors.ts";
import type { Files } from "./files.ts";
import type { PluginContext, PluginId } from "./plugin.ts";
import type { Tasks } from "./tasks.ts";

/** Throws `SVC_CAPABILITY_UNDECLARED` for a capability that the plugin has not declared. */
export type RequireCapability = (capability: Capability) => void;

/** Creates a capability for one plugin: called once, at the plugin's first use of it. */
export type CapabilitySource = <K extends keyof CapabilityTypes>(name: K) => CapabilityTypes[K];

/** Ways to make capabilities for one plugin, as far as a host has one. */
export type CapabilitySources = { readonly [K in keyof CapabilityTypes]?: () => CapabilityTypes[K] };

/** Values from which a host builds the context of one plugin. */
export interface ContextOptions<C> extends Omit<PluginContext<C>, keyof CapabilityTypes | "env"> {
  readonly need: RequireCapability;
  readonly source: CapabilitySource;
  /** Reads the host's environment; called only for declared variables. */
  variable(name: string): string | undefined;
}

/** Returns the check of a plugin's declared capabilities. `env:*` stands for every variable. */
export function declarationCheck(plugin: PluginId, declared: readonly Capability[]): RequireCapability {
  const names: ReadonlySet<Capability> = new Set(declared);
  return (capability) => {
    if (names.has(capability) || (capability.startsWith("env:") && names.has("env:*"))) return;
    throw svcError(
      "SVC_CAPABILITY_UNDECLARED",
      `The plugin ${plugin} uses '${capability}' without declaring it; add it to its capabilities and its manifest.`,
      {
        status: 500,
        plugin,
        capability,
      },
    );
  };
}

/** Returns a source that uses the table where it has the capability, and `otherwise` for the others. */
export function sourceOf(table: CapabilitySources, otherwise: CapabilitySource): CapabilitySource {
  return (name) => table[name]?.() ?? otherwise(name);
}

/** Returns a plugin's section when svc.json has none: the defaults of its schema, `[]` for a list without one. */
export function emptySection(schema: Schema | undefined): unknown {
  if (schema?.type === "array") return structuredClone(schema.default ?? []);
  return defaultsOf(schema ?? {});
}

/** Returns the defaults of an object's keys; a key without a default of its own gets none of its nested defaults. */
export function defaultsOf({ properties = {}, default: own }: Schema): Record<string, unknown> {
  const filled = Object.entries(properties).flatMap(([key, schema]) => {
    const { default: value } = schema;
    if (value === undefined) return [];
    return [[key, isObject(value) ? { ...defaultsOf(schema), ...structuredClone(value) } : structuredClone(value)]];
  });
  return { ...Object.fromEntries(filled), ...(isObject(own) ? structuredClone(own) : {}) };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Key under which a context caches its capabilities. */
const MADE = Symbol("capabilities");

interface Holder {
  readonly [MADE]: <K extends keyof CapabilityTypes>(name: K) => CapabilityTypes[K];
}

/** One getter for each capability, for the contexts of all plugins: a start makes many. */
const MEMBERS: object = {};
for (const name of CAPABILITIES)
  Object.defineProperty(MEMBERS, name, {
    enumerable: true,
    get(this: Holder) {
      return this[MADE](name);
    },
  });

/** The context of one plugin: each capability is checked at every use, made at the first one and kept. */
export function buildContext<C>({ need, source, variable, ...members }: ContextOptions<C>): PluginContext<C> {
  const made: Partial<CapabilityTypes> = {};
  const holder: Holder = {
    [MADE](name) {
      need(name);
      const capability = made[name] ?? source(name);
      made[name] = capability;
      return capability;
    },
  };
  const env = (name: string): string | undefined => {
    need(`env:${name}`);
    return variable(name) || undefined;
  };
  return Object.assign(Object.create(MEMBERS), holder, members, { env });
}

/** Wraps the capability `files` of a plugin: its member `data` requires `data-folder`. */
export function guardedFiles(files: Files, need: RequireCapability): Files {
  return {
    get own() {
      return files.own;
    },
    under: (...roots) => files.under(...roots),
    get data() {
      need("data-folder");
      return files.data;
    },
  };
}

/** Wraps the capability `tasks` of a plugin: listing and deciding about withheld deliveries also require the permission `withheld`. */
export function guardedTasks<T extends Tasks>(tasks: T, need: RequireCapability): T {
  const { withheld, release, refuse } = tasks;
  return {
    ...tasks,
    async withheld(query) {
      need("withheld");
      return withheld(query);
    },
    async release(id) {
      need("withheld");
      return release(id);
    },
    async refuse(id, reason) {
      need("withheld");
      return refuse(id, reason);
    },
  } satisfies Tasks as T;
}
