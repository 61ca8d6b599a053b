import { pathToFileURL } from "node:url";
import { type Capability, type Manifest, type Plugin, type ProvidedKind, type ProvidedStore, reasonOf, type ScopeTable, type ServiceTypes } from "@svc/sdk";
import { createScopeTable } from "@svc/sdk/host";
import type { PluginStatus } from "../boot/kernel-api.ts";
import type { Parts, Section } from "../config/compose.ts";
import { hasChanged } from "../config/diff.ts";
import { call, currentScope } from "./call.ts";
import type { CapabilityPart } from "./capabilities.ts";
import { type ContextDeps, createContext } from "./context.ts";
import { discover } from "./discover.ts";
import { type EntryTrouble, troublesOf } from "./entries.ts";
import {
  type Around,
  type Entry,
  entryStatus,
  failEntry,
  failPhase,
  loadEntry,
  PHASE_LIMITS,
  type PhaseLimits,
  type RequirePinned,
  setUpEntry,
  startEntry,
  stopEntry,
} from "./entry.ts";
import { createImportCode } from "./isolated.ts";
import type { IsolationPart } from "./isolation-port.ts";
import { composeLive, type Live } from "./live.ts";
import { requireFree } from "./provide.ts";
import { usedFor } from "./registered.ts";
import type { Scope } from "./scope.ts";
import { agentKeysOf, sectionsOf } from "./section-check.ts";
import { requireServed } from "./served.ts";
import { isForeign, originsOf, readEntry, type Source } from "./source.ts";
import { chooseStore, chosenStore, createStoreContext, type DefaultStore, isStore, type StoreDeps, storeOf, storeTrouble } from "./store-plugin.ts";
import type { IntegrityPart, Marked, QuarantinePart } from "./supply-port.ts";
import { isWanted, mayRun, needsCode, sectionOf, type Wanted } from "./wanted.ts";

/** The rooms that the plugin host needs, each loaded for the first plugin that needs it. */
export interface HostParts {
  isolation(): Promise<IsolationPart>;
  integrity(): Promise<IntegrityPart>;
  quarantine(): Promise<QuarantinePart>;
  readonly defaultStore: DefaultStore;
  readonly capabilities: Pick<CapabilityPart, "sweep">;
}

/** What is known before any plugin code runs. */
export interface HostSources {
  readonly parts: HostParts;
  /** Folders of first-party packages: known, and loaded only when asked for. */
  readonly known: readonly string[];
  /** `plugins` of svc.json: names, paths, either with `process:` before it, and `!id` to keep a first-party plugin from loading. */
  readonly entries: readonly string[];
  /** Plugins handed over in code. */
  readonly inline: readonly Plugin<never>[];
  /** The embedding program keeps the state itself: no store plugin is asked. */
  readonly ownStore?: boolean;
  /** Only the plugins that may keep the state are known. */
  readonly storesOnly?: boolean;
  /** Where relative paths and packages are looked up. */
  readonly folder: string;
  readonly searchFolders: readonly string[];
  /** Holds the pins of installed packages, and which plugins are held back. */
  readonly dataFolder: string;
  /** `kept`: note on disk whose code runs while plugins are brought up. `read`: only leave out what is held back. */
  readonly quarantine: "kept" | "read" | "none";
  /** The environment, of which an isolated plugin's process gets a named few. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The plugin host: known, loaded, set up, started, stopped, each plugin by itself. */
export interface Host {
  /** The plugins as they are now; replaced, never changed. */
  readonly live: Live;
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
  /** Set up the plugin that keeps the state, before all others. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
  setUpStore(wanted: Wanted, deps: StoreDeps): Promise<ProvidedStore>;
  setUp(wanted: Wanted, contexts: ContextDeps): Promise<void>;
  start(): Promise<void>;
  /** Bring the plugins in line with a new configuration: start, stop, reload. Answers who could not follow. */
  apply(wanted: Wanted, contexts: ContextDeps): Promise<{ plugin: string; reason: string }[]>;
  /** Stop all but the plugin that keeps the state. */
  stop(): Promise<void>;
  /** Stop the plugin that keeps the state, when the store is closed. */
  stopStore(): Promise<void>;
  statuses(): PluginStatus[];
  /** Count a failure against a plugin and tell the listener. */
  failed(scope: Scope, what: string, error: unknown): void;
  /**
   * Count an error that nobody caught against the plugin whose code is running, else the one whose file stands topmost in its stack.
   * False when it is none of this host's: there may be another one in the process.
   */
  stray(error: unknown): boolean;
  /** Who hears what becomes of plugins from now on. Failures from before the plugins are set up are told then. */
  report(events: HostEvents): void;
  /** Called when a plugin's state or registrations have changed; one listener, the latest. */
  onChange(listener: () => void): void;
  /** What a running plugin serves under that name. Throws `SVC_SERVICE_MISSING` for the plugin that asks, saying what to do. */
  service<K extends keyof ServiceTypes>(name: K, asker: Scope): ServiceTypes[K];
  /** What the known plugins declare that tokens can hold. */
  readonly tokenScopes: ScopeTable;
  /** Refuse a second thing of a kind and name. */
  claim(scope: Scope, kind: ProvidedKind, name: string): void;
}

export interface HostEvents {
  failure(plugin: string, what: string, reason: string, breaker: "counted" | "opened" | "disabled", error?: unknown): void;
  /** A plugin does not run for that reason; `error` is what was thrown, where something was. */
  broke(plugin: string, reason: string, error?: unknown): void;
  /** The process of an isolated plugin ended or is back, or it is given up. */
  turned(plugin: string, what: "down" | "up" | "failed" | "quarantined", reason: string): void;
}

export function createHost(sources: HostSources, limits: PhaseLimits = PHASE_LIMITS): Host {
  let events: Partial<HostEvents> = {};
  let onChange = () => {};
  const off = new Set(sources.entries.map(readEntry).flatMap((entry) => (entry.off ? [entry.name] : [])));
  const identity = {};
  // What fails before the plugins are set up is told then: until then nobody knows which words are secret.
  let untold: (() => void)[] | undefined = [];
  const broke: Entry["broke"] = ({ id }, reason, error) => {
    const tell = () => events.broke?.(id, reason, error);
    if (untold === undefined) tell();
    else untold.push(tell);
  };
  const entries = discover(sources, off, identity, broke);
  let live: Live | undefined;
  let pins: Promise<ReturnType<IntegrityPart["openPins"]>> | undefined;
  const requirePinned: RequirePinned = async (name, folder) => {
    pins ??= sources.parts.integrity().then(({ openPins }) => openPins(sources.dataFolder));
    return (await pins).requirePinned(name, folder);
  };

  let quarantine: QuarantinePart | undefined;
  let marked: Marked | undefined;
  // What runs in a process of its own can not end this one.
  const around: Around = (entry, phase, work) =>
    marked !== undefined && isForeign(entry.source) && entry.source.isolated !== true ? marked(entry.source, phase, work) : work();
  /** What was held back and is released loads again; what is held back by now does not. */
  const holdBack = async () => {
    if (sources.quarantine === "none") return;
    quarantine ??= await sources.parts.quarantine();
    if (sources.quarantine === "kept") marked ??= quarantine.createMarked(sources.dataFolder);
    const held = quarantine.readQuarantine(sources.dataFolder);
    for (const entry of entries) {
      const found = Object.hasOwn(held, entry.source.id) ? held[entry.source.id] : undefined;
      if (found !== undefined && entry.state === "known") Object.assign(entry, { state: "quarantined", reason: found.reason });
      else if (found === undefined && entry.state === "quarantined") {
        entry.state = "known";
        delete entry.reason;
      }
    }
  };

  const usable = () => entries.filter(({ state }) => state !== "disabled");
  const scopes = () => entries.flatMap((entry) => (entry.scope === undefined ? [] : [entry.scope]));
  const changed = () => {
    live = undefined;
    onChange();
  };
  const failed = (scope: Scope, what: string, error: unknown, breaker: "counted" | "opened" | "disabled" = "counted") => {
    const entry = entries.find(({ id }) => id === scope.id);
    // Late words of a scope that has ended still count against its plugin.
    if (entry !== undefined && entry.scope !== scope) entry.failures += 1;
    else scope.failures += 1;
    scope.lastFailure = `${what}: ${reasonOf(error)}`;
    events.failure?.(scope.id, what, reasonOf(error), breaker, error);
  };
  const bring = async (entry: Entry, wanted: Wanted, contexts: ContextDeps) => {
    await setUpEntry(
      entry,
      sectionOf(entry, wanted),
      (plugin, scope) => createContext(plugin, scope, sectionOf(entry, wanted) ?? {}, contexts, entry.source.isolated === true),
      changed,
      limits,
      around,
    );
    if (entry.scope !== undefined) await contexts.capabilities.ensure(usedFor(entry.scope));
    changed();
  };

  const importCode = createImportCode(sources, limits, {
    onStray: (entry, error) => entry.scope !== undefined && failed(entry.scope, "stray error", error),
    onState(entry, what, reason) {
      if (entry.scope === undefined) return;
      if (what !== "up") {
        entry.scope.failures += 1;
        entry.scope.lastFailure = `process: ${reason}`;
      }
      if (what === "up" || what === "down") events.turned?.(entry.id, what, reason);
      else void giveUp(entry, what, reason);
    },
  });

  const current = (): Live => {
    live ??= composeLive(scopes(), failed);
    return live;
  };

  return {
    get live() {
      return current();
    },
    async load(wanted) {
      await holdBack();
      const load = (entry: Entry) => loadEntry(entry, limits, requirePinned, around, importCode);
      const isUnread = (entry: Entry) => entry.state === "known" && entry.plugin === undefined;
      const loadStore = async () => {
        const store = sources.ownStore === true ? undefined : chosenStore(entries, wanted);
        if (store !== undefined && isUnread(store)) await load(store);
      };
      await loadStore();
      const isAsked = (entry: Entry) => (isStore(entry) ? sectionOf(entry, wanted) !== undefined : needsCode(entry, wanted, entries));
      const asked = () => entries.filter((entry) => isUnread(entry) && isAsked(entry));
      // Ours wait for nothing: one after the other, the time each takes is its own.
      const ours = async (some: readonly Entry[]) => {
        for (const entry of some) if (!isForeign(entry.source)) await load(entry);
      };
      const first = asked();
      await Promise.all([ours(first), ...first.filter((entry) => isForeign(entry.source)).map(load)]);
      // A file without a manifest has said by now what it asks for and what it uses.
      for (const entry of asked()) await load(entry);
      await loadStore();
    },
    sections: () => entries.flatMap(sectionsOf),
    agentKeys: () => entries.flatMap(agentKeysOf),
    declared: () => [...new Set(entries.flatMap(({ plugin }) => plugin?.capabilities ?? []))],
    dormant: () =>
      entries.flatMap(({ plugin, source, id }) =>
        plugin !== undefined || source.manifest?.section === undefined ? [] : [{ at: source.manifest.section, owner: id }],
      ),
    troubles: (listed) =>
      troublesOf(
        listed,
        sources.folder,
        sources.searchFolders,
        entries.map(({ id }) => id),
      ),
    tierNames: () => [...new Set(usable().flatMap(({ id }) => (id.startsWith(TIER) ? [id.slice(TIER.length)] : [])))],
    defaultTier: () =>
      usable()
        .find(({ id, source }) => id.startsWith(TIER) && announced(source).default === true)
        ?.id.slice(TIER.length),
    strategies: () => [...new Set(usable().flatMap(({ source }) => announced(source).strategies ?? []))],
    defaultStrategy: () =>
      usable()
        .map(({ source }) => announced(source))
        .find((one) => one.default === true && one.strategies !== undefined)?.strategies?.[0],
    async setUpStore(wanted, deps) {
      const entry = chooseStore(entries, wanted, sources.parts.defaultStore.package);
      const section = sectionOf(entry, wanted);
      const context = (plugin: Plugin<never>, scope: Scope) => createStoreContext(plugin, scope, section ?? {}, deps);
      if (mayRun(entry, wanted, entries)) await setUpEntry(entry, section, context, changed, limits, around);
      return storeOf(entry);
    },
    async setUp(wanted, contexts) {
      for (const tell of untold ?? []) tell();
      untold = undefined;
      // In order and one by one: who comes first owns a contested name, the same way at every start.
      for (const entry of entries) if (!isStore(entry) && mayRun(entry, wanted, entries)) await bring(entry, wanted, contexts);
    },
    async start() {
      await Promise.all(entries.map((entry) => startEntry(entry, limits, around)));
      changed();
    },
    async apply(wanted, contexts) {
      await this.load(wanted);
      for (const entry of entries.filter((one) => !isStore(one))) {
        const broken = wanted.broken.get(entry.id);
        const run = isWanted(entry, wanted, entries);
        if (entry.scope !== undefined && (!run || broken !== undefined)) await halt(entry);
        if (broken !== undefined && entry.plugin !== undefined) failEntry(entry, broken);
        else if (entry.scope !== undefined) await refresh(entry, wanted, contexts);
        else if (run && entry.plugin !== undefined) {
          await bring(entry, wanted, contexts);
          await startEntry(entry, limits, around);
        } else if (!run && entry.plugin !== undefined && (entry.state === "stopped" || entry.state === "failed")) {
          // Nobody asks for it any more: what was wrong with it concerns nobody.
          entry.state = "known";
          delete entry.reason;
        }
      }
      changed();
      const broken = entries.filter(({ state }) => state === "failed").map(({ id, reason }) => ({ plugin: id, reason: reason ?? "unknown" }));
      return [...broken, ...storeTrouble(entries, wanted)];
    },
    async stop() {
      await Promise.all(entries.filter((entry) => !isStore(entry)).map(halt));
      changed();
    },
    async stopStore() {
      await Promise.all(entries.filter(isStore).map(halt));
    },
    statuses: () => entries.map(entryStatus),
    failed,
    stray(error) {
      const scope = currentScope();
      if (scope !== undefined) {
        if (scope.host === identity) failed(scope, "stray error", error);
        return scope.host === identity;
      }
      // A store that fails outside of a call has lost a write: that is no failure to count and go on from.
      const counted = entries.filter((one) => !isStore(one));
      const line = (error instanceof Error ? (error.stack ?? "") : "").split("\n").find((text) => counted.some((entry) => isFrom(entry, text)));
      const entry = line === undefined ? undefined : counted.find((one) => isFrom(one, line));
      if (entry === undefined) return false;
      entry.failures += 1;
      events.failure?.(entry.id, "stray error", reasonOf(error), "counted", error);
      return true;
    },
    report(to) {
      events = to;
    },
    onChange(listener) {
      onChange = listener;
    },
    service: (name, asker) => requireServed(name, asker, current(), entries),
    tokenScopes: createScopeTable(entries.map(({ source }) => source.manifest?.scopes ?? source.plugin?.scopes ?? [])),
    claim: (scope, kind, name) => requireFree(scope, kind, name, scopes()),
  };

  async function halt(entry: Entry): Promise<void> {
    for (const error of await stopEntry(entry, limits)) events.failure?.(entry.id, "stop", reasonOf(error), "counted");
  }

  /** The process of an isolated plugin is not started again: all it registered goes. */
  async function giveUp(entry: Entry, what: "failed" | "held", reason: string): Promise<void> {
    await halt(entry);
    failEntry(entry, reason);
    if (what === "held") {
      const held = `${reason}; mend or update it, then: svc plugin retry ${entry.source.id}`;
      Object.assign(entry, { state: "quarantined", reason: held });
      delete entry.plugin;
      if (sources.quarantine === "kept")
        quarantine?.holdPlugin(sources.dataFolder, entry.source.id, { phase: "run", reason: held, at: new Date().toISOString() });
    }
    changed();
    events.turned?.(entry.id, what === "held" ? "quarantined" : "failed", reason);
  }

  async function refresh(entry: Entry, wanted: Wanted, contexts: ContextDeps): Promise<void> {
    const section = sectionOf(entry, wanted);
    if (!hasChanged(entry.section, section)) return;
    const { scope, lifecycle } = entry;
    if (lifecycle?.reload !== undefined && scope !== undefined) {
      try {
        await call({ scope, what: "reload", limitMs: limits.startMs, run: () => lifecycle.reload?.((section ?? {}) as never) }, []);
        entry.section = section;
      } catch (error) {
        await halt(entry);
        failPhase(entry, "reload", error);
      }
      return;
    }
    await halt(entry);
    await bring(entry, wanted, contexts);
    await startEntry(entry, limits, around);
  }
}

const TIER = "tier-";

/** What a plugin says of itself before its code runs, or with it where it is handed over in code. */
const announced = ({ manifest, plugin }: Source): Pick<Manifest, "default" | "strategies"> => manifest ?? plugin ?? {};

function isFrom({ source }: Entry, line: string): boolean {
  return originsOf(source).some((origin) => line.includes(origin) || line.includes(pathToFileURL(origin).href));
}
