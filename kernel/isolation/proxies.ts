import { readFile } from "node:fs/promises";
import {
  type Agent,
  type Channel,
  type ChannelHandle,
  channelError,
  type HookCall,
  type HttpReply,
  type HttpRequest,
  type Media,
  type Outgoing,
  type PluginContext,
  type Provided,
  type Receipt,
  type TapOptions,
  type TierEvent,
  type Turn,
} from "@svc/sdk";
import type { CrossingKind } from "../core/host/kinds.ts";
import { sendableTurn } from "./crossing-turns.ts";
import type { Args } from "./frames.ts";
import type { OwnFiles } from "./own-files.ts";
import type { ChannelMethod, Crossed, Registration, RouteAnswer } from "./registrations.ts";

/** The plugin's process, whichever it is now. Every call fails at once while no process runs. */
export interface Remote {
  call(on: string, args: Args, signal?: AbortSignal): Promise<unknown>;
  stream(on: string, args: Args, signal?: AbortSignal): AsyncIterable<unknown>;
  /** False when the notification was lost: no process runs, or it is too large. */
  notify(on: string, args: Args): boolean;
}

/** Something registered in the plugin's name, and the way to take it back, where it has one. */
export interface PluginProxy {
  readonly channel?: ChannelHandle;
  readonly withdraw?: () => void;
}

/** Access of an isolated plugin: what it may see and name. */
export interface Sight {
  /** Returns the visible part of an agent. */
  readonly view: (agent: Agent) => Agent;
  readonly files: Pick<OwnFiles, "media">;
}

/** Creates the proxy of a thing: it calls the thing's process by `n`. */
type MakeProxy<K extends CrossingKind> = (thing: Crossed<K>, n: number, remote: Remote, sight: Sight) => Provided[K];

const PROXIES: { readonly [K in CrossingKind]: MakeProxy<K> } = {
  channel: (channel, n, remote) => channelOf(n, channel, remote),
  tier: ({ probe, ...tier }, n, remote, { view }) => ({
    ...tier,
    run: (turn, context, signal) => remote.stream("thing", { n, turn: sendableTurn(turn, view, remote), context }, signal) as AsyncIterable<TierEvent>,
    ...(probe
      ? {
          probe: async (agent) =>
            (await remote.call("thing", { n, method: "probe", ...(agent === undefined ? {} : { agent: view(agent) }) })) as { ok: boolean; detail: string },
        }
      : {}),
  }),
  action: (action, n, remote) => ({ ...action, run: (input, { signal, ...call }) => remote.call("thing", { n, input, call }, signal) }),
  tool: ({ tool, chosen }, n, remote) => ({
    ...tool,
    ...(chosen ? { for: async (agent) => (await remote.call("thing", { n, method: "for", call: { agent } })) === true } : {}),
    run: async (input, { signal, ...call }) => String(await remote.call("thing", { n, input, call }, signal)),
  }),
  route({ route, before }, n, remote) {
    const ask = (method: string, request: HttpRequest) => remote.call("thing", { n, method, request: sendable(request, route.guard) }, request.signal);
    return {
      ...route,
      ...(before ? { before: async (request) => void (await ask("before", request)) } : {}),
      handle: async (request, reply) => answerRoute((await ask("handle", request)) as RouteAnswer, reply),
    };
  },
};

/** Registers proxies for the plugin's registrations in its process: the same things, whose functions call that process. */
export function createProxies(ctx: PluginContext<never>, n: number, registration: Registration, remote: Remote, sight: Sight): PluginProxy {
  if (registration.kind === "tap") {
    tapProxy(ctx, n, registration, remote, sight);
    return {};
  }
  const { kind, thing } = registration;
  const proxy = (PROXIES[kind] as MakeProxy<CrossingKind>)(thing, n, remote, sight);
  const handle = (ctx.provide[kind] as (thing: unknown) => unknown)(proxy);
  return typeof handle === "function" ? { withdraw: handle as () => void } : handle === undefined ? {} : { channel: handle as ChannelHandle };
}

function tapProxy(
  ctx: PluginContext<never>,
  n: number,
  { hook, options: given }: Extract<Registration, { kind: "tap" }>,
  remote: Remote,
  { view, files }: Sight,
): void {
  const options = tapOptions(given);
  if (hook === "emit") {
    ctx.hooks.emit.tap((envelope) => void remote.notify("emit", { n, envelope }), options);
    return;
  }
  const ask = (args: readonly unknown[], { deadline, signal }: HookCall) => remote.call("thing", { n, given: args, deadline }, signal);
  if (hook !== "dispatch") {
    const seen = (value: unknown) => (hook === "assembleContext" && isTurn(value) ? sendableTurn(value, view, remote) : value);
    const tap = async (...args: unknown[]) => {
      const given = args.slice(0, -1);
      return files.media(await ask(given.map(seen), args.at(-1) as HookCall), given);
    };
    (ctx.hooks[hook].tap as (run: (...given: never[]) => unknown, how: typeof options) => void)(tap, options);
    return;
  }
  ctx.hooks.dispatch.tap(async (turn, context, call) => {
    const taken = await ask([sendableTurn(turn, view, remote), context], call);
    const stream = (taken as { readonly stream?: unknown } | null | undefined)?.stream;
    return (typeof stream === "number" ? remote.stream("taken", { stream }, call.signal) : taken) as AsyncIterable<TierEvent>;
  }, options);
}

const isTurn = (value: unknown): value is Turn => typeof (value as Partial<Turn> | null)?.agent === "object";

/** Limits and order count on numbers being numbers. */
function tapOptions({ phase, stage, before, required, timeoutMs, step }: TapOptions): TapOptions {
  const names = typeof before === "string" || (Array.isArray(before) && before.every((name) => typeof name === "string"));
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(typeof stage === "number" ? { stage } : {}),
    ...(names ? { before: before as string } : {}),
    ...(required === true ? { required } : {}),
    ...(typeof timeoutMs === "number" && timeoutMs > 0 ? { timeoutMs } : {}),
    ...(typeof step === "string" ? { step } : {}),
  };
}

/** The largest file that a channel may return; the kernel accepts less for one turn. */
const FILE_BYTES = 64 * 1_048_576;

function channelOf(n: number, { name, traits, methods }: Crossed<"channel">, remote: Remote): Channel {
  const ask = (method: string, args: Args, signal: AbortSignal) => remote.call("thing", { n, method, ...args }, signal);
  const all: Required<Pick<Channel, ChannelMethod>> = {
    edit: async (platformId, out, signal) => void (await ask("edit", { platformId, out: await portable(out) }, signal)),
    remove: async (target, platformId, signal) => void (await ask("remove", { target, platformId }, signal)),
    react: async (target, platformId, emoji, signal) => void (await ask("react", { target, platformId, emoji }, signal)),
    typing: async (target, signal) => void (await ask("typing", { target }, signal)),
    async fetchMedia(media, signal) {
      const pieces: Uint8Array[] = [];
      let [bytes, type]: [number, unknown] = [0, undefined];
      for await (const piece of remote.stream("thing", { n, method: "fetchMedia", media }, signal)) {
        if (!(piece instanceof Uint8Array)) type = (piece as { readonly type?: unknown } | null)?.type;
        else if ((bytes += piece.byteLength) > FILE_BYTES) throw channelError("permanent", `a file of ${name} is larger than ${FILE_BYTES} bytes`);
        else pieces.push(piece);
      }
      return { data: new Uint8Array(Buffer.concat(pieces)), ...(typeof type === "string" ? { type } : {}) };
    },
    test: async (signal) => String(await ask("test", {}, signal)),
  };
  return {
    name,
    traits,
    async send(out, signal) {
      const receipt = (await ask("send", { out: await portable(out) }, signal)) as Receipt | undefined;
      return typeof receipt?.platformId === "string" ? { platformId: receipt.platformId } : {};
    },
    ...Object.fromEntries(methods.filter((method) => Object.hasOwn(all, method)).map((method) => [method, all[method]])),
  };
}

/** Reads files of a message into it: the process may not read files of this machine. */
async function portable(out: Outgoing): Promise<Outgoing> {
  if (out.media === undefined) return out;
  const media = await Promise.all(
    out.media.map(async (item): Promise<Media> => {
      if (item.path === undefined) return item;
      const { path, ...rest } = item;
      return { ...rest, data: new Uint8Array(await readFile(path)) };
    }),
  );
  return { ...out, media };
}

/** A bearer or cookie has already been verified: the plugin does not need it. */
function sendable({ method, path, params, query, headers, body, raw, caller }: HttpRequest, guard: string): Omit<HttpRequest, "signal"> {
  const { authorization, cookie, ...rest } = headers;
  const own = guard === "open" || guard === "signed";
  return { method, path, params, query, headers: own ? headers : rest, body, caller, ...(raw === undefined ? {} : { raw }) };
}

function answerRoute({ status, headers, value, sent }: RouteAnswer, reply: HttpReply): unknown {
  if (status !== undefined) reply.status(status);
  for (const [name, text] of Object.entries(headers)) reply.header(name, text);
  if (sent === undefined) return value;
  reply.send(sent.body, sent.type);
  return undefined;
}
