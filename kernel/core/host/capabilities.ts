import type {
  Actions,
  Agents,
  AgentTools,
  Capability,
  CapabilityTypes,
  HealthReader,
  Jobs,
  Log,
  PermissionTypes,
  Services,
  ServiceTypes,
  Settings,
  Store,
  Tasks,
  Traces,
} from "@svc/sdk";
import { CAPABILITIES, guardedTasks, type RequireCapability } from "@svc/sdk/host";
import type { CapabilityRow, CapabilityRows, CapabilityScope, LibraryDeps, LoadedCapability } from "../../base/capability.ts";
import type { ChannelRender } from "../../base/channel-render.ts";
import { fail } from "../../base/errors.ts";
import type { SettingsAsker } from "../boot/settings-port.ts";
import type { Bus } from "../bus/bus.ts";
import type { Live } from "./live.ts";
import type { Scope } from "./scope.ts";
import { scopedEvents } from "./scoped-events.ts";
import { servedModels } from "./served.ts";

/** Dependencies of the capabilities that the core implements itself. */
export interface CoreDeps {
  readonly bus: Bus;
  readonly tasks: Tasks;
  readonly agents: Agents;
  readonly traces: Traces;
  readonly actions: Actions;
  readonly tools: AgentTools;
  live(): Live;
  readonly health: HealthReader;
  store(plugin: PluginScope): Store;
  jobs(scope: Scope): Jobs;
  /** Returns the service provided under that name; throws an error that names the asking plugin. */
  service<K extends keyof ServiceTypes>(name: K, asker: Scope): ServiceTypes[K];
  /** Editor of svc.json, loaded at its first use. */
  settings(): Promise<(asker: SettingsAsker) => Settings>;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** The plugin that a capability is made for, with its registrations. */
export interface PluginScope extends CapabilityScope {
  readonly scope: Scope;
}

type CoreRow<T> = CapabilityRow<T, CoreDeps, PluginScope>;

const served = <T>(make: (deps: CoreDeps, plugin: PluginScope) => T, crosses = true): CoreRow<T> => ({
  crosses,
  load: (deps) => ({ make: (plugin) => make(deps, plugin) }),
});

/** Something whose methods, all asynchronous, load it at their first call. The compiler refuses a name that is missing. */
export const lazily = <T extends object>(names: Readonly<Record<keyof T, true>>, load: () => Promise<T>): T =>
  Object.fromEntries(Object.keys(names).map((name) => [name, async (...given: never[]) => ((await load()) as Methods)[name]?.(...given)])) as T;
type Methods = Readonly<Record<string, (...given: never[]) => unknown>>;

/** The capabilities built into the core, one row each. */
export const CORE_CAPABILITIES = {
  agents: served(({ agents }) => agents),
  tasks: served(({ tasks }, { need }) => guardedTasks(tasks, need)),
  events: served(({ bus, failed }, { scope, need }) => scopedEvents(scope, bus, failed, need)),
  traces: served(({ traces }) => traces),
  actions: served(({ actions }) => actions),
  store: served(({ store }, plugin) => store(plugin)),
  jobs: served(({ jobs }, { scope }) => jobs(scope)),
  models: served(({ service }, { scope }) => servedModels(() => service("models", scope))),
  health: served(({ health }) => health, false),
  tools: served(({ tools }) => tools, false),
  services: {
    crosses: false,
    async load(deps) {
      const { createServices } = await import("./references.ts");
      return { make: ({ scope }) => createServices(scope, deps) };
    },
  } satisfies CoreRow<Services>,
  settings: served(({ settings }, { id, need }): Settings => {
    // Loaded at the first call: most plugins that may change svc.json do so once in a while.
    const own = async () => (await settings())({ id, declares: (capability) => allows(need, capability) });
    return lazily<Settings>({ read: true, schema: true, change: true, preview: true, plugins: true, offered: true, release: true, keepSecret: true }, own);
  }),
};

function allows(need: RequireCapability, capability: Capability): boolean {
  try {
    need(capability);
    return true;
  } catch {
    return false;
  }
}

/** Permissions without a member of the context. */
const PERMISSIONS: Readonly<Record<keyof PermissionTypes, { readonly crosses: boolean }>> = {
  routes: { crosses: true },
  network: { crosses: true },
  "data-folder": { crosses: false },
  "all-settings": { crosses: false },
  "events:peers": { crosses: false },
  withheld: { crosses: false },
  transcription: { crosses: false },
};

/** Port of the libraries: rows of the capabilities that are not built into the core. */
export type Libraries = CapabilityRows<Exclude<keyof CapabilityTypes, keyof typeof CORE_CAPABILITIES>, LibraryDeps> & {
  readonly render: CapabilityRow<ChannelRender, LibraryDeps>;
};

/** The room of libraries, as the core knows it. */
export interface CapabilityPart {
  readonly rows: Libraries;
  /** Ends processes that an earlier daemon left. */
  sweep(): Promise<{ sweepOrphans(options: { readonly marker: string; readonly log: Log }): Promise<unknown> }>;
}

/** Whether a plugin in a process of its own may declare it. A single variable may cross, all of them may not. */
export function crosses(capability: Capability, libraries: Libraries): boolean {
  if (capability.startsWith("env:")) return capability !== "env:*";
  const rows: Readonly<Record<string, { readonly crosses: boolean }>> = { ...PERMISSIONS, ...CORE_CAPABILITIES, ...libraries };
  return Object.hasOwn(rows, capability) && rows[capability]?.crosses === true;
}

/** The capabilities of one kernel, from its start to its stop. */
export interface Capabilities {
  /** Loads the declared capabilities that are not loaded yet. */
  ensure(declared: Iterable<Capability>): Promise<void>;
  /** Makes one for a plugin. Throws `SVC_CAPABILITY_MISSING` for one that was not loaded. */
  make<K extends keyof CapabilityTypes>(name: K, plugin: PluginScope): CapabilityTypes[K];
  /** Disposes of their resources, such as children that still run. */
  close(): Promise<void>;
}

/** Creates the capabilities; `ensure` loads them. */
export function createCapabilities(libraries: Libraries, libraryDeps: LibraryDeps, coreDeps: CoreDeps): Capabilities {
  const own: Partial<CapabilityRows<keyof CapabilityTypes, CoreDeps, PluginScope>> = CORE_CAPABILITIES;
  const others: Partial<CapabilityRows<keyof CapabilityTypes, LibraryDeps>> = libraries;
  const loaded = new Map<Capability, LoadedCapability<unknown, PluginScope>>();

  async function load(name: keyof CapabilityTypes): Promise<void> {
    const made = await (own[name]?.load(coreDeps) ?? others[name]?.load(libraryDeps));
    if (made !== undefined) loaded.set(name, made);
  }

  return {
    async ensure(declared) {
      const missing = CAPABILITIES.filter((name) => !loaded.has(name));
      const wanted = new Set(declared);
      await Promise.all(missing.filter((name) => wanted.has(name)).map(load));
    },
    make<K extends keyof CapabilityTypes>(name: K, plugin: PluginScope) {
      const capability = loaded.get(name);
      if (capability === undefined) throw fail("SVC_CAPABILITY_MISSING", { capability: name });
      // Cast justified by the types of the rows: the row of a name makes the capability of that name.
      return capability.make(plugin) as CapabilityTypes[K];
    },
    async close() {
      await Promise.all([...loaded.values()].map((capability) => capability.close?.()));
    },
  };
}
