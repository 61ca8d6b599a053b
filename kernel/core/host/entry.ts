import type { Lifecycle, Plugin, PluginContext } from "@svc/sdk";
import type { PluginStatus } from "../boot/kernel-api.ts";
import { call, within as inScope } from "./call.ts";
import { checkPlugin, requireBuilt } from "./code.ts";
import { describeFailure, type FailedPhase } from "./failure-place.ts";
import type { Isolated } from "./isolation-port.ts";
import { describeProvided, registersOf } from "./registered.ts";
import { createScope, disposeScope, type Scope } from "./scope.ts";
import { isForeign, type Source } from "./source.ts";
import type { RequireUndrifted } from "./supply-port.ts";

/** Milliseconds a plugin may take for each phase of its life. */
export interface PhaseLimits {
  readonly loadMs: number;
  readonly setupMs: number;
  readonly startMs: number;
  readonly stopMs: number;
}

export const PHASE_LIMITS: PhaseLimits = { loadMs: 10_000, setupMs: 10_000, startMs: 10_000, stopMs: 10_000 };

/** Runs a phase of a plugin, under a marker on disk where the plugin is somebody else's. */
export type Around = <T>(entry: Entry, phase: "import" | "setup" | "start", work: () => Promise<T>) => Promise<T>;

/** One known plugin and where its life stands. Every step collects its error instead of throwing: the others go on. */
export interface Entry {
  readonly source: Source;
  /** Whose it is; its scopes say so. */
  readonly host: object;
  /** Hears of each failure of a phase, once. */
  readonly broke: (entry: Entry, reason: string, error?: unknown) => void;
  id: string;
  state: PluginStatus["state"];
  reason?: string;
  plugin?: Plugin<never>;
  scope?: Scope;
  lifecycle?: Lifecycle<never>;
  /** The checked section it was set up with: a reload that changes nothing of it does not concern the plugin. */
  section?: unknown;
  /** Compares it with what was trusted, for an installed package. */
  requireUndrifted?: RequireUndrifted;
  /** The process that it runs in, for an isolated one. */
  isolated?: Isolated;
  took: { load: number; setup: number; start: number };
  failures: number;
}

export function createEntry(source: Source, host: object, broke: Entry["broke"]): Entry {
  return { source, host, broke, id: source.id, state: "known", took: { load: 0, setup: 0, start: 0 }, failures: 0 };
}

/** It does not run, for that reason; the error behind it goes where failures are told. */
export function failEntry(entry: Entry, reason: string, error?: unknown): void {
  entry.state = "failed";
  entry.reason = reason;
  entry.broke(entry, reason, error);
}

/** A phase of its life failed: said with the phase and the place in its files. */
export const failPhase = (entry: Entry, phase: FailedPhase, error: unknown): void => failEntry(entry, describeFailure(error, phase, entry.source), error);

/** Refuses an installed package that is not what was trusted. */
export type RequirePinned = (name: string, folder: string) => Promise<RequireUndrifted>;

/** Imports a plugin's code, here or in a process of its own. */
export type ImportCode = (entry: Entry) => Promise<Plugin<never>>;

/** Import the code and check that it is what its manifest says; an installed package must be what was trusted, before any of it runs. */
export async function loadEntry(entry: Entry, limits: PhaseLimits, requirePinned: RequirePinned, around: Around, importCode: ImportCode): Promise<void> {
  if (entry.plugin !== undefined) return;
  let began = performance.now();
  try {
    const { installed } = entry.source;
    if (installed !== undefined) entry.requireUndrifted = await requirePinned(installed.name, installed.folder);
    // A scope of its own: what the module starts or throws at its top level is traced back to it.
    const scope = createScope(entry.id as Scope["id"], () => {}, entry.source.id, entry.host);
    requireBuilt(entry.source);
    const late = `plugin ${entry.id} took longer than ${limits.loadMs} ms to import; what its top level awaits belongs into start`;
    const asked = performance.now();
    const plugin = await around(entry, "import", () => {
      // The time it waited for its turn is not its own.
      began += performance.now() - asked;
      return within(
        limits.loadMs,
        late,
        inScope(scope, () => importCode(entry)),
      );
    });
    await checkPlugin(entry.source, plugin);
    entry.plugin = plugin;
    entry.id = `${plugin.kind}-${plugin.name}`;
  } catch (error) {
    failPhase(entry, "import", error);
  }
  entry.took.load = performance.now() - began;
}

/** Run `setup`: registrations only. On failure everything it had registered is gone again. */
export async function setUpEntry(
  entry: Entry,
  section: unknown,
  context: (plugin: Plugin<never>, scope: Scope) => PluginContext<never>,
  changed: () => void,
  limits: PhaseLimits,
  around: Around,
): Promise<void> {
  const { plugin } = entry;
  if (plugin === undefined) return;
  const began = performance.now();
  const scope = createScope(entry.id as Scope["id"], changed, entry.source.id, entry.host, entry.source.manifest);
  entry.scope = scope;
  entry.section = section;
  try {
    const ctx = context(plugin, scope);
    const answer = await around(entry, "setup", async () =>
      call({ scope, what: "setup", limitMs: limits.setupMs, run: () => plugin.setup(ctx) as unknown }, []),
    );
    entry.lifecycle = (answer ?? {}) as Lifecycle<never>;
    entry.requireUndrifted?.(plugin.capabilities, registersOf(scope));
    entry.state = "loaded";
    delete entry.reason;
  } catch (error) {
    failPhase(entry, "setup", error);
    disposeScope(scope);
    delete entry.scope;
  }
  entry.took.setup = performance.now() - began;
}

/** Connect. A start that fails or takes too long is stopped again and listed as failed. */
export async function startEntry(entry: Entry, limits: PhaseLimits, around: Around): Promise<void> {
  const { scope, lifecycle } = entry;
  if (entry.state !== "loaded" || scope === undefined || lifecycle === undefined) return;
  let began = performance.now();
  try {
    const limitMs = entry.source.manifest?.startTimeoutMs ?? limits.startMs;
    await around(entry, "start", async () => {
      began = performance.now();
      return call({ scope, what: "start", limitMs, run: () => lifecycle.start?.() }, []);
    });
    // A stop may have overtaken a slow start.
    if (entry.scope === scope) entry.state = "running";
  } catch (error) {
    if (entry.scope === scope) {
      await stopEntry(entry, limits);
      failPhase(entry, "start", error);
    }
  }
  entry.took.start = performance.now() - began;
}

/** Disconnect and drop all it registered. Answers what went wrong, if anything did. */
export async function stopEntry(entry: Entry, limits: PhaseLimits): Promise<unknown[]> {
  const { scope, lifecycle } = entry;
  if (scope === undefined) return [];
  delete entry.scope;
  delete entry.lifecycle;
  const errors: unknown[] = [];
  try {
    await call({ scope, what: "stop", limitMs: limits.stopMs, run: () => lifecycle?.stop?.() }, []);
  } catch (error) {
    errors.push(error);
  }
  errors.push(...disposeScope(scope));
  entry.failures += scope.failures;
  entry.state = "stopped";
  return errors;
}

export function entryStatus(entry: Entry): PluginStatus {
  const { scope, plugin, source, isolated } = entry;
  const version = source.version ?? plugin?.version;
  const process = isolated?.status();
  const reason =
    entry.reason ?? waitsFor(entry) ?? (process?.state === "waiting" && entry.state === "running" ? `${process.lastEnd}; it is started again` : undefined);
  return {
    id: entry.id,
    ...(version === undefined ? {} : { version }),
    state: entry.state,
    ...(reason === undefined ? {} : { reason }),
    source: source.from,
    took: { load: Math.round(entry.took.load), setup: Math.round(entry.took.setup), start: Math.round(entry.took.start) },
    provides: scope === undefined ? [] : describeProvided(scope),
    hooks: scope === undefined ? [] : [...new Set(scope.taps.map((tap) => tap.hook))],
    capabilities: plugin?.capabilities ?? source.manifest?.capabilities ?? [],
    failures: entry.failures + (scope?.failures ?? 0),
    ...(isolated === undefined || process === undefined ? {} : { isolation: { ...process, walls: isolated.walls } }),
  };
}

/** What an added plugin that nothing asks for waits for: its operator meant it to run. */
function waitsFor({ state, source }: Entry): string | undefined {
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

async function within<T>(ms: number, late: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(late)), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
