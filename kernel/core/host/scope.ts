import type { Action, AgentTool, Authority, Channel, HttpRoute, Manifest, PluginId, ProvidedServer, TapOptions, Tier } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import { requireDeclared } from "./registered.ts";

export type HookName = "inbound" | "route" | "assembleContext" | "dispatch" | "deliver" | "emit";

/** One tap as registered. tapable cannot remove taps: hooks are compiled afresh from these. */
export interface Tap {
  readonly scope: Scope;
  readonly hook: HookName;
  readonly run: (...args: never[]) => unknown;
  readonly options: TapOptions;
  readonly breaker: Breaker;
}

/** A provided channel and whether its platform is connected. */
export interface ProvidedChannel {
  readonly scope: Scope;
  readonly channel: Channel;
  state: "connecting" | "ready" | "down";
  reason?: string;
}

/** Everything one plugin registered. It dies as a whole. */
export interface Scope {
  readonly id: PluginId;
  /** Its id as known before any code ran: what a quarantine is kept under. */
  readonly origin: string;
  /** The host that made it: kernels that share a process each answer for their own. */
  readonly host: object | undefined;
  readonly taps: Tap[];
  readonly channels: ProvidedChannel[];
  readonly tiers: Tier[];
  readonly actions: Action[];
  readonly routes: HttpRoute[];
  readonly servers: ProvidedServer[];
  readonly authorities: Authority[];
  readonly tools: AgentTool[];
  /** Cron jobs that it has set, as `cron <id> <expression>`. */
  readonly crons: Set<string>;
  /** What its manifest says that it registers, where it says so: nothing else may be. */
  readonly declared?: readonly string[];
  /** The hosts that its manifest names, where it names any. */
  readonly network?: readonly string[];
  /** Run, newest first, when the scope is disposed: subscriptions, jobs, children. */
  readonly disposers: Set<() => void>;
  readonly abort: AbortController;
  /** Calls that failed since setup. */
  failures: number;
  lastFailure?: string;
  /** Called after each change of what is registered. */
  changed: () => void;
}

/** Where a route stands, by whatever names its parameters go: two routes of one place cannot both be served. */
export const placeOf = ({ server = "daemon", method, path }: HttpRoute): string => `${server} ${method} ${path.replace(/:\w+/g, ":*")}`;

export function createScope(
  id: PluginId,
  changed: () => void,
  origin: string = id,
  host?: object,
  manifest: Pick<Manifest, "registers" | "network"> = {},
): Scope {
  const { registers: declared, network } = manifest;
  return {
    id,
    origin,
    host,
    taps: [],
    channels: [],
    tiers: [],
    actions: [],
    routes: [],
    servers: [],
    authorities: [],
    tools: [],
    crons: new Set(),
    ...(declared === undefined ? {} : { declared }),
    ...(network === undefined ? {} : { network }),
    disposers: new Set(),
    abort: new AbortController(),
    failures: 0,
    changed,
  };
}

export function addTap(scope: Scope, hook: HookName, run: Tap["run"], options: TapOptions): void {
  if (typeof run !== "function") throw fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind: `a tap of ${hook}`, reason: "it is no function" });
  requireDeclared(scope, `hook ${hook}`);
  // A copy: what a plugin hands over is looked at here and never again.
  scope.taps.push({ scope, hook, run, options: { ...options }, breaker: createBreaker() });
  scope.changed();
}

/**
 * Ties something to the scope: `dispose` runs when that ends, at once where it has ended already. The answer runs it earlier; `dispose`
 * may run more than once.
 */
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

/** Ends all that belongs to the scope. A disposer that throws does not keep the others from running; the errors come back. */
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
  for (const list of [scope.taps, scope.channels, scope.tiers, scope.actions, scope.routes, scope.servers, scope.authorities, scope.tools]) list.length = 0;
  scope.changed();
  return errors;
}

/** What it provides, for people: `tier local`, `action http.fetch`, `route POST /x`. */
export function describeProvided(scope: Scope): string[] {
  return [
    ...scope.channels.map(({ channel }) => `channel ${channel.name}`),
    ...scope.tiers.map((tier) => `tier ${tier.name}`),
    ...scope.actions.map((action) => `action ${action.name}`),
    ...scope.routes.map((route) => `route ${route.method} ${route.path}`),
    ...scope.servers.map(({ name, host, port }) => `server ${name} ${host}:${port}`),
    ...scope.authorities.map((authority) => `authority ${authority.name}`),
    ...scope.tools.map((tool) => `tool ${tool.name}`),
  ];
}
