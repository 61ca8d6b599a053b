import { afterEach, describe, expect, it, vi } from "vitest";
import type { Channel, Outgoing } from "../channel.ts";
import { choiceOf } from "../choices.ts";
import { channelError } from "../errors.ts";
import type { Message } from "../messages.ts";
import { definePlugin, type Plugin, type PluginContext } from "../plugin.ts";
import { channelContract } from "./channel-contract.ts";
import type { ChannelFault, ChannelLack, ChannelSubject, Said } from "./channel-subject.ts";
import { createFakeContext } from "./fake-context.ts";
import type { Runner } from "./runner.ts";

interface Post extends Said {
  readonly id: string;
  readonly pressed?: string;
}

/** A platform in memory, strict and able to fail. `listen` gives each post until it is confirmed. */
function createPlatform() {
  const shown: { platformId: string; text: string; file?: Uint8Array; buttons: readonly { label: string; data: string }[] }[] = [];
  const faults: ChannelFault[] = [];
  const posts: Post[] = [];
  const state = { writes: 0, attempts: 0, hanging: false, away: false, generation: 0 };
  let last = 0;
  const write = async <T>(signal: AbortSignal, act: () => T): Promise<T> => {
    state.writes += 1;
    if (state.hanging) return new Promise((_, reject) => signal.addEventListener("abort", () => reject(channelError("unknown", "stopped")), { once: true }));
    const fault = faults.shift();
    if (fault === "limited") throw channelError("retry", "slow down", 7_000);
    if (fault === "unavailable") throw channelError("retry", "503");
    if (fault === "forbidden") throw channelError("permanent", "403");
    if (fault === "markup") throw channelError("format", "bad markup");
    const answer = act();
    if (fault === "cut") throw channelError("unknown", "cut");
    return answer;
  };
  return {
    shown,
    faults,
    posts,
    state,
    write,
    post(out: Outgoing) {
      if (out.text.length > 300) throw channelError("permanent", "too long");
      last += 1;
      const file = out.media?.[0]?.data;
      shown.push({ platformId: `m${last}`, text: out.text, buttons: buttonsOf(out), ...(file === undefined ? {} : { file }) });
      return { platformId: `m${last}` };
    },
    say(said: Said) {
      last += 1;
      posts.push({ ...said, id: `m${last}` });
      return { platformId: `m${last}` };
    },
  };
}
const buttonsOf = ({ choices = [] }: Outgoing) => choices.map(({ label, data }) => ({ label, data }));
type Platform = ReturnType<typeof createPlatform>;

/** What a broken plugin does otherwise. */
interface Breaks {
  readonly channel?: (channel: Channel, platform: Platform) => Partial<Channel>;
  readonly message?: (message: Message) => Message;
  readonly take?: (post: Post) => boolean;
  readonly confirmFirst?: boolean;
  readonly pauseMs?: number;
  readonly silent?: boolean;
  readonly leak?: boolean;
  readonly stuck?: boolean;
  readonly chatty?: boolean;
}

interface Config {
  readonly token: string;
}

function toy(platform: Platform, breaks: Breaks): Plugin<Config> {
  return definePlugin<Config>({
    kind: "channel",
    name: "toy",
    version: "0.1.0",
    svc: "^0.1.0",
    config: { at: "channels.toy", schema: { type: "object", properties: { token: { type: "string", secret: true } } } },
    capabilities: ["tasks", "events"],
    setup(ctx) {
      if (breaks.chatty) platform.state.attempts += 1;
      const channel: Channel = {
        name: "toy",
        traits: { maxChars: 300, unit: "utf16", dialect: "plain", editIntervalMs: 10, choices: true, maxMediaBytes: 10_000 },
        send: (out, signal) => platform.write(signal, () => platform.post(out)),
        edit: (id, out, signal) =>
          platform.write(signal, () => {
            const message = platform.shown.find(({ platformId }) => platformId === id);
            if (message === undefined) throw channelError("permanent", "not found");
            Object.assign(message, { text: out.text, buttons: buttonsOf(out) });
          }),
      };
      const handle = ctx.provide.channel({ ...channel, ...breaks.channel?.(channel, platform) });
      let stopped = false;
      let listening: Promise<void> | undefined;
      return {
        async start() {
          handle.ready();
          if (breaks.leak) setInterval(() => {}, 60_000);
          listening = listen(ctx, platform, breaks, () => stopped);
        },
        async stop() {
          stopped = true;
          await listening;
        },
      };
    },
  });
}

async function listen(ctx: PluginContext<Config>, platform: Platform, breaks: Breaks, stopped: () => boolean): Promise<void> {
  for (let failures = 0; !stopped(); ) {
    await new Promise((resolve) => setTimeout(resolve, failures === 0 ? 2 : (breaks.pauseMs ?? Math.min(100 * 2 ** failures, 1_000))));
    if (platform.state.away) {
      platform.state.attempts += 1;
      failures += 1;
      continue;
    }
    failures = 0;
    const [post] = platform.posts;
    if (post === undefined) continue;
    if (breaks.confirmFirst) platform.posts.shift();
    const wanted = (breaks.take ?? ((one: Post) => one.from === "friend"))(post);
    try {
      if (wanted) await ctx.tasks.accept((breaks.message ?? ((one) => one))(messageOf(post)));
      else if (post.from === "stranger" && !breaks.silent) ctx.events.publish({ kind: "message", type: "message:dropped", summary: "dropped" });
    } catch (error) {
      const { status = 500 } = error as { status?: number };
      // What is refused for good must not stand in the way of what comes after it.
      if (status >= 500 || breaks.stuck) {
        failures = 1;
        continue;
      }
    }
    if (!breaks.confirmFirst) platform.posts.shift();
  }
}

function choiceIn({ pressed = "" }: Post): Pick<Message, "choice"> {
  const choice = choiceOf(pressed);
  return choice === undefined ? {} : { choice };
}

const messageOf = (post: Post): Message => ({
  entry: "channel",
  channel: "toy",
  chat: post.where,
  text: post.text,
  platformId: post.id,
  dedupKey: post.id,
  sender: { id: post.from },
  ...choiceIn(post),
  ...(post.where === "direct" ? { direct: true } : {}),
  ...(post.mention ? { mentions: ["toy"] } : {}),
  ...(post.file === undefined ? {} : { media: [{ kind: "file" as const, name: post.file.name, url: `data:,${Buffer.from(post.file.data).toString("hex")}` }] }),
});

function subject(breaks: Breaks = {}): ChannelSubject {
  const platform = createPlatform();
  const plugin = toy(platform, breaks);
  const context = createFakeContext<Config>(plugin as never, { config: { token: "very-secret-token" } });
  let newest: Post | undefined;
  return {
    plugin: plugin as never,
    context: context as never,
    far: {
      target: { channel: "toy", chat: "direct" },
      retryAfterMs: 7_000,
      shown: () => platform.shown,
      fail: (fault, times) => void platform.faults.push(...Array<ChannelFault>(times).fill(fault)),
      hang: () => void (platform.state.hanging = true),
      writes: () => platform.state.writes,
      async say(said) {
        const made = platform.say(said);
        newest = platform.posts.at(-1);
        return made;
      },
      async press({ data, from }) {
        platform.say({ text: data, from, where: "direct" });
        platform.posts.push({ ...(platform.posts.pop() as Post), pressed: data });
      },
      async repeat() {
        if (newest !== undefined) platform.posts.push(newest);
      },
      async drop(refuse = false) {
        platform.state.away = refuse;
      },
      attempts: () => platform.state.attempts,
    },
  };
}

const LACKS: readonly ChannelLack[] = ["files in"];
channelContract({ describe, it }, () => subject(), { lacks: LACKS });

/** Runs the suite without a runner, only the tests whose name holds `only`, and answers the names of those that failed. */
async function failures(breaks: Breaks, only: string): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  const runner: Runner = { describe: (_, define) => define(), it: (name, run) => void tests.push([name, run]) };
  channelContract(runner, () => subject(breaks), { lacks: LACKS });
  const failed: string[] = [];
  for (const [name, run] of tests.filter(([name]) => name.includes(only))) await run().catch(() => failed.push(name));
  return failed;
}

afterEach(() => void vi.useRealTimers());

/** As `failures`, with the suite's patience over at once: time jumps from one moment at which something is due to the next. */
async function failuresSoon(breaks: Breaks, only: string): Promise<string[]> {
  // A leaked interval stays a real one, so that it can be seen.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  let over = false;
  const found = failures(breaks, only).finally(() => {
    over = true;
  });
  while (!over) await vi.advanceTimersByTimeAsync(10);
  return found;
}

const wrongly = (failure: "retry" | "permanent" | "unknown"): Breaks => ({
  channel: (channel) => ({
    send: (out, signal) => channel.send(out, signal).catch((error: Error) => Promise.reject(channelError(failure, error.message))),
  }),
});

describe("the channel contract finds what breaks", () => {
  it.each<[string, Breaks]>([
    ["asks nobody anything", { chatty: true }],
    ["what the platform can do", { channel: ({ traits: { editIntervalMs: _, ...traits } }) => ({ traits }) }],
    [
      "shown as it is",
      { channel: (_, platform) => ({ send: (out, signal) => platform.write(signal, () => platform.post({ ...out, text: out.text.replaceAll("<", "") })) }) },
    ],
    ["exactly maxChars", { channel: ({ traits }) => ({ traits: { ...traits, unit: "codepoint" } }) }],
    ["edits in place", { channel: (_, platform) => ({ edit: (_id, out, signal) => platform.write(signal, () => void platform.post(out)) }) }],
    ["an edit of a message that is not there", { channel: () => ({ edit: async () => {} }) }],
    ["sends a file", { channel: (_, platform) => ({ send: (out, signal) => platform.write(signal, () => platform.post({ ...out, media: [] })) }) }],
    ["format error", wrongly("permanent")],
    ["limited is told", { channel: (channel) => ({ send: (out, signal) => channel.send(out, signal).catch(() => channel.send(out, signal)) }) }],
    ["limited is told", wrongly("retry")],
    ["unavailable is told", wrongly("permanent")],
    ["forbidden is told", wrongly("retry")],
    ["cut is told", wrongly("retry")],
    [
      "no secret",
      {
        channel: (channel) => ({
          send: (out, signal) =>
            channel.send(out, signal).catch((error: Error) => Promise.reject(channelError("retry", `${error.message} at /very-secret-token/send`))),
        }),
      },
    ],
    ["shows choices as buttons", { channel: (channel) => ({ send: ({ choices: _, ...out }, signal) => channel.send(out, signal) }) }],
    ["a pressed button comes in", { message: ({ choice: _, ...message }) => message }],
    ["a pressed button comes in", { message: ({ sender: _, ...message }) => message }],
    ["typed text are no choice", { message: (message) => ({ ...message, ...choiceIn({ pressed: message.text } as Post) }) }],
    ["typed text are no choice", { take: () => true }],
    ["stands in the way of nothing", { stuck: true }],
    ["maps a message", { message: ({ sender: _, ...message }) => message }],
    ["maps a message", { message: ({ dedupKey: _, ...message }) => message }],
    ["order in which", { message: (message) => ({ ...message, text: [...message.text].reverse().join("") }) }],
    ["drops a stranger", { take: ({ from }) => from !== "itself" }],
    ["drops a stranger", { silent: true }],
    ["acknowledges only", { confirmFirst: true }],
    ["its own messages", { take: ({ from }) => from !== "stranger" }],
    ["same message twice", { message: (message) => ({ ...message, dedupKey: String(Math.random()) }) }],
    ["that it was mentioned", { message: (message) => ({ ...message, mentions: ["@toy"] }) }],
    ["growing pauses", { pauseMs: 1 }],
    ["a stop while it sends", { channel: () => ({ send: () => new Promise(() => {}) }) }],
    ["leave nothing behind", { leak: true }],
  ])("%s (%#)", async (name, breaks) => {
    expect(await failuresSoon(breaks, name)).toHaveLength(1);
  });
});
