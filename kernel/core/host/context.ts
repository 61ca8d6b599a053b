import type {
  Actions,
  Agents,
  Capability,
  FetchStreamInit,
  Files,
  GuardedFetch,
  HealthReader,
  Jobs,
  Log,
  MediaReader,
  Models,
  Plugin,
  PluginContext,
  Render,
  Sockets,
  Spawn,
  Store,
  StreamingFetch,
  TapOptions,
  Tasks,
  Traces,
  Warm,
} from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import type { Bus } from "../bus/bus.ts";
import { within } from "./call.ts";
import type { ProvideDeps } from "./kinds.ts";
import { lending } from "./lend.ts";
import { createProvide } from "./provide.ts";
import { requireDeclared } from "./registered.ts";
import { addTap, type HookName, onDispose, type Scope } from "./scope.ts";

/** What the kernel lends to plugins. Functions taking a scope make one for that plugin. */
export interface Services extends ProvideDeps {
  readonly node: { readonly id: string; readonly name: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bus: Bus;
  readonly tasks: Tasks;
  readonly agents: Agents;
  readonly traces: Traces;
  readonly actions: Actions;
  log(id: string): Log;
  store(id: string): Store;
  jobs(scope: Scope): Jobs;
  files(id: string): Files;
  fetch(isolated?: boolean): StreamingFetch;
  sockets(scope: Scope, section: unknown, isolated?: boolean): Sockets;
  spawn(scope: Scope): Spawn;
  warm(scope: Scope): Warm;
  media(): MediaReader;
  models(): Models;
  health: HealthReader;
  render(): Render;
  /** Makes capabilities ready that no plugin has declared. */
  ensure(capabilities: readonly Capability[]): Promise<void>;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** Builds the context of one plugin. An undeclared capability throws at the first touch. */
export function createContext(plugin: Plugin<never>, scope: Scope, config: unknown, services: Services): PluginContext<never> {
  const declared = new Set<Capability>(plugin.capabilities);
  const need = (capability: Capability) => {
    if (!declared.has(capability)) throw fail("SVC_CAPABILITY_UNDECLARED", { plugin: scope.id, capability, where: "its capabilities" });
  };
  const lend = lending(need);
  const point = (hook: HookName) => ({ tap: (run: (...args: never[]) => unknown, options: TapOptions = {}) => addTap(scope, hook, run, options) });
  const lent = {
    agents: lend("agents", () => services.agents),
    tasks: lend("tasks", () => services.tasks),
    traces: lend("traces", () => services.traces),
    actions: lend("actions", () => services.actions),
    events: lend("events", () => scopedEvents(scope, services)),
    store: lend("store", () => services.store(scope.id)),
    jobs: lend("jobs", () => declaredJobs(scope, services.jobs(scope))),
    files: lend("files", () => {
      const { own, under, data } = services.files(scope.id);
      return {
        own,
        under,
        get data() {
          need("data-folder");
          return data;
        },
      };
    }),
    fetch: lend("fetch", () => endingFetch(scope, services.fetch())),
    sockets: lend("sockets", () => services.sockets(scope, config)),
    spawn: lend("spawn", () => services.spawn(scope)),
    warm: lend("warm", () => services.warm(scope)),
    media: lend("media", () => services.media()),
    models: lend("models", () => services.models()),
    health: lend("health", () => services.health),
    render: lend("render", () => services.render()),
  };
  return {
    id: scope.id,
    config: config as never,
    node: services.node,
    log: services.log(scope.id),
    signal: scope.abort.signal,
    hooks: {
      inbound: point("inbound"),
      route: point("route"),
      assembleContext: point("assembleContext"),
      dispatch: point("dispatch"),
      deliver: point("deliver"),
      emit: point("emit"),
    },
    provide: createProvide(scope, services, need),
    get agents() {
      return lent.agents();
    },
    get tasks() {
      return lent.tasks();
    },
    get events() {
      return lent.events();
    },
    get traces() {
      return lent.traces();
    },
    get actions() {
      return lent.actions();
    },
    get store() {
      return lent.store();
    },
    get jobs() {
      return lent.jobs();
    },
    get files() {
      return lent.files();
    },
    get fetch() {
      return lent.fetch();
    },
    get sockets() {
      return lent.sockets();
    },
    get spawn() {
      return lent.spawn();
    },
    get warm() {
      return lent.warm();
    },
    get media() {
      return lent.media();
    },
    get models() {
      return lent.models();
    },
    get health() {
      return lent.health();
    },
    get render() {
      return lent.render();
    },
    env(name) {
      if (!declared.has("env:*")) need(`env:${name}`);
      return services.env[name] || undefined;
    },
  };
}

/** What streams may last as long as the plugin. */
function endingFetch({ abort }: Scope, fetch: StreamingFetch): StreamingFetch {
  const whole: GuardedFetch = (url, init) => fetch(url, init);
  return Object.assign(whole, {
    stream: (url: string, init: FetchStreamInit = {}) =>
      fetch.stream(url, { ...init, signal: init.signal === undefined ? abort.signal : AbortSignal.any([abort.signal, init.signal]) }),
  });
}

/** Its cron jobs are part of what it registers. */
function declaredJobs(scope: Scope, jobs: Jobs): Jobs {
  return {
    ...jobs,
    cron(id, expression, timezone, run) {
      const named = `cron ${id} ${expression}`;
      requireDeclared(scope, named);
      const end = jobs.cron(id, expression, timezone, run);
      scope.crons.add(named);
      return () => {
        scope.crons.delete(named);
        end();
      };
    },
  };
}

/** What only the daemon knows: others stand on it. */
const OWN_TYPES = /^(?:task|plugin|delivery):|^message:matched$/;

/** The bus for one plugin: its listeners end with it, and one that throws is counted against it. */
function scopedEvents(scope: Scope, services: Services): PluginContext["events"] {
  const { bus } = services;
  return {
    publish(event) {
      if (OWN_TYPES.test(event.type)) throw fail("SVC_EVENT_RESERVED", { plugin: scope.id, type: event.type });
      return bus.publish(event, scope.id);
    },
    recent: (since) => bus.recent(since === undefined ? {} : { since }),
    root: (entry) => bus.root(entry),
    within: (root, work) => bus.within(root, work),
    subscribe(listener, type) {
      const stop = bus.subscribe((envelope) => {
        const failed = (error: unknown) => services.failed(scope, "event listener", error);
        try {
          const answer: unknown = within(scope, () => listener(envelope));
          if (isPromise(answer)) answer.then(undefined, failed);
        } catch (error) {
          failed(error);
        }
      }, type);
      return onDispose(scope, stop);
    },
  };
}
