import { type Lifecycle, type Plugin, type PluginContext, withTimeout } from "@svc/sdk";
import { requireActionSchemas } from "../../sources/action-schemas.ts";
import { checkPlugin, requireBuilt } from "../../sources/code.ts";
import { describeFailure, type FailedPhase } from "../../sources/failure-place.ts";
import { lifecycleOf } from "../../sources/plugin-lifecycle.ts";
import { isForeign, type Source } from "../../sources/source.ts";
import type { PluginStatus } from "../boot/kernel-api.ts";
import { call, inScope } from "./call.ts";
import type { PluginIncident } from "./incident.ts";
import type { Isolated } from "./isolation-port.ts";
import { type PluginState, type ReasonedState, TRANSITIONS } from "./plugin-states.ts";
import { describeProvided, registersOf } from "./registered.ts";
import { createScope, disposeScope, type Scope } from "./scope.ts";
import { usePrepared } from "./section-check.ts";
import type { MarkedPhase, RequireUndrifted } from "./supply-port.ts";

/** Milliseconds a plugin may take for each phase of its life. */
export interface PhaseLimits {
  readonly loadMs: number;
  readonly setupMs: number;
  readonly startMs: number;
  readonly stopMs: number;
}

/** Default limits: ten seconds for each phase. */
export const PHASE_LIMITS: PhaseLimits = { loadMs: 10_000, setupMs: 10_000, startMs: 10_000, stopMs: 10_000 };

/** Runs a phase of a plugin, with a marker on disk if the plugin is third-party. */
export type Around = <T>(plugin: HostedPlugin, phase: MarkedPhase, work: () => Promise<T>) => Promise<T>;

/** One known plugin and its state. */
export class HostedPlugin {
  readonly source: Source;
  /** Identity of the host; the plugin's scopes carry it. */
  readonly host: object;
  id: string;
  plugin?: Plugin<never>;
  scope?: Scope;
  lifecycle?: Lifecycle<never>;
  /** The checked section of its last setup: a reload without a change in it does not affect the plugin. */
  section?: unknown;
  /** For an installed package: compares its declarations with those of its pin. */
  requireUndrifted?: RequireUndrifted;
  /** The process that it runs in, for an isolated one. */
  isolated?: Isolated;
  readonly took = { load: 0, setup: 0, start: 0 };
  /** Failures of scopes that have ended. */
  failures = 0;
  /** Calls of its own start, stop and reload that have not ended. */
  transitions = 0;
  readonly #onIncident: OnIncident;
  #state: PluginState = "known";
  #reason: string | undefined;

  constructor(source: Source, host: object, onIncident: OnIncident) {
    this.source = source;
    this.host = host;
    this.id = source.id;
    this.#onIncident = onIncident;
  }

  get state(): PluginState {
    return this.#state;
  }

  /** Why it failed or is quarantined. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether it must not be set up, whatever the configuration enables. */
  get isBarred(): boolean {
    return this.#state === "disabled" || this.#state === "quarantined";
  }

  /** The only way its state and the reason of that change. Throws for a transition that `TRANSITIONS` does not have. */
  move(to: Exclude<PluginState, ReasonedState>): void;
  move(to: ReasonedState, reason: string): void;
  move(to: PluginState, reason?: string): void {
    if (!TRANSITIONS[this.#state].includes(to)) throw new Error(`the plugin ${this.id} cannot become ${to}: it is ${this.#state}`);
    this.#state = to;
    this.#reason = reason;
  }

  /** Marks it as failed for that reason, and reports an incident with the thrown error, if any. */
  fail(what: string, reason: string, error?: unknown): void {
    this.move("failed", reason);
    this.#onIncident({ plugin: this.id, what, reason, consequence: "failed" }, error);
  }

  /** Records the failure of a phase, with the phase and the position in the plugin's files. */
  failPhase(phase: FailedPhase, error: unknown): void {
    this.fail(phase, describeFailure(error, phase, this.source), error);
  }

  /** Quarantines it: it is not loaded until an operator releases it. */
  quarantine(what: string, reason: string): void {
    this.move("quarantined", reason);
    delete this.plugin;
    this.#onIncident({ plugin: this.id, what, reason, consequence: "quarantined" });
  }
}

/** Receives each incident, with the thrown error, if any. */
export type OnIncident = (incident: PluginIncident, error?: unknown) => void;

/** Refuses an installed package that differs from its pin. */
export type RequirePinned = (name: string, folder: string) => Promise<RequireUndrifted>;

/** Imports a plugin's code, here or in a process of its own. */
export type ImportCode = (hosted: HostedPlugin) => Promise<Plugin<never>>;

/** Imports the code and checks it against its manifest; an installed package must match its pin before any of its code runs. */
export async function loadPlugin(
  hosted: HostedPlugin,
  limits: PhaseLimits,
  requirePinned: RequirePinned,
  around: Around,
  importCode: ImportCode,
): Promise<void> {
  if (hosted.plugin !== undefined) return;
  let began = performance.now();
  try {
    const { installed } = hosted.source;
    if (installed !== undefined) hosted.requireUndrifted = await requirePinned(installed.name, installed.folder);
    // A scope of its own: calls and errors at the module's top level are attributed to it.
    const scope = createScope(hosted.id as Scope["id"], () => {}, hosted.source.id, hosted.host);
    requireBuilt(hosted.source);
    const late = `plugin ${hosted.id} took longer than ${limits.loadMs} ms to import; what its top level awaits belongs into start`;
    const asked = performance.now();
    const plugin = await around(hosted, "import", () => {
      // The time it waited for its turn is not its own.
      began += performance.now() - asked;
      const imported = inScope(scope, () => importCode(hosted));
      return withTimeout(imported, limits.loadMs, () => {
        throw new Error(late);
      });
    });
    await checkPlugin(hosted.source, plugin);
    hosted.plugin = plugin;
    hosted.id = `${plugin.kind}-${plugin.name}`;
  } catch (error) {
    hosted.failPhase("import", error);
  }
  hosted.took.load = performance.now() - began;
}

/** Runs `setup`: registrations only. On failure all its registrations are removed. */
export async function setUpPlugin(
  hosted: HostedPlugin,
  section: unknown,
  context: (plugin: Plugin<never>, scope: Scope) => PluginContext<never>,
  changed: () => void,
  limits: PhaseLimits,
  around: Around,
): Promise<void> {
  const { plugin } = hosted;
  if (plugin === undefined) return;
  const began = performance.now();
  const scope = createScope(hosted.id as Scope["id"], changed, hosted.source.id, hosted.host, hosted.source.manifest, hosted.source.folder);
  if (plugin.answers !== undefined) scope.answers = plugin.answers;
  hosted.scope = scope;
  hosted.section = section;
  try {
    const ctx = context(plugin, scope);
    const answer = await around(hosted, "setup", async () =>
      call({ scope, what: "setup", limitMs: limits.setupMs, run: () => plugin.setup(ctx) as unknown }, []),
    );
    hosted.lifecycle = lifecycleOf(hosted.id, answer);
    if (isForeign(hosted.source)) requireActionSchemas(hosted.id, scope.things.action);
    usePrepared(scope, hosted.source);
    hosted.requireUndrifted?.(plugin.capabilities, registersOf(scope));
    // Its process may have been given up meanwhile.
    if (hosted.scope === scope) hosted.move("loaded");
  } catch (error) {
    disposeScope(scope);
    if (hosted.scope === scope) {
      delete hosted.scope;
      hosted.failPhase("setup", error);
    }
  }
  hosted.took.setup = performance.now() - began;
}

/** Connect. A start that fails or takes too long is stopped again and listed as failed. */
export async function startPlugin(hosted: HostedPlugin, limits: PhaseLimits, around: Around): Promise<void> {
  const { scope, lifecycle } = hosted;
  if (hosted.state !== "loaded" || scope === undefined || lifecycle === undefined) return;
  let began = performance.now();
  try {
    const limitMs = hosted.source.manifest?.startTimeoutMs ?? limits.startMs;
    await around(hosted, "start", async () => {
      began = performance.now();
      return call({ scope, what: "start", limitMs, run: () => lifecycle.start?.() }, []);
    });
    // A stop may have overtaken a slow start.
    if (hosted.scope === scope) hosted.move("running");
  } catch (error) {
    if (hosted.scope === scope) {
      await stopPlugin(hosted, limits);
      hosted.failPhase("start", error);
    }
  }
  hosted.took.start = performance.now() - began;
}

/** Stops the plugin and removes all its registrations. Returns the errors. */
export async function stopPlugin(hosted: HostedPlugin, limits: PhaseLimits): Promise<unknown[]> {
  const { scope, lifecycle } = hosted;
  if (scope === undefined) return [];
  delete hosted.scope;
  delete hosted.lifecycle;
  const errors: unknown[] = [];
  try {
    await call({ scope, what: "stop", limitMs: limits.stopMs, run: () => lifecycle?.stop?.() }, []);
  } catch (error) {
    errors.push(error);
  }
  errors.push(...disposeScope(scope));
  hosted.failures += scope.failures;
  // One that is stopped while it is set up has not got so far.
  if (hosted.state === "loaded" || hosted.state === "running") hosted.move("stopped");
  return errors;
}

/** The status of a plugin, as `svc plugin list` and `/health` show it. */
export function pluginStatus(hosted: HostedPlugin): PluginStatus {
  const { scope, plugin, source, isolated } = hosted;
  const version = source.version ?? plugin?.version;
  const process = isolated?.status();
  const reason =
    hosted.reason ?? waitsFor(hosted) ?? (process?.state === "waiting" && hosted.state === "running" ? `${process.lastEnd}; it is started again` : undefined);
  return {
    id: hosted.id,
    ...(version === undefined ? {} : { version }),
    state: hosted.state,
    ...(reason === undefined ? {} : { reason }),
    source: source.from,
    took: { load: Math.round(hosted.took.load), setup: Math.round(hosted.took.setup), start: Math.round(hosted.took.start) },
    provides: scope === undefined ? [] : describeProvided(scope),
    hooks: scope === undefined ? [] : [...new Set(scope.taps.map((tap) => tap.hook))],
    capabilities: plugin?.capabilities ?? source.manifest?.capabilities ?? [],
    failures: hosted.failures + (scope?.failures ?? 0),
    ...(isolated === undefined || process === undefined ? {} : { isolation: { ...process, walls: isolated.walls } }),
  };
}

/** Reason why an added plugin that the document does not use is idle: its operator meant it to run. */
function waitsFor({ state, source }: HostedPlugin): string | undefined {
  const { manifest } = source;
  if (state !== "known" || manifest === undefined || !isForeign(source)) return undefined;
  switch (manifest.activate) {
    case "section":
      return `it waits for its section ${manifest.section ?? ""} in svc.json`;
    case "enabled":
      return `it waits for ${manifest.section ?? ""}.enabled in svc.json`;
    case "agent":
      return `it waits for an agent of the tier ${manifest.name}`;
    case "needed":
      return `it waits for a plugin that uses ${manifest.serves?.join(" or ") ?? "it"}`;
    case "always":
      return undefined;
  }
}
