import { setMaxListeners } from "node:events";
import type { ContextPhase, Manifest, Plugin, PluginId, Provided, ProvidedKind, TapOptions } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import { PROVIDED_KINDS } from "./kinds.ts";
import { requireDeclared } from "./registered.ts";

/** The six hook points. */
export type HookName = "inbound" | "route" | "assembleContext" | "dispatch" | "deliver" | "emit";

/** One tap as registered. tapable cannot remove taps: hooks are compiled afresh from these. */
export interface Tap {
  readonly scope: Scope;
  readonly hook: HookName;
  readonly run: (...args: never[]) => unknown;
  readonly options: TapOptions;
  readonly breaker: Breaker;
}

/** A provided thing and the plugin that answers for it. */
export interface Owned<T> {
  readonly scope: Scope;
  readonly thing: T;
}

/** A provided channel and whether its platform is connected. */
export interface ProvidedChannel extends Owned<Provided["channel"]> {
  state: "connecting" | "ready" | "down";
  reason?: string;
}

/** A route that answers `HEAD` as well, itself. */
export type FileRoute = Provided["route"] & { readonly head: true };

/** Provided files and the route that serves them. */
export interface ServedFiles extends Owned<Provided["files"]> {
  readonly route: FileRoute;
}

/** A provided thing with the kernel's own state beside it. */
export type OwnedBy<K extends ProvidedKind> = K extends "channel" ? ProvidedChannel : K extends "files" ? ServedFiles : Owned<Provided[K]>;

/** All registrations of one plugin. They end as a whole. */
export interface Scope {
  readonly id: PluginId;
  /** Its id as known before any code ran: the key of a quarantine. */
  readonly origin: string;
  /** The host that made it: kernels that share a process each answer for their own. */
  readonly host: object | undefined;
  readonly taps: Tap[];
  /** Its things by kind, in the order of registration. */
  readonly things: { readonly [K in ProvidedKind]: OwnedBy<K>[] };
  /** Cron jobs that it has set, as `cron <id> <expression>`. */
  readonly cronJobs: Set<string>;
  /** Registrations declared in its manifest, if it declares them: no others are allowed. */
  readonly declared?: readonly string[];
  /** The hosts that its manifest names, where it names any. */
  readonly network?: readonly string[];
  /** The folder of the plugin's package, where it has one. */
  readonly home?: string;
  /** The plugin's section of the configuration, as it was set up or reloaded with last. */
  section?: unknown;
  /** The plugin's description of its routes' answers. */
  answers?: Plugin<never>["answers"];
  /** Run, newest first, when the scope is disposed: listeners, jobs, children. */
  readonly disposers: Set<() => void>;
  readonly abort: AbortController;
  /** Calls that failed since setup. */
  failures: number;
  lastFailure?: string;
  /** Called after each change of the registrations. */
  changed: () => void;
}

/** A scope with nothing registered. */
export function createScope(
  id: PluginId,
  changed: () => void,
  origin: string = id,
  host?: object,
  manifest: Pick<Manifest, "registers" | "network"> = {},
  home?: string,
): Scope {
  const { registers: declared, network } = manifest;
  const abort = new AbortController();
  // Each call of the plugin's services adds a listener until it is answered, and some wait for a person.
  setMaxListeners(0, abort.signal);
  return {
    id,
    origin,
    host,
    taps: [],
    things: Object.fromEntries(PROVIDED_KINDS.map((kind) => [kind, []])) as unknown as Scope["things"],
    cronJobs: new Set(),
    ...(declared === undefined ? {} : { declared }),
    ...(network === undefined ? {} : { network }),
    ...(home === undefined ? {} : { home }),
    disposers: new Set(),
    abort,
    failures: 0,
    changed,
  };
}

/** Where the phases of `assembleContext` are among numbered stages. */
const PHASES: Readonly<Record<ContextPhase, number>> = { session: -100, history: -50, strategy: -10, layers: 0, fit: 100 };

/** Registers a tap. Throws `SVC_PLUGIN_PROVIDES` for one that cannot be called or ordered, and `SVC_PLUGIN_UNDECLARED`. */
export function addTap(scope: Scope, hook: HookName, run: Tap["run"], options: TapOptions): void {
  const refuse = (reason: string) => fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind: `a tap of ${hook}`, reason });
  if (typeof run !== "function") throw refuse("it is no function");
  const { phase } = options;
  if (phase !== undefined && hook !== "assembleContext") throw refuse(`only assembleContext has phases, such as '${phase}'`);
  if (phase !== undefined && !Object.hasOwn(PHASES, phase)) throw refuse(`its phase '${phase}' must be one of ${Object.keys(PHASES).join(", ")}`);
  requireDeclared(scope, `hook ${hook}`);
  // Copy the options: later changes by the plugin have no effect.
  scope.taps.push({ scope, hook, run, options: { ...options, ...(phase === undefined ? {} : { stage: PHASES[phase] }) }, breaker: createBreaker() });
  scope.changed();
}

/** Calls `dispose` when the scope ends, at once if it has ended. The returned function calls it earlier; `dispose` may run more than once. */
export function onDispose(scope: Scope, dispose: () => void): () => void {
  if (scope.abort.signal.aborted) dispose();
  else scope.disposers.add(dispose);
  return () => {
    scope.disposers.delete(dispose);
    dispose();
  };
}

/** Take a thing back that was provided. */
export function withdraw<T>(scope: Scope, list: T[], thing: T): void {
  const at = list.indexOf(thing);
  if (at === -1) return;
  list.splice(at, 1);
  scope.changed();
}

/** Disposes everything in the scope. A disposer that throws does not prevent the others from running; the errors are returned. */
export function disposeScope(scope: Scope): unknown[] {
  const errors: unknown[] = [];
  scope.abort.abort();
  const disposers = [...scope.disposers].reverse();
  scope.disposers.clear();
  for (const dispose of disposers) {
    try {
      dispose();
    } catch (error) {
      errors.push(error);
    }
  }
  for (const list of [scope.taps, ...Object.values(scope.things)]) list.length = 0;
  scope.changed();
  return errors;
}
