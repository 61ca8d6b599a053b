import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  type ActionEnvelope,
  type Actions,
  type Agent,
  type Capability,
  type Confined,
  type Envelope,
  type Files,
  type Jobs,
  type ModelEvent,
  type Models,
  type PluginContext,
  type PluginId,
  type Render,
  type Store,
  type Tasks,
  type Traces,
  tierFailure,
} from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { lending } from "../core/host/lend.ts";
import { remoteFetch } from "./child-fetch.ts";
import { remoteSockets } from "./child-sockets.ts";
import type { Args, Behalf } from "./frames.ts";
import type { Peer } from "./peer.ts";
import { refused } from "./refused.ts";
import type { Mirror } from "./registrations.ts";

/** On whose behalf the plugin's code runs now. */
export const behalf = new AsyncLocalStorage<Behalf>();

/** What the context is made of. */
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
  readonly context: Omit<PluginContext<never>, "hooks" | "provide">;
  /** Throws `SVC_CAPABILITY_UNDECLARED`. */
  need(capability: Capability): void;
  mirror(mirror: Mirror): void;
  /** Calls a function that was handed over by its number; one that was taken back answers nothing. */
  serve(args: Args): unknown;
  readonly abort: AbortController;
}

/** What is loaded before setup, because the context answers it at once. */
export interface Loaded {
  readonly render: Render | undefined;
  readonly parseCron: ((expression: string) => unknown) | undefined;
  readonly zoneOf: ((name: string) => unknown) | undefined;
}

/** Calls that may be under way at the daemon; more wait here. Calls that last as long as a task do not count. */
const SIDE_BY_SIDE = 128;
const LASTING: ReadonlySet<string> = new Set(["tasks.run", "tasks.sent"]);

export function createChildContext({ id, config, node, capabilities, own = [] }: ContextFacts, peer: Peer, loaded: Loaded): ChildContext {
  const abort = new AbortController();
  const functions = new Map<number, (value: never) => unknown>();
  let last = 0;
  let mirrored: Mirror = {};
  let under = 0;
  const waiting: (() => void)[] = [];

  const need = (capability: Capability): void => {
    if (!capabilities.includes(capability)) throw fail("SVC_CAPABILITY_UNDECLARED", { plugin: id, capability, where: "its capabilities" });
  };
  const tell = (on: string, args: Args): void => {
    if (!peer.tell(on, args)) process.stderr.write(`svc: '${on}' was too large to be told\n`);
  };
  async function ask<T>(on: string, args: Args, signal?: AbortSignal): Promise<T> {
    if (LASTING.has(on)) return (await peer.call(on, args, signal)) as T;
    if (under >= SIDE_BY_SIDE) await new Promise<void>((resolve) => waiting.push(resolve));
    under += 1;
    try {
      return (await peer.call(on, args, signal)) as T;
    } finally {
      under -= 1;
      waiting.shift()?.();
    }
  }
  /** Keeps a function of the plugin that the daemon will call by its number. */
  const keep = (run: (value: never) => unknown): { readonly n: number; readonly forget: () => void } => {
    const n = (last += 1);
    functions.set(n, run);
    return { n, forget: () => void functions.delete(n) };
  };
  const lend = lending(need);
  const log = (level: string) => (facts: object | string, text?: string) =>
    tell("log", { level, facts: facts instanceof Error ? { err: { message: facts.message } } : facts, ...(text === undefined ? {} : { text }) });

  const lent = {
    agents: lend("agents", () => ({
      get: (wanted: string) => (mirrored.agents as Agent[] | undefined)?.find((agent) => agent.id === wanted),
      list: () => (mirrored.agents ?? []) as Agent[],
    })),
    tasks: lend(
      "tasks",
      (): Tasks => ({
        accept: (message) => ask("tasks.accept", { message }),
        async run(message, listen, signal) {
          const heard = listen === undefined ? undefined : keep(listen);
          try {
            return await ask("tasks.run", { message, ...(heard === undefined ? {} : { n: heard.n }) }, signal);
          } finally {
            heard?.forget();
          }
        },
        async deliver(delivery) {
          const { id: given, n } = await ask<{ id: string; n: number }>("tasks.deliver", { delivery });
          const sent = ask<{ platformId: string }>("tasks.sent", { n });
          // Whoever reads only the id must not make an unhandled rejection of it.
          sent.catch(() => undefined);
          return { id: given, sent };
        },
        cancel: (task, reason) => ask("tasks.cancel", { id: task, reason }),
        followup: (task, message) => ask("tasks.followup", { id: task, message }),
        running: () => {
          throw refused(id, "tasks.running");
        },
        queued: () => {
          throw refused(id, "tasks.queued");
        },
      }),
    ),
    traces: lend("traces", (): Traces => ({ get: (trace) => ask("traces.get", { id: trace }), list: (query) => ask("traces.list", { query }) })),
    actions: lend("actions", () => ({
      list: () => (mirrored.actions ?? []) as never,
      run: (name: string, input: unknown, { signal, ...call }: Parameters<Actions["run"]>[2]) =>
        ask<ActionEnvelope>("actions.run", { name, input, call }, signal),
    })),
    events: lend("events", (): PluginContext["events"] => ({
      publish(event) {
        tell("events.publish", { event });
        return published(id, { ...event, node: node.id, at: new Date().toISOString() });
      },
      subscribe(listener, type) {
        const { n, forget } = keep((envelope: Envelope) => behalf.run({ rootId: envelope.rootId, parentId: envelope.id }, () => listener(envelope)));
        tell("events.subscribe", { n, ...(type === undefined ? {} : { type }) });
        return () => {
          forget();
          tell("events.unsubscribe", { n });
        };
      },
      recent: () => {
        throw refused(id, "events.recent");
      },
      root: (entry) => behalf.run({ begun: randomUUID() }, entry),
      within: (root, work) => behalf.run(root, work),
    })),
    store: lend("store", () => remoteStore(ask)),
    jobs: lend("jobs", () => remoteJobs(ask, tell, keep, loaded)),
    files: lend("files", () => remoteFiles(id, own, ask, keep)),
    fetch: lend("fetch", () => remoteFetch(ask, peer)),
    render: lend("render", () => loaded.render as Render),
    sockets: lend("sockets", () => remoteSockets(peer)),
    spawn: lend("spawn", (): never => {
      throw refused(id, "the capability 'spawn'");
    }),
    warm: lend("warm", (): never => {
      throw refused(id, "the capability 'warm'");
    }),
    media: lend("media", (): never => {
      throw refused(id, "the capability 'media'");
    }),
    models: lend(
      "models",
      (): Models => ({
        extract: ({ signal, ...request }) => ask("models.extract", { request }, signal),
        stream: ({ signal, ...call }) => quiet(peer.stream("models.stream", { call }, signal) as AsyncIterable<ModelEvent>, signal),
        usable: (agent) => ask("models.usable", { agent }),
      }),
    ),
    health: lend("health", (): never => {
      throw refused(id, "the capability 'health'");
    }),
  };

  const context = {
    id,
    config: config as never,
    node,
    log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    signal: abort.signal,
    env(name: string) {
      need(`env:${name}`);
      return process.env[name] || undefined;
    },
  };
  for (const [name, get] of Object.entries(lent)) Object.defineProperty(context, name, { get, enumerable: true });
  return {
    context: context as unknown as ChildContext["context"],
    need,
    abort,
    mirror(mirror) {
      mirrored = { ...mirrored, ...mirror };
    },
    serve: (args) => functions.get(args.n as number)?.(args.value as never),
  };
}

/** A call of a model ends without an event when it is aborted: the wire's own word for that is no failure. */
async function* quiet(events: AsyncIterable<ModelEvent>, signal: AbortSignal | undefined): AsyncIterable<ModelEvent> {
  try {
    yield* events;
  } catch (error) {
    if (signal?.aborted) return;
    yield tierFailure("engine", error instanceof Error ? error.message : String(error));
  }
}

export type Ask = <T>(on: string, args: Args, signal?: AbortSignal) => Promise<T>;
type Keep = (run: (value: never) => unknown) => { readonly n: number; readonly forget: () => void };

/** What `publish` answers here: the daemon gives the id later, so asking for it says so instead of answering a wrong one. */
function published(plugin: string, facts: object): Envelope {
  const unknown = {
    get: (): never => {
      throw refused(plugin, "the id of an event that was just published");
    },
  };
  return Object.defineProperties(facts, { id: unknown, rootId: unknown }) as Envelope;
}

function remoteStore(ask: Ask): Store {
  return {
    collection(name, { indexes } = {}) {
      const to = { name, ...(indexes === undefined ? {} : { indexes }) };
      return {
        get: (key) => ask("store.get", { ...to, key }),
        list: (query) => ask("store.list", { ...to, query }),
        count: (query) => ask("store.count", { ...to, query }),
        put: (key, value, expect) => ask("store.put", { ...to, key, value, expect }),
        delete: (key, expect) => ask("store.delete", { ...to, key, expect }),
      };
    },
    queue: (name) => ({
      push: (value, options) => ask("queue.push", { name, value, options }),
      claim: (limit, leaseMs) => ask("queue.claim", { name, limit, leaseMs }),
      complete: (id) => ask("queue.complete", { name, id }),
      release: (id, delayMs, value) => ask("queue.release", { name, id, delayMs, value }),
      size: () => ask("queue.size", { name }),
      list: (limit) => ask("queue.list", { name, limit }),
    }),
    journal: (name) => ({
      append: (value) => ask("journal.append", { name, value }),
      read: (after, limit) => ask("journal.read", { name, after, limit }),
      tail: (limit) => ask("journal.tail", { name, limit }),
      trim: (keep) => ask("journal.trim", { name, keep }),
    }),
    commit: (ops) => ask("store.commit", { ops }),
  };
}

function remoteJobs(ask: Ask, tell: (on: string, args: Args) => void, keep: Keep, { parseCron, zoneOf }: Loaded): Jobs {
  const timer = (on: string, ms: number, run: () => unknown): (() => void) => {
    const { n, forget } = keep(run);
    tell(on, { n, ms });
    return () => {
      forget();
      tell("jobs.end", { n });
    };
  };
  return {
    cron(id, expression, timezone, run) {
      // What the daemon would refuse is refused here, where the plugin still stands.
      parseCron?.(expression);
      zoneOf?.(timezone ?? "UTC");
      const { n, forget } = keep((minute: number) => run(new Date(minute)));
      tell("jobs.cron", { n, id, expression, ...(timezone === undefined ? {} : { timezone }) });
      return () => {
        forget();
        tell("jobs.end", { n, id });
      };
    },
    after(ms, run) {
      const end = timer("jobs.after", ms, () => {
        end();
        return run();
      });
      return end;
    },
    missed: (id) => ask("jobs.missed", { id }),
    every: (ms, run) => timer("jobs.every", ms, run),
  };
}

function remoteFiles(plugin: PluginId, own: readonly string[], ask: Ask, keep: Keep): Files {
  const confined = (roots: readonly string[], at: { readonly roots?: readonly string[] }): Confined => {
    return {
      roots,
      read: (path, maxBytes) => ask("files.read", { ...at, path, maxBytes }),
      write: (path, data) => ask("files.write", { ...at, path, data }),
      async change(path, maxBytes, edit) {
        const { n, forget } = keep(edit as (before: never) => unknown);
        try {
          await ask("files.change", { ...at, path, maxBytes, n });
        } finally {
          forget();
        }
      },
      append: (path, data) => ask("files.append", { ...at, path, data }),
      list: (path) => ask("files.list", { ...at, path }),
      resolve: (path) => ask("files.resolve", { ...at, path }),
      remove: (path) => ask("files.remove", { ...at, path }),
    };
  };
  return {
    own: confined(own, {}),
    under: (...roots) => confined(roots, { roots }),
    get data(): never {
      throw refused(plugin, "the data folder");
    },
  };
}
