import type { Capability, Kind, ProvidedKind, ProvidedStore, ScopeTable, ServiceTypes } from "@svc/sdk";
import type { EntryTrouble } from "../../sources/entries.ts";
import type { Source } from "../../sources/source.ts";
import type { PluginStatus } from "../boot/kernel-api.ts";
import type { Parts, Section } from "../config/compose.ts";
import type { CapabilityPart } from "./capabilities.ts";
import type { ContextDeps } from "./context.ts";
import type { PluginSources } from "./discover.ts";
import type { OnIncident } from "./hosted-plugin.ts";
import type { IsolationPart } from "./isolation-port.ts";
import type { Live } from "./live.ts";
import type { Scope } from "./scope.ts";
import type { StoreDeps } from "./store-plugin.ts";
import type { SupplyDeps } from "./supply.ts";
import type { Wanted } from "./wanted.ts";

/** The rooms that the plugin host needs, each loaded for the first plugin that needs it. */
export type HostParts = SupplyDeps["parts"] &
  PluginSources["parts"] & {
    isolation(): Promise<IsolationPart>;
    readonly capabilities: Pick<CapabilityPart, "sweep">;
  };

/** Inputs that are known before any plugin code runs. */
export interface HostSources extends PluginSources, SupplyDeps {
  readonly parts: HostParts;
  /** The environment, of which an isolated plugin's process gets a named few. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The plugin host: discovers, loads, sets up, starts and stops each plugin by itself. */
export interface Host {
  /** The current plugins; replaced, never mutated. */
  readonly live: Live;
  /** Token scopes that the known plugins declare. */
  readonly tokenScopes: ScopeTable;
  /** Imports the plugins that the document enables. Errors are collected in the statuses. */
  load(wanted: Wanted): Promise<void>;
  /** Sections of the imported plugins and agent keys of the known ones, for composing the schema. */
  sections(): Section[];
  agentKeys(): Parts["agentKeys"][number][];
  /** Capabilities that imported plugins declare. */
  declared(): Capability[];
  /** Sections of known plugins that are not loaded, or switched off. */
  dormant(): { at: string; owner: string }[];
  /** Entries that lead to no plugin. No code runs. */
  troubles(entries: readonly string[]): EntryTrouble[];
  /** Tier names that known plugins provide. */
  tierNames(): string[];
  /** Default tier, for agents without one; undefined where no known plugin declares it. */
  defaultTier(): string | undefined;
  /** Context strategies of the known plugins, and the default one for a configuration without one. */
  strategies(): string[];
  defaultStrategy(): string | undefined;
  /** Why no plugin, or not one alone, would keep the state; undefined where one would. */
  storeProblem(wanted: Wanted): string | undefined;
  /** Set up the plugin that keeps the state, before all others. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
  setUpStore(wanted: Wanted, deps: StoreDeps): Promise<ProvidedStore>;
  setUp(wanted: Wanted, contexts: ContextDeps): Promise<void>;
  /** Start the plugins that are set up, or those of one kind alone. */
  start(kind?: Kind): Promise<void>;
  /** Brings the plugins in line with a new configuration: start, stop, reload. Resolves with the plugins that could not follow. */
  apply(wanted: Wanted, contexts: ContextDeps): Promise<{ plugin: string; reason: string }[]>;
  /** Stop all but the plugin that keeps the state. */
  stop(): Promise<void>;
  /** Stop the plugin that keeps the state, when the store is closed. */
  stopStore(): Promise<void>;
  /** Whether a plugin's own start, stop or reload is being waited for. */
  inTransition(id: string): boolean;
  /** A host of the same plugins for inspection, without those in processes of their own; none is imported. */
  twin(): Host;
  statuses(): PluginStatus[];
  /** The sources of the known plugins, in the same order. */
  sources(): readonly Source[];
  /** Count a failure against a plugin and report it. */
  failed(scope: Scope, what: string, error: unknown): void;
  /**
   * Counts an uncaught error against the plugin whose code is running, else the one whose file is topmost in its stack. Returns false if it is not
   * this host's: the process may have several.
   */
  stray(error: unknown): boolean;
  /** Registers the listener for changes of plugins from now on. Incidents from before the plugins are set up are reported then. */
  report(events: HostEvents): void;
  /** Called when a plugin's state or registrations have changed; one listener, the latest. */
  onChange(listener: () => void): void;
  /** Returns the service provided under that name. Throws `SVC_SERVICE_MISSING`, which names the asking plugin and the next step. */
  service<K extends keyof ServiceTypes>(name: K, asker: Scope): ServiceTypes[K];
  /** Refuse a second thing of a kind and name. */
  claim(scope: Scope, kind: ProvidedKind, name: string): void;
}

/** Listener for changes of plugins. */
export interface HostEvents {
  /** An incident of a plugin; `error` is the thrown error, if any. */
  readonly incident: OnIncident;
  /** The process of an isolated plugin is up again. */
  recovered(plugin: string): void;
}
