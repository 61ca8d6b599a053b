import type { Action } from "../action.ts";
import type { Agent } from "../agents.ts";
import type {
  Capability,
  DaemonHealth,
  Files,
  GuardedFetch,
  HealthReader,
  Jobs,
  MediaReader,
  Render,
  Spawn,
  StreamingFetch,
  Traces,
  Warm,
} from "../capabilities.ts";
import type { ObjectSchema } from "../config.ts";
import { svcError } from "../errors.ts";
import type { Hooks } from "../hooks.ts";
import type { Models } from "../models.ts";
import { readPictures } from "../picture.ts";
import type { Log, Plugin, PluginContext } from "../plugin.ts";
import { PROVIDED } from "../provided.ts";
import type { Sockets } from "../sockets.ts";
import type { Store } from "../store.ts";
import { createFakeActions } from "./fake-actions.ts";
import { streamingFetch } from "./fake-fetch.ts";
import { callRoute, type FakeAnswer, type FakeRequest } from "./fake-http.ts";
import { endingSockets } from "./fake-sockets.ts";
import { createFakeTasks, type FakeTasks } from "./fake-tasks.ts";
import { createMemoryEvents, type MemoryEvents } from "./memory-events.ts";
import { createMemoryStore } from "./memory-store.ts";
import { createMemoryWarm } from "./memory-warm.ts";
import { createProvide, emptyRegister, enlist, type Registered } from "./registered.ts";

/** What the context is made of. A capability left out works in memory where that makes sense; the others throw `SVC_TESTING_NOT_GIVEN` when called. */
export interface FakeOptions<C> {
  readonly config?: C;
  readonly env?: Readonly<Record<string, string>>;
  readonly agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[];
  readonly tasks?: FakeTasks;
  readonly store?: Store;
  /** Actions of other plugins, beside those that the plugin itself provides. */
  readonly actions?: readonly Action[];
  /** `fetch.stream` answers the same in one piece, unless it brings a `stream` of its own. */
  readonly fetch?: GuardedFetch;
  readonly sockets?: Sockets;
  readonly files?: Files;
  readonly spawn?: Spawn;
  readonly warm?: Warm;
  /** Left out: pictures are read from their `data`; no file is. */
  readonly media?: MediaReader;
  /** Of its members as many as the plugin uses. */
  readonly models?: Partial<Models>;
  readonly render?: Render;
  readonly traces?: Traces;
  readonly health?: HealthReader;
}

/** A context that records. */
export interface FakeContext<C> extends PluginContext<C> {
  readonly registered: Registered;
  readonly tasks: FakeTasks;
  readonly events: MemoryEvents;
  readonly logged: readonly { readonly level: keyof Log; readonly facts: object | string; readonly text?: string }[];
  /** Calls a registered route as the daemon would. */
  request(method: string, path: string, request?: FakeRequest): Promise<FakeAnswer>;
  /** Aborts `signal`, as the end of the plugin does. */
  end(): void;
}

/**
 * A context for one plugin in a test: it records registrations, and an undeclared capability throws `SVC_CAPABILITY_UNDECLARED` at the
 * first touch, as in the daemon. Call `plugin.setup(context)` with it.
 */
export function createFakeContext<C = Record<string, unknown>>(
  plugin: Pick<Plugin<never>, "kind" | "name" | "capabilities"> & { readonly config?: { readonly at: string; readonly schema?: ObjectSchema } },
  options: FakeOptions<C> = {},
): FakeContext<C> {
  const id = `${plugin.kind}-${plugin.name}` as const;
  const registered = emptyRegister();
  const logged: { level: keyof Log; facts: object | string; text?: string }[] = [];
  const abort = new AbortController();
  const tasks = options.tasks ?? createFakeTasks();
  const events = createMemoryEvents();
  const store = options.store ?? createMemoryStore();
  const warm = options.warm ?? createMemoryWarm();
  const agents = (options.agents ?? []).map(completeAgent);
  const actions = createFakeActions(() => [...(options.actions ?? []), ...registered.actions]);
  const need = (capability: Capability): void => {
    if (plugin.capabilities.includes(capability)) return;
    throw svcError("SVC_CAPABILITY_UNDECLARED", `The plugin ${id} uses '${capability}' without declaring it; add it to its capabilities and its manifest.`, {
      capability,
    });
  };
  const lend = <T>(capability: Capability, thing: T): T => {
    need(capability);
    return thing;
  };
  const log = (level: keyof Log) => (facts: object | string, text?: string) => void logged.push(text === undefined ? { level, facts } : { level, facts, text });
  return {
    id,
    config: options.config ?? ({} as C),
    node: { id: "node_test", name: "test" },
    log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    signal: abort.signal,
    hooks: createHooks(registered),
    provide: createProvide(
      registered,
      (kind) => {
        const { capability } = PROVIDED[kind];
        if (capability !== undefined) need(capability);
      },
      (kind, name) => {
        throw svcError("SVC_PLUGIN_NAME_TAKEN", `A ${kind} '${name}' is already provided; choose another name.`);
      },
    ),
    registered,
    logged,
    request: (method, path, request) => callRoute(registered.routes, method, path, request),
    end: () => abort.abort(),
    env(name) {
      if (!plugin.capabilities.includes("env:*")) need(`env:${name}`);
      return options.env?.[name] || undefined;
    },
    get agents() {
      return lend("agents", { list: () => agents, get: (wanted: string) => agents.find((agent) => agent.id === wanted) });
    },
    get tasks() {
      return lend("tasks", tasks);
    },
    get events() {
      return lend("events", events);
    },
    get traces() {
      return lend("traces", options.traces ?? { get: async () => undefined, list: async () => [] });
    },
    get actions() {
      return lend("actions", actions);
    },
    get store() {
      return lend("store", store);
    },
    get jobs() {
      return lend("jobs", createJobs(registered));
    },
    get files() {
      const files = lend("files", options.files ?? notGiven<Files>("files"));
      return {
        get own() {
          return files.own;
        },
        under: (...roots: readonly string[]) => files.under(...roots),
        get data() {
          return lend("data-folder", files).data;
        },
      };
    },
    get fetch() {
      return lend("fetch", options.fetch === undefined ? notGiven<StreamingFetch>("fetch") : streamingFetch(options.fetch));
    },
    get sockets() {
      return lend("sockets", options.sockets === undefined ? notGiven<Sockets>("sockets") : endingSockets(options.sockets, abort.signal));
    },
    get spawn() {
      return lend("spawn", options.spawn ?? notGiven<Spawn>("spawn"));
    },
    get warm() {
      return lend("warm", warm);
    },
    get media() {
      return lend("media", options.media ?? { pictures: (media) => readPictures(media, async () => undefined) });
    },
    get models() {
      return lend("models", { ...NO_MODELS, ...options.models });
    },
    get render() {
      return lend("render", options.render ?? notGiven<Render>("render"));
    },
    get health() {
      return lend("health", options.health ?? (() => WELL));
    },
  };
}

function createHooks(registered: Registered): Hooks {
  const point = (hook: keyof Hooks) => ({ tap: (tap: (...args: never[]) => unknown, options = {}) => void registered.taps.push({ hook, tap, options }) });
  return {
    inbound: point("inbound"),
    route: point("route"),
    assembleContext: point("assembleContext"),
    dispatch: point("dispatch"),
    deliver: point("deliver"),
    emit: point("emit"),
  };
}

function createJobs({ jobs }: Registered): Jobs {
  return {
    cron(id, expression, timezone, run) {
      const at = jobs.findIndex((job) => job.id === id);
      if (at !== -1) jobs.splice(at, 1);
      return enlist(jobs, { kind: "cron", id, expression, ...(timezone === undefined ? {} : { timezone }), run });
    },
    after: (ms, run) => enlist(jobs, { kind: "after", ms, run }),
    every: (ms, run) => enlist(jobs, { kind: "every", ms, run }),
    missed: async () => [],
  };
}

function completeAgent(agent: Pick<Agent, "id"> & Partial<Agent>): Agent {
  return { name: agent.id, workspace: `/daemon/workspace/${agent.id}`, tier: "local", mentions: [], access: "private", settings: {}, ...agent };
}

const WELL: DaemonHealth = { ok: true, state: "running", uptimeSeconds: 1, tasks: { running: 0, queued: 0 }, plugins: [] };
const NO_MODELS: Models = { extract: notGiven("models.extract"), stream: notGiven("models.stream"), usable: notGiven("models.usable") };

/** Throws at the first call or member, so that a plugin may still hold the capability in its setup. */
function notGiven<T extends object>(capability: string): T {
  const refuse = (): never => {
    throw svcError("SVC_TESTING_NOT_GIVEN", `The test gave createFakeContext no '${capability}'; pass one in its options.`);
  };
  return new Proxy(refuse, { get: refuse }) as unknown as T;
}
