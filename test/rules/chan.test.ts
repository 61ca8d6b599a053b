import { describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { GROUP, TOKEN, until } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import botmsg from "../../plugins/channels/botmsg/index.ts";
import topicpush from "../../plugins/channels/topicpush/index.ts";
import { baseOf, post, type Running, runKernel } from "../kit/kernel.ts";

/** The whole daemon with a bot account: the platform's server is ours, everything on this side is real. */
async function withBot(options: { agent?: object; channels?: object; policy?: object } = {}) {
  const api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(FRIEND.id);
  api.addChat(GROUP, "supergroup", "The Garden");
  const policy = { allowFrom: [String(FRIEND.id), String(GROUP)], group: "all", ...options.policy };
  const running = await runKernel({
    agent: { ...options.agent },
    config: {
      channels: { botmsg: { enabled: true, apiRoot: api.root, accounts: { main: { token: TOKEN, agentBinding: "a" } }, policy }, ...options.channels },
    },
    inline: [botmsg as never, topicpush as never],
    listen: true,
  });
  await until(() => running.kernel.health().plugins.some(({ id, state }) => id === "channel-botmsg" && state === "running"));
  return { api, ...running, say: (text: string, chat = GROUP) => api.say(TOKEN, { chat, text }) };
}
const of = ({ events }: Pick<Running, "events">, kind: string, type?: string) =>
  events.filter((event) => event.kind === kind && (type === undefined || event.type === type));

describe("channels over a whole daemon", () => {
  it("a message in a chat is answered in that chat, as an answer to it", async () => {
    const one = await withBot();
    const id = one.say("hello there");
    await until(() => one.api.shown.length === 1);
    expect(one.api.shown[0]).toMatchObject({ chat: GROUP, text: "hello there", replyTo: id });
    await until(() => of(one, "channel", "out").length === 1);
    await one.api.close();
  });

  it("CHAN-03 a long answer grows by edits of one message and ends as the whole answer", async () => {
    const one = await withBot();
    one.say("hold");
    await until(() => one.tier.held === 1);
    const answer = Array.from({ length: 90 }, (_, n) => `word${n}`).join(" ");
    one.tier.release(answer);
    await until(() => one.api.shown[0]?.text === `begun ${answer}`);
    expect(one.api.shown).toHaveLength(1);
    await one.api.close();
  });

  it("CHAN-08 each inbound message gives exactly one of matched and dropped, and channel events carry the platform's ids", async () => {
    const one = await withBot({ policy: { group: "mention-required" } });
    const heard = one.say("@helper_bot taken");
    const passed = one.say("just talking");
    const stranger = one.api.say(TOKEN, { chat: FRIEND.id, from: { id: 9, is_bot: false, first_name: "Eve" }, text: "let me in" });
    await until(() => of(one, "message").length === 3 && of(one, "channel", "out").length === 1);
    expect(
      of(one, "message")
        .map(({ type, ref }) => [type, ref])
        .sort(),
    ).toEqual(
      [
        ["message:dropped", String(passed)],
        ["message:dropped", String(stranger)],
        ["message:matched", String(heard)],
      ].sort(),
    );
    expect(of(one, "channel", "in").map(({ ref }) => ref)).toEqual([String(heard)]);
    expect(of(one, "channel", "out").map(({ ref }) => ref)).toEqual([String(one.api.shown[0]?.id)]);
    const matched = of(one, "message", "message:matched")[0];
    expect(of(one, "channel", "out")[0]?.rootId).toBe(matched?.rootId);
    await one.api.close();
  });

  it("CHAN-07 richMessages: false sends plain text only", async () => {
    const one = await withBot({ agent: { richMessages: false } });
    one.say("some **bold** words");
    await until(() => one.api.shown.length === 1);
    expect(one.api.shown[0]).toMatchObject({ text: "some bold words" });
    expect(one.api.shown[0]?.html).toBeUndefined();
    await one.api.close();
  });

  it("markdown is shown in the platform's markup", async () => {
    const one = await withBot();
    one.say("some **bold** words & more");
    await until(() => one.api.shown.length === 1);
    expect(one.api.shown[0]).toMatchObject({ text: "some bold words & more", html: "some <b>bold</b> words &amp; more" });
    await one.api.close();
  });

  it("API-13 POST /send: 400 for what is missing, 404 for an unknown or disabled channel, 502 with the platform's words, the message id on success", async () => {
    const one = await withBot({ channels: { topicpush: { enabled: false, topic: "t" } } });
    const base = baseOf(one.kernel);
    const whole = { channel: "botmsg", chatId: String(GROUP), text: "hello" };
    for (const field of ["channel", "chatId", "text"]) {
      const { [field]: _, ...rest } = whole as Record<string, string>;
      expect(await post(base, "/send", rest)).toMatchObject({ status: 400, body: { field } });
    }
    for (const channel of ["topicpush", "nowhere"]) expect(await post(base, "/send", { ...whole, channel })).toMatchObject({ status: 404 });
    expect(await post(base, "/send", { ...whole, chatId: "12345" })).toMatchObject({ status: 502, body: { error: expect.stringContaining("chat not found") } });
    const sent = await post(base, "/send", { ...whole, accountId: "main", agentId: "a" });
    expect(sent).toEqual({ status: 200, body: { ok: true, messageId: String(one.api.shown[0]?.id) } });
    expect(one.api.shown[0]?.text).toBe("hello");
    await one.api.close();
  });

  it("EVT-09 what people and agents say appears in no event", async () => {
    const one = await withBot({ policy: { group: "mention-required" } });
    one.say("@helper_bot MARKER-1");
    one.say("MARKER-2 not for us");
    await until(() => of(one, "message").length === 2 && of(one, "channel", "out").length === 1);
    expect(JSON.stringify(one.events)).not.toMatch(/MARKER-[12]/);
    await one.api.close();
  });
});
