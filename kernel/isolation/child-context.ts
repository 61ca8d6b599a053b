import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  type ActionEnvelope,
  type Actions,
  type Agent,
  type Capability,
  type Envelope,
  type Events,
  type Log,
  type ModelEvent,
  type Models,
  type PluginContext,
  type PluginId,
  type Render,
  reasonOf,
  tierFailure,
} from "@svc/sdk";
import { buildContext, type CapabilitySources, type RequireCapability, sourceOf } from "@svc/sdk/host";
import { describeError, pluginLog } from "../base/log-facts.ts";
import { publishable } from "../base/publishable.ts";
import { type ChildCalls, createChildCalls } from "./child-calls.ts";
import { remoteFetch } from "./child-fetch.ts";
import { remoteFiles } from "./child-files.ts";
import { remoteJobs, type ScheduleChecks } from "./child-jobs.ts";
import type { Register } from "./child-register.ts";
import { remoteSockets } from "./child-sockets.ts";
import { remoteStore } from "./child-store.ts";
import { remoteTasks } from "./child-tasks.ts";
import type { Args, Origin } from "./frames.ts";
import type { RpcPeer } from "./peer.ts";
import { refused } from "./refused.ts";
import type { Mirror } from "./registrations.ts";

/** The call or root that the plugin's code works for now. */
export const callOrigin = new AsyncLocalStorage<Origin>();

/** Facts from which the context is built. */
export interface ContextFacts {
  readonly id: PluginId;
  readonly config: unknown;
  readonly node: { readonly id: string; readonly name: string };
  readonly capabilities: readonly Capability[];
  /** Its own folder, where it has declared `files`. */
  readonly own?: readonly string[];
}

/** The plugin's context, and the ways by which the daemon reaches into it. */
export interface ChildContext {
  readonly context: PluginContext<never>;
  readonly abort: AbortController;
  mirror(mirror: Mirror): void;
  /** Calls a registered callback by its number; a removed one returns undefined. */
  callBack(args: Args): unknown;
}

/** Libraries loaded before setup if declared, because the context answers from them synchronously. */
export interface Preloaded {
  readonly render?: Render;
  readonly schedule?: ScheduleChecks;
}

/** Creates the context of the plugin in its own process: supported members call the daemon, all others are refused. */
export function createChildContext(facts: ContextFacts, peer: RpcPeer, loaded: Preloaded, need: RequireCapability, register: Register): ChildContext {
  const { id, config, node, own = [] } = facts;
  const abort = new AbortController();
  const calls = createChildCalls(peer);
  const { ask } = calls;
  let mirrored: Mirror = {};
  const { render, schedule } = loaded;
  const crossing: CapabilitySources = {
    agents: () => ({
      get: (wanted) => (mirrored.agents as Agent[] | undefined)?.find((agent) => agent.id === wanted),
      list: () => (mirrored.agents ?? []) as Agent[],
    }),
    tasks: () => remoteTasks(id, calls),
    traces: () => ({
      get: (trace) => ask("traces.get", { id: trace }),
      list: (query) => ask("traces.list", { query }),
      ids: (query) => ask("traces.ids", { query }),
    }),
    actions: () => ({
      list: () => (mirrored.actions ?? []) as never,
      run: (name: string, input: unknown, { signal, ...call }: Parameters<Actions["run"]>[2]) =>
        ask<ActionEnvelope>("actions.run", { name, input, call }, signal),
    }),
    events: () => remoteEvents(facts, calls),
    store: () => remoteStore(calls, abort.signal, log),
    files: () => remoteFiles(id, own, calls),
    fetch: () => remoteFetch(ask, peer),
    sockets: () => remoteSockets(peer),
    models: () => ({
      extract: ({ signal, ...request }) => ask("models.extract", { request }, signal),
      stream: ({ signal, ...call }) => quiet(peer.stream("models.stream", { call }, signal) as ReturnType<Models["stream"]>, signal),
      usable: (agent) => ask("models.usable", { agent }),
    }),
    settings: () => ({
      read: () => ask("settings.read", {}),
      schema: () => ask("settings.schema", {}),
      change: (edits, options) => ask("settings.change", { edits, options }),
      preview: (edits, options) => ask("settings.preview", { edits, options }),
      plugins: async () => Promise.reject(refused(id, "settings.plugins")),
      offered: async () => Promise.reject(refused(id, "settings.offered")),
      release: async () => Promise.reject(refused(id, "settings.release")),
      keepSecret: async () => Promise.reject(refused(id, "settings.keepSecret")),
    }),
    ...(render === undefined ? {} : { render: () => render }),
    ...(schedule === undefined ? {} : { jobs: () => remoteJobs(calls, schedule) }),
  };
  const log = remoteLog(calls);
  const context = buildContext<never>({
    id,
    config: config as never,
    node,
    log,
    signal: abort.signal,
    hooks: register.hooks,
    provide: register.provide,
    need,
    source: sourceOf(crossing, (name) => {
      throw refused(id, `the capability '${name}'`);
    }),
    variable: (name) => process.env[name],
  });
  return {
    context,
    abort,
    mirror(mirror) {
      mirrored = { ...mirrored, ...mirror };
    },
    callBack: calls.callBack,
  };
}

/** Lines cross as plain data: an error would arrive as `{}`, and a line with a cycle or a BigInt not at all. */
function remoteLog({ notify }: ChildCalls): Log {
  const plain = (facts: object | string) => (typeof facts === "object" && "err" in facts ? { ...facts, err: describeError(facts.err) } : facts);
  const write = (level: keyof Log) => (facts: object | string, text?: string) =>
    notify("log", { level, facts: plain(facts), ...(text === undefined ? {} : { text }) });
  return pluginLog({ debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") });
}

function remoteEvents({ id, node }: ContextFacts, { notify, keep }: ChildCalls): Events {
  return {
    publish(given) {
      const event = publishable(id, given);
      notify("events.publish", { event });
      return published(id, { ...event, node: node.id, at: new Date().toISOString() });
    },
    subscribe(listener, type, { siblings = false } = {}) {
      const { n, forget } = keep((envelope: Envelope) => callOrigin.run({ rootId: envelope.rootId, parentId: envelope.id }, () => listener(envelope)));
      notify("events.subscribe", { n, siblings, ...(type === undefined ? {} : { type }) });
      return () => {
        forget();
        notify("events.unsubscribe", { n });
      };
    },
    recent: () => {
      throw refused(id, "events.recent");
    },
    page: () => {
      throw refused(id, "events.page");
    },
    // Only the daemon knows the root behind a call of its own.
    current() {
      const origin = callOrigin.getStore();
      if (origin === undefined) return undefined;
      if (typeof origin === "object" && "rootId" in origin) return { ...origin };
      throw refused(id, "events.current within a call of the daemon");
    },
    inject: () => {
      throw refused(id, "events.inject");
    },
    root: (entry) => callOrigin.run({ begun: randomUUID() }, entry),
    within: (root, work) => callOrigin.run(root, work),
  };
}

/** Return value of `publish` here: the daemon assigns the id later, so reading it throws instead of returning a wrong one. */
function published(plugin: string, facts: object): Envelope {
  for (const name of ["id", "rootId"])
    Object.defineProperty(facts, name, {
      get(): never {
        throw refused(plugin, "the id of an event that was just published");
      },
    });
  return facts as Envelope;
}

/** An aborted model call ends without an event: the wire's own error for the abort is not a failure. */
async function* quiet(events: AsyncIterable<ModelEvent>, signal: AbortSignal | undefined): AsyncIterable<ModelEvent> {
  try {
    yield* events;
  } catch (error) {
    if (signal?.aborted) return;
    yield tierFailure("engine", reasonOf(error));
  }
}
