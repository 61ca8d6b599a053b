import assert from "node:assert/strict";
import type { Message } from "../messages.ts";
import { sleep } from "../time.ts";
import { accepted, acceptedBy, type Has, type It, LIMIT_MS, outgoing, say, send, toldBy, until } from "./channel-run.ts";
import type { Said } from "./channel-subject.ts";
import { inTime } from "./runner.ts";

/** Cases about incoming messages of a channel. */
export function describeReceiving(it: It, has: Has): void {
  const where = has("direct") ? "direct" : "group";
  const friend = (text: string, more: Partial<Said> = {}): Said => ({ text, from: "friend", where, ...(where === "group" ? { mention: true } : {}), ...more });

  it("maps a message: who, where, what, and a key by which it is known again", async (running) => {
    const { platformId } = await say(running, friend("hello there"));
    const [message] = await accepted(running, 1);
    assert.equal(message?.entry, "channel");
    assert.equal(message?.channel, running.channel.name);
    assert.ok(message?.text.includes("hello there"));
    assert.equal(message?.platformId, platformId);
    assert.ok(message?.dedupKey, "no dedupKey");
    assert.ok(typeof message?.sender?.id === "string" && message.sender.id !== "", "no sender id");
    assert.ok(typeof message?.chat === "string" && message.chat !== "");
    assert.equal(message?.direct === true, where === "direct");
  });

  it("the place of a message is a place that can be answered", async (running) => {
    await say(running, friend("hello"));
    const [message] = await accepted(running, 1);
    assert.ok(message);
    const { channel, chat, account, thread } = message;
    await send(running.channel, outgoing({ channel, chat, ...(account ? { account } : {}), ...(thread ? { thread } : {}) }, "an answer"));
  });

  it("takes messages in the order in which they were written", async (running) => {
    const texts = Array.from({ length: 8 }, (_, n) => `number ${n} `);
    for (const text of texts) await say(running, friend(text));
    const messages = await accepted(running, texts.length);
    for (const [n, text] of texts.entries()) assert.ok(messages[n]?.text.includes(text.trim()), `${messages[n]?.text} in place of ${text}`);
  });

  it("drops a stranger's message, and says so once", async (running) => {
    await say(running, { ...friend("let me in"), from: "stranger" });
    await say(running, friend("marker"));
    await accepted(running, 1);
    assert.ok(acceptedBy(running)[0]?.text.includes("marker"));
    assert.equal(toldBy(running).filter(({ type }) => type === "message:dropped").length, 1);
  });

  const again = has("redelivery")
    ? "acknowledges only what was stored: a message whose acceptance failed comes again"
    : "tries again by itself to have a message accepted";
  it(again, async (running) => {
    const { tasks } = running.context;
    const { accept } = tasks;
    let failures = 0;
    Object.assign(tasks, {
      accept: async (message: Message) => {
        if (failures++ === 0) throw new Error("disk full");
        return accept(message);
      },
    });
    await say(running, friend("keep me"));
    const [message] = await accepted(running, 1);
    assert.ok(message?.text.includes("keep me"));
  });

  if (has("echo")) {
    it("never takes its own messages for somebody's", async (running) => {
      await say(running, { ...friend("my own words"), from: "itself" });
      await say(running, friend("marker"));
      const messages = await accepted(running, 1);
      assert.ok(messages.every(({ text }) => !text.includes("my own words")));
    });
  }

  if (has("repeat")) {
    it("the same message twice is one", async (running) => {
      await say(running, friend("once"));
      await accepted(running, 1);
      await running.far.repeat?.();
      await say(running, friend("marker"));
      const messages = await accepted(running, 2);
      assert.deepEqual(
        messages.map(({ text }) => text.includes("once")),
        [true, false],
      );
    });
  }

  if (has("groups")) {
    it("tells in a group that it was mentioned", async (running) => {
      await say(running, { text: "please look", from: "friend", where: "group", mention: true });
      const [message] = await accepted(running, 1);
      assert.notEqual(message?.direct, true);
      assert.ok((message?.mentions ?? []).length > 0, "no mentions");
      for (const handle of message?.mentions ?? []) assert.ok(!handle.startsWith("@"), `${handle} has an @`);
    });
  }

  if (has("files in")) {
    it("hands over a file that came with a message", async (running) => {
      const data = new Uint8Array(3_000).map((_, n) => n % 249);
      await say(running, friend("see this", { file: { name: "data.bin", data } }));
      const [message] = await accepted(running, 1);
      const media = message?.media?.[0];
      assert.ok(media, "no media");
      const bytes =
        media.data ??
        (await inTime(LIMIT_MS, "fetchMedia", running.channel.fetchMedia?.(media, new AbortController().signal) ?? Promise.reject(new Error("no fetchMedia"))))
          .data;
      assert.deepEqual([...bytes], [...data]);
    });
  }

  if (has("reconnect")) describeReconnects(it, has, friend);
}

/** Cases about cut connections of a channel. */
function describeReconnects(it: It, has: Has, friend: (text: string) => Said): void {
  it(`comes back after a cut connection${has("history") ? " and misses nothing" : ""}`, async (running) => {
    await say(running, friend("before"));
    await accepted(running, 1);
    const before = running.far.attempts?.() ?? 0;
    await running.far.drop?.();
    // Without a history the channel only receives messages sent while it is connected.
    if (!has("history"))
      await inTime(
        LIMIT_MS,
        "the reconnect",
        until(() => (running.far.attempts?.() ?? 0) > before),
      );
    await say(running, friend("after"));
    assert.ok((await accepted(running, 2))[1]?.text.includes("after"));
  });

  it("tries again with growing pauses while the platform is away", async (running) => {
    await running.far.drop?.(true);
    const before = running.far.attempts?.() ?? 0;
    await sleep(1_500);
    const tries = (running.far.attempts?.() ?? 0) - before;
    assert.ok(tries <= 10, `${tries} attempts in 1.5 s`);
    const away = running.far.attempts?.() ?? 0;
    await running.far.drop?.();
    if (!has("history"))
      await inTime(
        LIMIT_MS,
        "the reconnect",
        until(() => (running.far.attempts?.() ?? 0) > away),
      );
    await say(running, friend("back"));
    await accepted(running, 1);
  });
}
