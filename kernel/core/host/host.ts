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

/** What is known before any plugin code runs. */
export interface HostSources extends PluginSources, SupplyDeps {
  readonly parts: HostParts;
  /** The environment, of which an isolated plugin's process gets a named few. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The plugin host: known, loaded, set up, started, stopped, each plugin by itself. */
export interface Host {
  /** The plugins as they are now; replaced, never changed. */
  readonly live: Live;
  /** What the known plugins declare that tokens can hold. */
  readonly tokenScopes: ScopeTable;
  /** Import what the document asks for. Errors are collected in the statuses. */
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
  /** The tier of agents that name none; undefined where no known plugin is the default one. */
  defaultTier(): string | undefined;
  /** Ways to build a context that known plugins bring, and the one that counts where the configuration names none. */
  strategies(): string[];
  defaultStrategy(): string | undefined;
  /** Why no plugin, or not one alone, would keep the state; undefined where one would. */
  storeProblem(wanted: Wanted): string | undefined;
  /** Set up the plugin that keeps the state, before all others. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
  setUpStore(wanted: Wanted, deps: StoreDeps): Promise<ProvidedStore>;
  setUp(wanted: Wanted, contexts: ContextDeps): Promise<void>;
  /** Start the plugins that are set up, or those of one kind alone. */
  start(kind?: Kind): Promise<void>;
  /** Bring the plugins in line with a new configuration: start, stop, reload. Answers who could not follow. */
  apply(wanted: Wanted, contexts: ContextDeps): Promise<{ plugin: string; reason: string }[]>;
  /** Stop all but the plugin that keeps the state. */
  stop(): Promise<void>;
  /** Stop the plugin that keeps the state, when the store is closed. */
  stopStore(): Promise<void>;
  /** Whether a plugin's own start, stop or reload is being waited for. */
  inTransition(id: string): boolean;
  /** A host of the same plugins, but for those in processes of their own, of which none is imported: for looking at them. */
  twin(): Host;
  statuses(): PluginStatus[];
  /** Where the known plugins come from, in the same order. */
  sources(): readonly Source[];
  /** Count a failure against a plugin and report it. */
  failed(scope: Scope, what: string, error: unknown): void;
  /**
   * Count an error that nobody caught against the plugin whose code is running, else the one whose file stands topmost in its stack.
   * False when it is not this host's: there may be another one in the process.
   */
  stray(error: unknown): boolean;
  /** Who hears what becomes of plugins from now on. Incidents from before the plugins are set up are reported then. */
  report(events: HostEvents): void;
  /** Called when a plugin's state or registrations have changed; one listener, the latest. */
  onChange(listener: () => void): void;
  /** What a running plugin serves under that name. Throws `SVC_SERVICE_MISSING` for the plugin that asks, saying what to do. */
  service<K extends keyof ServiceTypes>(name: K, asker: Scope): ServiceTypes[K];
  /** Refuse a second thing of a kind and name. */
  claim(scope: Scope, kind: ProvidedKind, name: string): void;
}

/** Hears what becomes of plugins. */
export interface HostEvents {
  /** Something went wrong with a plugin; `error` is what was thrown, where something was. */
  readonly incident: OnIncident;
  /** The process of an isolated plugin is up again. */
  recovered(plugin: string): void;
}
