import type { Action } from "../action.ts";
import type { Agent } from "../agents.ts";
import type { CapabilityTypes } from "../capabilities.ts";
import type { Schema } from "../config.ts";
import {
  buildContext,
  type CapabilitySources,
  declarationCheck,
  emptySection,
  guardedFiles,
  guardedTasks,
  type RequireCapability,
  sourceOf,
} from "../context.ts";
import { svcError } from "../errors.ts";
import { eventFault } from "../event-fault.ts";
import type { Envelope, Publication } from "../events.ts";
import type { GuardedFetch } from "../fetch.ts";
import type { DaemonHealth } from "../health.ts";
import type { Hooks } from "../hooks.ts";
import type { Jobs } from "../jobs.ts";
import type { Models } from "../models.ts";
import { readPictures } from "../picture.ts";
import type { Log, Plugin, PluginContext } from "../plugin.ts";
import { PROVIDED } from "../provided.ts";
import type { ServiceTypes } from "../services.ts";
import { endingStore } from "../working-store.ts";
import { createFakeActions } from "./fake-actions.ts";
import { streamingFetch } from "./fake-fetch.ts";
import { callRoute, type FakeAnswer, type FakeRequest } from "./fake-http.ts";
import { createFakeServices } from "./fake-services.ts";
import { endingSockets } from "./fake-sockets.ts";
import { createFakeTasks, type FakeTasks } from "./fake-tasks.ts";
import { createMemoryEvents, type MemoryEvents } from "./memory-events.ts";
import { createMemorySettings, type MemorySettingsOptions } from "./memory-settings.ts";
import { createMemoryStore } from "./memory-store.ts";
import { createMemoryWarm } from "./memory-warm.ts";
import { createProvide, emptyRegister, enlist, type Registered } from "./registered.ts";

/** Capabilities that the test passes directly; the others are built from its options. */
type Given = Omit<
  { readonly [K in keyof CapabilityTypes]?: CapabilityTypes[K] },
  "agents" | "tasks" | "actions" | "events" | "jobs" | "fetch" | "models" | "services"
>;

/** Options of the fake context. An omitted capability works in memory where that makes sense; the others throw `SVC_TESTING_NOT_GIVEN` when called. */
export interface FakeOptions<C> extends Given {
  readonly config?: C;
  readonly env?: Readonly<Record<string, string>>;
  readonly agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[];
  readonly tasks?: FakeTasks;
  /** Actions of other plugins, beside those that the plugin itself provides. */
  readonly actions?: readonly Action[];
  /** `fetch.stream` answers the same in one piece, unless it brings a `stream` of its own. */
  readonly fetch?: GuardedFetch;
  /** Of its members as many as the plugin uses. */
  readonly models?: Partial<Models>;
  /** Services of other plugins by name, beside those of the plugin itself. */
  readonly services?: Partial<ServiceTypes>;
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
 * Creates the context of one plugin in a test: it records registrations, and an undeclared capability throws `SVC_CAPABILITY_UNDECLARED` at the first
 * access, as in the daemon. Call `plugin.setup(context)` with it.
 */
export function createFakeContext<C = Record<string, unknown>>(
  plugin: Pick<Plugin<never>, "kind" | "name" | "capabilities"> & { readonly config?: { readonly at: string; readonly schema?: Schema } },
  options: FakeOptions<C> = {},
): FakeContext<C> {
  const id = `${plugin.kind}-${plugin.name}` as const;
  const registered = emptyRegister();
  const logged: { level: keyof Log; facts: object | string; text?: string }[] = [];
  const abort = new AbortController();
  const agents = (options.agents ?? []).map(completeAgent);
  const need = declarationCheck(id, plugin.capabilities);
  const { agents: _agents, tasks, actions = [], fetch, files, sockets, models, services, store, config: _config, env, ...given } = options;
  const sources: CapabilitySources = {
    agents: () => ({ list: () => agents, get: (wanted) => agents.find((agent) => agent.id === wanted) }),
    tasks: () => guardedTasks(tasks ?? createFakeTasks(), need),
    events: () => pluginEvents(id, createMemoryEvents(NODE.id), need),
    traces: () => ({ get: async () => undefined, list: async () => [], ids: async () => [] }),
    actions: () => createFakeActions(() => [...actions, ...registered.actions]),
    store: () => endingStore(store ?? createMemoryStore(), abort.signal, { warn: log("warn") }),
    jobs: () => createJobs(registered),
    files: () => guardedFiles(files ?? notGiven("files"), need),
    fetch: () => (fetch === undefined ? notGiven("fetch") : streamingFetch(fetch)),
    sockets: () => (sockets === undefined ? notGiven("sockets") : endingSockets(sockets, abort.signal)),
    warm: createMemoryWarm,
    // Pictures are read from their `data`; no file is.
    media: () => ({ pictures: (media) => readPictures(media, async () => undefined) }),
    models: () => ({ ...NO_MODELS, ...models }),
    health: () => Object.assign(() => WELL, { nodes: async () => [] }),
    services: () => createFakeServices(registered, services),
    settings: () => createMemorySettings(settingsOf(plugin, options.config)),
  };
  const inMemory = sourceOf(sources, notGiven);
  const log = (level: keyof Log) => (facts: object | string, text?: string) => void logged.push(text === undefined ? { level, facts } : { level, facts, text });
  const context = buildContext<C>({
    id,
    config: options.config ?? (emptySection(plugin.config?.schema) as C),
    node: NODE,
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
    need,
    source: (name) => (given as Partial<CapabilityTypes>)[name] ?? inMemory(name),
    variable: (name) => env?.[name],
  });
  const recorder = {
    registered,
    logged,
    request: (method: string, path: string, request?: FakeRequest) => callRoute(registered.routes, method, path, request),
    end: () => abort.abort(),
  };
  return Object.assign(context as FakeContext<C>, recorder);
}

/** svc.json with nothing but the plugin's section. */
function settingsOf({ capabilities, config }: Parameters<typeof createFakeContext>[0], own: unknown): MemorySettingsOptions {
  const { at, schema } = config ?? {};
  const document = at === undefined || own === undefined ? {} : at.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), own);
  return {
    document: document as Record<string, unknown>,
    all: capabilities.includes("all-settings"),
    ...(at === undefined || schema === undefined ? {} : { at, schema }),
  };
}

const NODE = { id: "node_test", name: "test" };

/**
 * As in the daemon: what is published must be of use to listeners, and taking in events of other machines needs a permission. A test publishes the
 * daemon's own events here, too.
 */
function pluginEvents(plugin: string, events: MemoryEvents, need: RequireCapability): MemoryEvents {
  const { inject, publish } = events;
  return Object.assign(events, {
    publish(event: Publication) {
      const fault = eventFault(event);
      if (fault !== undefined) throw svcError("SVC_EVENT_INVALID", `Plugin ${plugin} publishes an event '${event?.type}' that is not told: ${fault}.`);
      return publish(event);
    },
    inject(envelope: Envelope) {
      need("events:peers");
      return inject(envelope);
    },
  });
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
    at: (time, run) => enlist(jobs, { kind: "at", time: Number(time), run }),
    every(ms, run) {
      if (!(ms >= 1)) throw svcError("SVC_INTERVAL_INVALID", `'${ms}' is no interval; give milliseconds, 1 or more.`);
      return enlist(jobs, { kind: "every", ms, run });
    },
    next: async () => [],
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
