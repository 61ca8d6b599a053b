import {
  type ActionCall,
  type Agent,
  type Capability,
  type Channel,
  type HookCall,
  type Hooks,
  type HttpReply,
  type HttpRequest,
  type HttpRoute,
  type LinkedAbort,
  linked,
  onAbort,
  type PluginId,
  type Provide,
  type Provided,
  type ProvidedHandle,
  type TapOptions,
  type Tier,
  type ToolCall,
  type TurnEnd,
} from "@svc/sdk";
import { PROVIDED, providedThing, tierAbilities } from "@svc/sdk/host";
import { articled, type CrossingKind } from "../core/host/kinds.ts";
import type { HookName } from "../core/host/scope.ts";
import { receiveTurns } from "./crossing-turns.ts";
import type { Args } from "./frames.ts";
import type { Served } from "./peer.ts";
import { small } from "./pieces.ts";
import { refused } from "./refused.ts";
import { CHANNEL_METHODS, type Crossed, type Registration, type RouteAnswer } from "./registrations.ts";

/** Registrations of the plugin, and the calls of each by its index. */
export interface Register {
  readonly hooks: Hooks;
  readonly provide: Provide;
  readonly registrations: readonly Registration[];
  /** From now on nothing more may be registered: the daemon knows the list. */
  close(): void;
  serve(on: string, args: Args, served: Served): unknown;
  /** A turn passed to this process has ended. */
  ended(args: Args): void;
}

type Thing = (args: Args, served: Served) => unknown;
type Notify = (on: string, args: Args) => void;

/** A stream that `dispatch` was answered with; the signal of that call stays with it. */
interface Taken {
  readonly items: AsyncIterable<unknown>;
  readonly stop: LinkedAbort;
}

const HOOKS: readonly HookName[] = ["inbound", "route", "assembleContext", "dispatch", "deliver", "emit"];

/** Keeps the plugin's functions in this process, and describes them to the daemon. `need` throws for a capability that it has not declared. */
export function createRegister(id: PluginId, notify: Notify, need: (capability: Capability) => void): Register {
  const registrations: Registration[] = [];
  const things: Thing[] = [];
  const streams = new Map<number, Taken>();
  const turns = receiveTurns();
  let streamed = 0;
  let closed = false;

  function add(registration: Registration, thing: Thing): number {
    if (closed) throw refused(id, "registering after setup");
    registrations.push(registration);
    return things.push(thing) - 1;
  }

  const tap = (hook: HookName, run: (...args: never[]) => unknown, options: TapOptions = {}): void => {
    add({ kind: "tap", hook, options }, async (args, { signal }) => {
      const stop = linked(signal);
      const call: HookCall = { deadline: Number(args.deadline), signal: stop.signal };
      const answer = await run(...([...(args.given as unknown[]), call] as never[]));
      // Not a stream: the daemon validates it as any answer.
      if (hook !== "dispatch" || typeof (answer as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] !== "function") return answer;
      // The daemon requests the stream when the turn runs; one that it never requests must be released.
      const stream = (streamed += 1);
      streams.set(stream, { items: answer as AsyncIterable<unknown>, stop });
      setTimeout(() => streams.delete(stream), 60_000).unref();
      return { stream };
    });
  };

  const provide = Object.fromEntries(
    Object.entries(PROVIDED).map(([kind, { capability }]) => [
      kind,
      (...given: unknown[]) => {
        if (!crosses(kind)) throw refused(id, articled(kind));
        if (capability !== undefined) need(capability);
        const { describe, call, handle } = CROSSINGS[kind] as Crossing<CrossingKind>;
        const thing = providedThing(kind, given);
        const n = add({ kind, thing: describe(thing) } as Registration, (args, served) => call(thing, args, served, id));
        return handle?.(n, notify);
      },
    ]),
  ) as unknown as Provide;

  return {
    hooks: Object.fromEntries(HOOKS.map((hook) => [hook, { tap: (run: never, options?: TapOptions) => tap(hook, run, options) }])) as unknown as Hooks,
    provide,
    registrations,
    close() {
      closed = true;
    },
    serve(on, args, served) {
      if (on === "taken") {
        const taken = streams.get(args.stream as number);
        streams.delete(args.stream as number);
        if (taken === undefined) throw new Error("the stream was not asked for in time");
        onAbort(served.signal, (reason) => taken.stop.abort(reason));
        return taken.items;
      }
      const thing = things[args.n as number];
      if (thing === undefined) throw new Error(`nothing is registered as ${String(args.n)}`);
      const given = turns.receive(args);
      const settling = turns.settling();
      return settling === undefined ? thing(given, served) : settling.then(() => thing(given, served));
    },
    ended: (args) => turns.end(args.n as number, args.end as TurnEnd),
  };
}

/** Description of a kind for the daemon, and the calls across the process boundary. */
interface Crossing<K extends CrossingKind> {
  describe(thing: Provided[K]): Crossed<K>;
  call(thing: Provided[K], args: Args, served: Served, plugin: PluginId): unknown;
  /** Creates the return value of `provide`. */
  handle?(n: number, notify: Notify): ProvidedHandle<K>;
}

const CROSSINGS: { readonly [K in CrossingKind]: Crossing<K> } = {
  channel: {
    describe: (channel) => ({
      name: channel.name,
      traits: channel.traits,
      methods: CHANNEL_METHODS.filter((method) => typeof channel[method] === "function"),
    }),
    call: callChannel,
    handle: (n, notify) => ({
      ready: (note) => notify("channel", { n, state: "ready", ...(note === undefined ? {} : { reason: String(note) }) }),
      down: (reason) => notify("channel", { n, state: "down", reason: String(reason) }),
    }),
  },
  tier: {
    describe: (tier) => ({ name: tier.name, abilities: tierAbilities(tier), probe: typeof tier.probe === "function" }),
    call: callTier,
  },
  action: {
    describe: ({ run: _, ...action }) => action,
    call: (action, { input, call }, { signal }) => action.run(input as Record<string, unknown>, { ...(call as Omit<ActionCall, "signal">), signal }),
    handle: (n, notify) => () => notify("withdraw", { n }),
  },
  tool: {
    describe: ({ run: _, for: chosen, ...tool }) => ({ tool, chosen: chosen !== undefined }),
    call: (tool, { method, input, call }, { signal }) =>
      method === "for"
        ? Promise.resolve(tool.for?.((call as ToolCall).agent))
        : tool.run(input as Record<string, unknown>, { ...(call as Omit<ToolCall, "signal">), signal }),
  },
  route: { describe: ({ handle: _, before, ...route }) => ({ route, before: before !== undefined }), call: callRoute },
};

const crosses = (kind: string): kind is CrossingKind => Object.hasOwn(CROSSINGS, kind);

async function callChannel(channel: Channel, args: Args, { signal }: Served): Promise<unknown> {
  const { method, out, platformId, target, emoji, media } = args as unknown as ChannelArgs;
  switch (method) {
    case "send":
      return channel.send(out, signal);
    case "edit":
      return channel.edit?.(platformId, out, signal);
    case "remove":
      return channel.remove?.(target, platformId, signal);
    case "react":
      return channel.react?.(target, platformId, emoji, signal);
    case "typing":
      return channel.typing?.(target, signal);
    case "fetchMedia":
      return streamedFile(channel, media, signal);
    default:
      return channel.test?.(signal);
  }
}

/** Yields the file's type first, then its bytes in pieces: a file may be larger than a frame. */
async function* streamedFile(channel: Channel, media: ChannelArgs["media"], signal: AbortSignal): AsyncGenerator<unknown> {
  const found = await channel.fetchMedia?.(media, signal);
  if (!(found?.data instanceof Uint8Array)) throw new Error(`channel ${channel.name} answered fetchMedia without bytes`);
  yield { ...(found.type === undefined ? {} : { type: found.type }) };
  yield* small(found.data);
}

interface ChannelArgs {
  readonly method: "send" | (typeof CHANNEL_METHODS)[number];
  readonly out: Parameters<Channel["send"]>[0];
  readonly platformId: string;
  readonly target: Parameters<NonNullable<Channel["typing"]>>[0];
  readonly emoji: string;
  readonly media: Parameters<NonNullable<Channel["fetchMedia"]>>[0];
}

function callTier(tier: Tier, args: Args, { signal }: Served): unknown {
  if (args.method === "probe") return tier.probe?.(args.agent as Agent | undefined);
  return tier.run(args.turn as Parameters<Tier["run"]>[0], args.context as Parameters<Tier["run"]>[1], signal);
}

async function callRoute(route: HttpRoute, args: Args, { signal }: Served, plugin: PluginId): Promise<RouteAnswer | undefined> {
  const may = () => {
    throw refused(plugin, "the member 'may' of a request");
  };
  const request: HttpRequest = { ...(args.request as Omit<HttpRequest, "signal" | "may">), signal, may };
  if (args.method === "before") {
    await route.before?.(request);
    return undefined;
  }
  const headers: Record<string, string> = {};
  let status: number | undefined;
  let sent: RouteAnswer["sent"];
  const reply: HttpReply = {
    status(code) {
      status = code;
      return reply;
    },
    header(name, value) {
      headers[name] = value;
      return reply;
    },
    send(body, type) {
      sent = { body, type };
    },
    stream() {
      throw refused(plugin, "a stream as the answer of a route");
    },
  };
  const value = await route.handle(request, reply);
  return { headers, ...(status === undefined ? {} : { status }), ...(sent === undefined ? (value === undefined ? {} : { value }) : { sent }) };
}
