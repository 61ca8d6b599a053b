import { pathToFileURL } from "node:url";
import { type Capability, type Kind, type Plugin, type ProvidedKind, type ProvidedStore, reasonOf, type ScopeTable, type ServiceTypes } from "@svc/sdk";
import { createScopeTable, emptySection } from "@svc/sdk/host";
import { hasChanged } from "../../base/config-diff.ts";
import { type EntryTrouble, troublesOf } from "../../sources/entries.ts";
import { isForeign, originsOf, readEntry, type Source } from "../../sources/source.ts";
import type { PluginStatus } from "../boot/kernel-api.ts";
import type { Parts, Section } from "../config/compose.ts";
import { declaredBy, defaultStrategyOf, defaultTierOf, dormantOf, strategiesOf, tierNamesOf } from "./announced.ts";
import { call, currentScope } from "./call.ts";
import { type ContextDeps, createContext } from "./context.ts";
import { discover } from "./discover.ts";
import type { Host, HostEvents, HostSources } from "./host.ts";
import {
  type HostedPlugin,
  loadPlugin,
  type OnIncident,
  PHASE_LIMITS,
  type PhaseLimits,
  pluginStatus,
  setUpPlugin,
  startPlugin,
  stopPlugin,
} from "./hosted-plugin.ts";
import type { CallConsequence, ProcessConsequence } from "./incident.ts";
import { createImportCode } from "./isolated.ts";
import { composeLive, type Live } from "./live.ts";
import { requireFree } from "./provide.ts";
import { usedFor } from "./registered.ts";
import type { Scope } from "./scope.ts";
import { agentKeysOf, sectionsOf } from "./section-check.ts";
import { requireServed } from "./served.ts";
import { chooseStore, chosenStore, createStoreContext, isStore, type StoreDeps, storeOf, storeTrouble } from "./store-plugin.ts";
import { Supply } from "./supply.ts";
import { isWanted, mayRun, needsCode, sectionOf, type Wanted } from "./wanted.ts";

/** Makes a host and finds its plugins. No code of theirs runs. */
export const createHost = (sources: HostSources, limits: PhaseLimits = PHASE_LIMITS): Host => new PluginHost(sources, limits);

class PluginHost implements Host {
  readonly tokenScopes: ScopeTable;
  readonly #sources: HostSources;
  readonly #limits: PhaseLimits;
  readonly #supply: Supply;
  readonly #plugins: readonly HostedPlugin[];
  readonly #importCode: ReturnType<typeof createImportCode>;
  /** Distinguishes its scopes from those of another host in this process. */
  readonly #identity = {};
  #events: HostEvents | undefined;
  /** Buffers incidents until the plugins are set up: before that the secrets to scrub are not known. */
  #unreported: (() => void)[] | undefined = [];
  #onChange = (): void => {};
  #live: Live | undefined;
  #loading: Promise<void> = Promise.resolve();

  constructor(sources: HostSources, limits: PhaseLimits) {
    this.#sources = sources;
    this.#limits = limits;
    this.#supply = new Supply(sources);
    this.#plugins = discover(sources, this.#identity, this.#incident);
    this.tokenScopes = createScopeTable(this.#plugins.map(({ source }) => source.manifest?.scopes ?? source.plugin?.scopes ?? []));
    this.#importCode = createImportCode(sources, limits, {
      onEnded: (plugin, consequence, reason) => this.#ended(plugin, consequence, reason),
      onRecovered: (plugin) => plugin.scope !== undefined && this.#events?.recovered(plugin.id),
      onStray: (plugin, error) => plugin.scope !== undefined && this.failed(plugin.scope, "stray error", error),
    });
  }

  get live(): Live {
    this.#live ??= composeLive(this.#scopes(), this.failed);
    return this.#live;
  }

  load(wanted: Wanted): Promise<void> {
    // A check of a changed text may come while a reload imports: nothing is imported twice.
    const turn = this.#loading.then(() => this.#load(wanted));
    this.#loading = turn.catch(() => {});
    return turn;
  }

  async #load(wanted: Wanted): Promise<void> {
    await this.#supply.update(this.#plugins);
    const load = (one: HostedPlugin) => loadPlugin(one, this.#limits, this.#supply.requirePinned, this.#supply.around, this.#importCode);
    const isUnread = (one: HostedPlugin) => one.state === "known" && one.plugin === undefined;
    const loadStore = async () => {
      const store = this.#sources.ownStore === true ? undefined : chosenStore(this.#plugins, wanted);
      if (store !== undefined && isUnread(store)) await load(store);
    };
    await loadStore();
    const isAsked = (one: HostedPlugin) => (isStore(one) ? sectionOf(one, wanted) !== undefined : needsCode(one, wanted, this.#plugins));
    const asked = () => this.#plugins.filter((one) => isUnread(one) && isAsked(one));
    const first = asked();
    // Ours wait for nothing: one after the other, the time each takes is its own.
    const ours = async () => {
      for (const one of first) if (!isForeign(one.source)) await load(one);
    };
    await Promise.all([ours(), ...first.filter(({ source }) => isForeign(source)).map(load)]);
    // The declarations of a file without a manifest are known only now, after its import.
    await loadStore();
    for (const one of asked()) await load(one);
  }

  sections(): Section[] {
    return this.#plugins.flatMap(sectionsOf);
  }
  agentKeys(): Parts["agentKeys"][number][] {
    return this.#plugins.flatMap(agentKeysOf);
  }
  declared(): Capability[] {
    return declaredBy(this.#plugins);
  }
  dormant(): { at: string; owner: string }[] {
    return dormantOf(this.#plugins);
  }
  troubles(entries: readonly string[]): EntryTrouble[] {
    const ids = this.#plugins.map(({ id }) => id);
    return troublesOf(entries, this.#sources.folder, this.#sources.searchFolders, ids);
  }
  tierNames(): string[] {
    return tierNamesOf(this.#plugins);
  }
  defaultTier(): string | undefined {
    return defaultTierOf(this.#plugins);
  }
  strategies(): string[] {
    return strategiesOf(this.#plugins);
  }
  defaultStrategy(): string | undefined {
    return defaultStrategyOf(this.#plugins);
  }

  storeProblem(wanted: Wanted): string | undefined {
    try {
      this.#chooseStore(wanted);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  async setUpStore(wanted: Wanted, deps: StoreDeps): Promise<ProvidedStore> {
    const store = this.#chooseStore(wanted);
    const section = sectionOf(store, wanted);
    const context = (plugin: Plugin<never>, scope: Scope) => createStoreContext(plugin, scope, section ?? {}, deps);
    if (mayRun(store, wanted, this.#plugins)) await setUpPlugin(store, section, context, () => this.#changed(), this.#limits, this.#supply.around);
    return storeOf(store);
  }

  async setUp(wanted: Wanted, contexts: ContextDeps): Promise<void> {
    for (const report of this.#unreported ?? []) report();
    this.#unreported = undefined;
    // Sequentially and in order: the first owns a contested name, the same way at every start.
    for (const one of this.#others) if (mayRun(one, wanted, this.#plugins)) await this.#setUp(one, wanted, contexts);
  }

  async start(kind?: Kind): Promise<void> {
    await Promise.all(this.#plugins.filter(({ plugin }) => kind === undefined || plugin?.kind === kind).map((one) => this.#start(one)));
    this.#changed();
  }

  async apply(wanted: Wanted, contexts: ContextDeps): Promise<{ plugin: string; reason: string }[]> {
    await this.load(wanted);
    for (const one of this.#others) await this.#follow(one, wanted, contexts);
    this.#changed();
    const failed = this.#plugins.filter(({ state }) => state === "failed").map(({ id, reason }) => ({ plugin: id, reason: reason ?? "unknown" }));
    return [...failed, ...storeTrouble(this.#plugins, wanted)];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#others.map((one) => this.#stop(one)));
    this.#changed();
  }

  async stopStore(): Promise<void> {
    await Promise.all(this.#plugins.filter(isStore).map((one) => this.#stop(one)));
  }

  inTransition(id: string): boolean {
    return this.#plugins.some((one) => one.id === id && one.transitions > 0);
  }
  twin(): Host {
    const entries = this.#sources.entries.filter((entry) => !readEntry(entry).isolated);
    return createHost({ ...this.#sources, entries, quarantine: "read" }, this.#limits);
  }

  statuses(): PluginStatus[] {
    return this.#plugins.map(pluginStatus);
  }
  sources(): readonly Source[] {
    return this.#plugins.map(({ source }) => source);
  }

  readonly failed = (scope: Scope, what: string, error: unknown, consequence: CallConsequence = "counted"): void => {
    const plugin = this.#plugins.find(({ id }) => id === scope.id);
    const reason = reasonOf(error);
    // Late failures of a scope that has ended still count against its plugin.
    if (plugin !== undefined && plugin.scope !== scope) plugin.failures += 1;
    else scope.failures += 1;
    scope.lastFailure = `${what}: ${reason}`;
    this.#incident({ plugin: scope.id, what, reason, consequence }, error);
  };

  stray(error: unknown): boolean {
    const scope = currentScope();
    if (scope !== undefined) {
      if (scope.host === this.#identity) this.failed(scope, "stray error", error);
      return scope.host === this.#identity;
    }
    const lines = (error instanceof Error ? (error.stack ?? "") : "").split("\n");
    // A store that fails outside of a call has lost a write: such a failure must not be counted and passed over.
    const plugin = lines.map((line) => this.#others.find((one) => isFrom(one, line))).find((found) => found !== undefined);
    if (plugin === undefined) return false;
    plugin.failures += 1;
    this.#incident({ plugin: plugin.id, what: "stray error", reason: reasonOf(error), consequence: "counted" }, error);
    return true;
  }

  report(events: HostEvents): void {
    this.#events = events;
  }
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }
  readonly service = <K extends keyof ServiceTypes>(name: K, asker: Scope): ServiceTypes[K] => requireServed(name, asker, this.live, this.#plugins);
  readonly claim = (scope: Scope, kind: ProvidedKind, name: string): void => requireFree(scope, kind, name, this.#scopes());

  #scopes(): Scope[] {
    return this.#plugins.flatMap(({ scope }) => (scope === undefined ? [] : [scope]));
  }
  /** All but those that may keep the state, which are set up before all others and stopped after them. */
  get #others(): readonly HostedPlugin[] {
    return this.#plugins.filter((one) => !isStore(one));
  }
  #chooseStore(wanted: Wanted): HostedPlugin {
    return chooseStore(this.#plugins, wanted, this.#sources.parts.defaultStore.package);
  }
  #changed(): void {
    this.#live = undefined;
    this.#onChange();
  }
  readonly #incident: OnIncident = (incident, error) => {
    const report = () => this.#events?.incident(incident, error);
    if (this.#unreported === undefined) report();
    else this.#unreported.push(report);
  };

  async #setUp(one: HostedPlugin, wanted: Wanted, contexts: ContextDeps): Promise<void> {
    const section = sectionOf(one, wanted);
    const changed = () => this.#changed();
    const context = (plugin: Plugin<never>, scope: Scope) =>
      createContext(plugin, scope, section ?? emptySection(plugin.config?.schema), contexts, one.source.isolated === true);
    await during(one, () => setUpPlugin(one, section, context, changed, this.#limits, this.#supply.around));
    if (one.scope !== undefined) await contexts.capabilities.ensure(usedFor(one.scope));
    this.#changed();
  }

  #start(one: HostedPlugin): Promise<void> {
    return during(one, () => startPlugin(one, this.#limits, this.#supply.around));
  }

  async #stop(one: HostedPlugin): Promise<void> {
    for (const error of await during(one, () => stopPlugin(one, this.#limits)))
      this.#incident({ plugin: one.id, what: "stop", reason: reasonOf(error), consequence: "counted" });
  }

  /** Brings one plugin in line with a configuration. */
  async #follow(one: HostedPlugin, wanted: Wanted, contexts: ContextDeps): Promise<void> {
    const broken = wanted.broken.get(one.id);
    const run = isWanted(one, wanted, this.#plugins);
    if (one.scope !== undefined && (!run || broken !== undefined)) await this.#stop(one);
    if (one.plugin === undefined || one.isBarred) return;
    if (broken !== undefined) one.fail("section", broken);
    else if (one.scope !== undefined) await this.#refresh(one, wanted, contexts);
    else if (run) {
      await this.#setUp(one, wanted, contexts);
      await this.#start(one);
    }
    // No longer enabled: clear the old failure.
    else if (one.state === "stopped" || one.state === "failed") one.move("known");
  }

  /** Gives a running plugin its section where that has changed. */
  async #refresh(one: HostedPlugin, wanted: Wanted, contexts: ContextDeps): Promise<void> {
    const section = sectionOf(one, wanted);
    if (!hasChanged(one.section, section)) return;
    const { scope, lifecycle } = one;
    if (lifecycle?.reload === undefined || scope === undefined) {
      await this.#stop(one);
      await this.#setUp(one, wanted, contexts);
      await this.#start(one);
      return;
    }
    try {
      const config = (section ?? emptySection(one.plugin?.config?.schema)) as never;
      // It may connect at once to what its section names now.
      scope.section = config;
      await during(one, async () => call({ scope, what: "reload", limitMs: this.#limits.startMs, run: () => lifecycle.reload?.(config) }, []));
      one.section = section;
    } catch (error) {
      await this.#stop(one);
      one.failPhase("reload", error);
    }
  }

  /** Handles the end of an isolated plugin's process. If it is not restarted, all the plugin's registrations are removed. */
  async #ended(one: HostedPlugin, consequence: ProcessConsequence, reason: string): Promise<void> {
    if (one.scope === undefined) return;
    one.scope.failures += 1;
    one.scope.lastFailure = `process: ${reason}`;
    if (consequence === "restarting") {
      this.#incident({ plugin: one.id, what: "process", reason, consequence });
      return;
    }
    await this.#stop(one);
    if (consequence === "failed") one.fail("process", reason);
    else this.#supply.quarantine(one, "process", reason);
    this.#changed();
  }
}

/** Awaits a step of a plugin's lifecycle: calls that the plugin itself awaits meanwhile must not wait for the step. */
async function during<T>(one: HostedPlugin, step: () => Promise<T>): Promise<T> {
  one.transitions += 1;
  try {
    return await step();
  } finally {
    one.transitions -= 1;
  }
}

function isFrom({ source }: HostedPlugin, line: string): boolean {
  return originsOf(source).some((origin) => line.includes(origin) || line.includes(pathToFileURL(origin).href));
}
