import assert from "node:assert/strict";
import type { Schema } from "../config.ts";
import type { Envelope } from "../events.ts";
import type { Delivery, Inbound } from "../messages.ts";
import { PROVIDED, type Provided, type ProvidedKind } from "../provided.ts";
import type { Tier, TierEvent, Turn, TurnContext, TurnEnd } from "../tier.ts";
import { checkSchema } from "./check-schema.ts";
import type { FakeContext } from "./fake-context.ts";
import { fitting } from "./hostile.ts";
import { givenOf, type RegisteredTap } from "./registered.ts";

/** One thing that a plugin offered, ready to be called. */
export interface Touch {
  /** `action x.y`, `channel x send`, `hook inbound` ... */
  readonly what: string;
  /** Calls it and checks its answer. */
  run(signal: AbortSignal): Promise<void>;
  /** Judges how it failed. */
  fails?(error: unknown): void;
}

const FAILURES = ["retry", "permanent", "format", "unknown"];
const END = ["done", "error"];

/** Context and text of the calls. `calm`: the far end is healthy, so a failure is the plugin's. */
interface Touching {
  readonly context: FakeContext<never>;
  readonly text: string;
  readonly calm: boolean;
}

/** How to call a thing of each kind; kinds without callers outside are omitted. */
const TOUCHES: { readonly [K in ProvidedKind]?: (thing: Provided[K], touching: Touching) => readonly Touch[] } = {
  channel: (channel, { text }) => channelTouches(channel, text),
  action(action, { text }) {
    const input = fitting(action.input, text) ?? {};
    return [
      {
        what: `action ${action.name}`,
        async run(signal) {
          const answered = await action.run(frozen(structuredClone(input)) as Record<string, unknown>, { signal, door: "torture" });
          assertFits(action.output, answered);
        },
      },
    ];
  },
  tier: (tier, { text }) => [{ what: `tier ${tier.name}`, run: (signal) => runTier(tier, text, signal) }],
  tool(tool, { text }) {
    const input = fitting(tool.input, text) ?? {};
    const run = (signal: AbortSignal) => tool.run(frozen(structuredClone(input)) as Record<string, unknown>, { agent: "assistant", signal });
    return [{ what: `tool ${tool.name}`, run: async (signal) => assert.equal(typeof (await run(signal)), "string", "it did not answer a text") }];
  },
  route: routeTouches,
  authority: (authority, { text }) => [
    {
      what: `authority ${authority.name}`,
      run: async () => assert.equal(await authority.verify(text), undefined, "it knows a bearer that was never given out"),
    },
  ],
  board: (board, { text }) => [
    {
      what: `board ${board.name} list`,
      run: async (signal) => assert.ok(Array.isArray(await board.list(frozen({ projects: [text], labels: [text] }), signal)), "it did not answer a list"),
    },
    { what: `board ${board.name} get`, run: async (signal) => void (await board.get(text, signal)) },
  ],
};

/** Returns a call of everything the plugin registered, with `text` as the text of each. A plugin must not modify its arguments. */
export function touches(context: FakeContext<never>, text: string, calm: boolean): readonly Touch[] {
  const { registered } = context;
  const touching: Touching = { context, text, calm };
  const touchesOf = <K extends ProvidedKind>(kind: K): Touch[] =>
    givenOf(registered, kind).flatMap((thing) => [
      ...((TOUCHES[kind] as ((thing: Provided[K], touching: Touching) => readonly Touch[]) | undefined)?.(thing, touching) ?? []),
    ]);
  return [
    ...(Object.keys(PROVIDED) as ProvidedKind[]).flatMap((kind) => touchesOf(kind)),
    ...registered.taps.map((tap): Touch => ({ what: `hook ${tap.hook}`, run: (signal) => runTap(tap, text, signal) })),
  ];
}

function routeTouches(route: Provided["route"], { context, text, calm }: Touching): Touch[] {
  const path = route.path.replace(/:[^/]+/g, encodeURIComponent(wellFormed(text.slice(0, 2_000)) || "x"));
  const body = route.body === undefined ? undefined : fitting(route.body, text);
  return [
    {
      what: `route ${route.method} ${route.path}`,
      async run(signal) {
        const query = route.query === undefined ? undefined : (fitting(route.query, text) as Record<string, string> | undefined);
        const raw = new TextEncoder().encode(text);
        const answer = await context.request(route.method, path, {
          signal,
          headers: { "x-signature": text.slice(0, 100) },
          ...(query === undefined ? {} : { query }),
          ...(route.raw ? { raw } : { body }),
        });
        if (calm) assert.ok(answer.status < 500, `it answered ${answer.status}: ${JSON.stringify(answer.body)?.slice(0, 300)}`);
      },
    },
  ];
}

function channelTouches(channel: Provided["channel"], text: string): Touch[] {
  const target = { channel: channel.name, chat: text.slice(0, 200), account: text.slice(0, 50), thread: "1" };
  const out = frozen({ target, text: text.slice(0, channel.traits.maxChars), plain: text, key: "torture" });
  const { edit, remove, react, typing, fetchMedia, test } = channel;
  const calls: [string, ((signal: AbortSignal) => Promise<unknown>) | undefined][] = [
    ["send", (signal) => channel.send(out, signal)],
    ["edit", edit && ((signal) => edit.call(channel, "1", out, signal))],
    ["remove", remove && ((signal) => remove.call(channel, target, "1", signal))],
    ["react", react && ((signal) => react.call(channel, target, "1", text, signal))],
    ["typing", typing && ((signal) => typing.call(channel, target, signal))],
    ["fetchMedia", fetchMedia && ((signal) => fetchMedia.call(channel, { kind: "file", handle: text }, signal))],
    ["test", test && ((signal) => test.call(channel, signal))],
  ];
  return calls.flatMap(([name, call]) => {
    if (call === undefined) return [];
    // By it the kernel decides whether to try again.
    const judged = name === "send" || name === "edit";
    return {
      what: `channel ${channel.name} ${name}`,
      run: async (signal: AbortSignal) => void (await call(signal)),
      ...(judged
        ? {
            fails: (error: unknown) =>
              assert.ok(FAILURES.includes((error as { failure?: string }).failure ?? ""), "it failed without saying how: use channelError"),
          }
        : {}),
    };
  });
}

async function runTap({ hook, tap }: RegisteredTap, text: string, signal: AbortSignal): Promise<void> {
  const call = { signal, deadline: Date.now() + 2_000 };
  const message = inbound(text);
  let end = (_end: TurnEnd): void => {};
  const turn = turnOf(message, new Promise((resolve) => (end = resolve)));
  const context: TurnContext = frozen({ system: "", layers: [], prompt: text, media: [], history: [] });
  const delivery: Delivery = frozen({ id: "out_1", kind: "reply", target: { channel: "c", chat: "1" }, text });
  const envelope = frozen({ kind: "message", type: text.slice(0, 50), summary: text, data: { text } }) as unknown as Envelope;
  const args: Record<RegisteredTap["hook"], unknown[]> = {
    inbound: [message],
    route: [message],
    assembleContext: [context, turn],
    dispatch: [turn, context],
    deliver: [delivery],
    emit: [envelope],
  };
  const answer = await (tap as (...given: unknown[]) => unknown)(...args[hook], call);
  // A tap that waits on the turn's end gets the words as its answer.
  const result = { ok: true, taskId: turn.id, agent: turn.agent.id, reply: text, status: "ok" as const, durationMs: 1 };
  end(frozen({ result, answer: text, session: text.slice(0, 200), usage: { input: 1, output: 1 }, at: 2 }));
  const member = (name: string) => (answer as Record<string, unknown> | null | undefined)?.[name];
  const nothing = answer === undefined;
  if (hook === "inbound") assert.ok(nothing || typeof member("reject") === "string", "it answered neither nothing nor a rejection");
  if (hook === "route") assert.ok(nothing || typeof member("agent") === "string", "it answered neither nothing nor a route");
  if (hook === "assembleContext") assert.ok(Array.isArray(member("layers")), "it did not answer a context");
  if (hook === "deliver") assert.ok(typeof member("text") === "string", "it did not answer the delivery");
  if (hook !== "dispatch" || nothing) return;
  assert.equal(typeof (answer as AsyncIterable<TierEvent>)[Symbol.asyncIterator], "function", "it answered neither nothing nor a stream");
  await (answer as AsyncIterable<TierEvent>)[Symbol.asyncIterator]().return?.();
}

async function runTier(tier: Tier, text: string, signal: AbortSignal): Promise<void> {
  const turn = turnOf(inbound(text), new Promise(() => {}));
  const ends: string[] = [];
  for await (const event of tier.run(turn, frozen({ system: "", layers: [], prompt: text, media: [], history: [] }), signal)) {
    assert.equal(typeof event?.type, "string", "it yielded something that is not an event");
    assert.equal(ends.length, 0, `something came after its ${ends[0]}`);
    if (END.includes(event.type)) ends.push(event.type);
  }
  if (!signal.aborted) assert.equal(ends.length, 1, "its stream ended without done or error");
}

function inbound(text: string): Inbound {
  return frozen({
    id: "task_torture",
    rootId: "root_torture",
    at: 1,
    attempts: 0,
    entry: "channel",
    channel: "c",
    chat: text.slice(0, 200),
    sender: { id: text.slice(0, 100), name: text.slice(0, 100), handle: "__proto__" },
    text,
    mentions: ["__proto__", text.slice(0, 50)],
    replyTo: { text },
    media: [{ kind: "file", name: text.slice(0, 100), url: "http://127.0.0.1:1/" }],
    facts: { constructor: text.slice(0, 50) },
  });
}

function turnOf(message: Inbound, ended: Turn["ended"]): Turn {
  return frozen({
    id: message.id,
    agent: { id: "assistant", name: "Assistant", workspace: "/daemon/workspace/assistant", tier: "torture", mentions: [], access: "private", settings: {} },
    route: { agent: "assistant", conversation: `assistant:c:-:${message.chat}`, reply: { channel: "c", chat: message.chat } },
    messages: [message],
    strategy: "",
    nativeSessions: false,
    rootId: message.rootId,
    attempt: 1,
    startedAt: 1,
    ended,
  });
}

/** An address can carry no half characters. */
const wellFormed = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text));

function assertFits(schema: Schema, answered: unknown): void {
  const text = JSON.stringify(answered);
  const wrong = answered === undefined ? "it answered nothing" : checkSchema(schema, JSON.parse(text ?? "null"));
  assert.equal(wrong, undefined, `its answer does not fit its own schema: ${wrong}`);
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
