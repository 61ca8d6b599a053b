import type { Envelope, Outgoing } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "./bot-api.harness.ts";
import { GROUP, render, type Stage, setStage, TOKEN, until } from "./botmsg.harness.ts";

const stages: Stage[] = [];
async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  await made.start();
  return made;
}
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

const ADA = FRIEND.id;
const texts = ({ context }: Stage) => context.tasks.accepted.map(({ text }) => text);
const drops = ({ context }: Stage) => context.events.published.filter(({ type }: Envelope) => type === "message:dropped");
const reasons = (one: Stage) => drops(one).map(({ data }) => data?.reason);
const channelOf = ({ context }: Stage) => context.registered.channels[0]!.channel;
let keys = 0;
const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({
  target: { channel: "botmsg", account: "main", chat: String(ADA) },
  text,
  plain: render.to("plain", text),
  key: `k${++keys}`,
  ...more,
});
const send = (one: Stage, outgoing: Outgoing) => channelOf(one).send(outgoing, new AbortController().signal);
const heard = (one: Stage, count: number) => until(() => one.context.tasks.accepted.length + drops(one).length >= count);

describe("who may write", () => {
  it("CHAN-01 OPR-M13 with no list at all every message is dropped, and the reason names the id to list", async () => {
    const one = await stage({ policy: { allowFrom: undefined as never } });
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    expect(reasons(one)).toEqual(["no allowFrom list is set (the sender is 700)"]);
  });

  it("CHAN-01 an account's list replaces the global one: no union, and an empty one lets nobody in", async () => {
    for (const allowFrom of [["999"], []]) {
      const one = await stage({ accounts: { main: { allowFrom } } });
      one.api.say(TOKEN, { chat: ADA, text: "hello" });
      await heard(one, 1);
      expect(texts(one)).toEqual([]);
      expect(reasons(one)).toEqual(["the sender 700 is not in allowFrom"]);
    }
  });

  it("CHAN-01 ids are numbers at the platform and strings in the list; handles compare without case and @", async () => {
    for (const entry of ["700", "ada_b", "@ADA_B"]) {
      const one = await stage({ policy: { allowFrom: [entry] } });
      one.api.say(TOKEN, { chat: ADA, text: `in by ${entry}` });
      await heard(one, 1);
      expect(texts(one)).toEqual([`in by ${entry}`]);
    }
  });

  it("CHAN-01 a negative chat id lets a whole group in, and never a person", async () => {
    const one = await stage({ policy: { allowFrom: [String(GROUP)] } });
    one.api.say(TOKEN, { chat: GROUP, from: { id: 1, is_bot: false, first_name: "Bo" }, text: "@helper_bot hi" });
    one.api.say(TOKEN, { chat: ADA, text: "hi" });
    await heard(one, 2);
    expect(texts(one)).toEqual(["hi"]);
    expect(one.context.tasks.accepted[0]).toMatchObject({ chat: String(GROUP), sender: { id: "1" }, facts: { chatTitle: "The Garden" } });
  });

  it("CHAN-01 a listed handle that changes hands opens nothing any more", async () => {
    const one = await stage({ policy: { allowFrom: ["@ada_b"], group: "all" } });
    one.api.say(TOKEN, { chat: GROUP, text: "first" });
    one.api.say(TOKEN, { chat: GROUP, from: { ...FRIEND, id: 31337 }, text: "second" });
    await heard(one, 2);
    expect(texts(one)).toEqual(["first"]);
    expect(reasons(one)).toEqual([expect.stringContaining("belongs to somebody else")]);
  });

  it("CHAN-08 each message gives one dropped event or one task, and a dropped one names its reason", async () => {
    const one = await stage();
    one.api.say(TOKEN, { chat: ADA, text: "yes" });
    one.api.say(TOKEN, { chat: GROUP, text: "not meant" });
    one.api.say(TOKEN, { chat: GROUP, from: { id: 5, is_bot: false, first_name: "X" }, text: "@helper_bot let me" });
    await heard(one, 3);
    expect(texts(one)).toEqual(["yes"]);
    expect(drops(one)).toMatchObject([
      { kind: "message", agentId: "anna", data: { channel: "botmsg", reason: "the bot is not mentioned" } },
      { kind: "message", data: { reason: "the sender 5 is not in allowFrom" } },
    ]);
    expect(JSON.stringify(drops(one))).not.toContain("let me");
  });
});

describe("groups", () => {
  it("CHAN-02 by default a group message must mean the bot: by handle, by answering it, or by a button", async () => {
    const one = await stage();
    one.api.say(TOKEN, { chat: GROUP, text: "talking among ourselves" });
    one.api.say(TOKEN, { chat: GROUP, text: "@helper_bot by handle" });
    one.api.say(TOKEN, {
      chat: GROUP,
      text: "by reply",
      more: {
        reply_to_message: {
          message_id: 9,
          date: 1,
          chat: { id: GROUP, type: "supergroup", title: "The Garden" },
          from: { id: 42, is_bot: true, first_name: "helper" },
          text: "earlier",
        },
      },
    });
    one.api.say(TOKEN, { chat: GROUP, text: "@helper_bots is somebody else" });
    await heard(one, 4);
    expect(texts(one)).toEqual(["by handle", "by reply"]);
    expect(one.context.tasks.accepted[1]?.replyTo).toMatchObject({ platformId: "9", text: "earlier", sender: { id: "42", bot: true } });
  });

  it("CHAN-02 group: all takes every message of allowed people", async () => {
    const one = await stage({ policy: { group: "all" } });
    one.api.say(TOKEN, { chat: GROUP, text: "just talking" });
    await heard(one, 1);
    expect(texts(one)).toEqual(["just talking"]);
  });

  it("a handle in code means nobody", async () => {
    const one = await stage();
    one.api.say(TOKEN, { chat: GROUP, text: "see `@helper_bot`", more: { entities: [{ type: "code", offset: 4, length: 13 }] } });
    await heard(one, 1);
    expect(texts(one)).toEqual([]);
  });

  it("FAULT-58 full-width, zero-width and right-to-left signs do not hide a mention; a look-alike letter is another handle", async () => {
    const one = await stage();
    for (const text of ["\uFF20helper_bot 1", "@hel\u200Bper_bot 2", "\u202E@helper_bot 3", "@\uFF48elper_bot 4", "@h\u0435lper_bot 5"])
      one.api.say(TOKEN, { chat: GROUP, text, more: { entities: [] } });
    await heard(one, 5);
    expect(one.context.tasks.accepted).toHaveLength(4);
    expect(one.context.tasks.accepted.map(({ mentions }) => mentions)).toEqual(Array(4).fill(["helper_bot"]));
    expect(reasons(one)).toEqual(["the bot is not mentioned"]);
  });

  it("topics are threads", async () => {
    const one = await stage({ policy: { group: "all" } });
    one.api.say(TOKEN, { chat: GROUP, text: "in a topic", more: { is_topic_message: true, message_thread_id: 77 } });
    await heard(one, 1);
    expect(one.context.tasks.accepted[0]?.thread).toBe("77");
    await send(one, out("here", { target: { channel: "botmsg", account: "main", chat: String(GROUP), thread: "77", replyTo: "101" } }));
    expect(one.api.shown.at(-1)).toMatchObject({ chat: GROUP, thread: 77, replyTo: 101 });
  });
});

describe("which agent", () => {
  const agents = [
    { id: "anna", mentions: ["anna"] },
    { id: "ben", mentions: ["@Ben"] },
    { id: "cleo", mentions: ["cleo"] },
  ];
  const other = "77:other-token";

  it("is the account's own, unless another one is named that has no account here", async () => {
    const api = await startBotApi();
    api.addBot(other, 77, "cleo_bot");
    const one = await stage({ api, agents, accounts: { main: {}, second: { token: other, agentBinding: "cleo" } } });
    for (const text of ["hello", "@ben please", "@cleo please", "@helper_bot and @ben"]) api.say(TOKEN, { chat: ADA, text });
    api.say(TOKEN, { chat: GROUP, text: "@ben in the group" });
    await heard(one, 5);
    expect(one.context.tasks.accepted.map(({ agent }) => agent)).toEqual(["anna", "ben", "anna", "anna", "ben"]);
  });
});

describe("direct messages", () => {
  it("CHAN-02 an allowed but unknown person gets a code, and is heard once the operator has confirmed it", async () => {
    const one = await stage({ paired: false });
    one.api.say(TOKEN, { chat: ADA, text: "hello?" });
    one.api.say(TOKEN, { chat: ADA, text: "anyone?" });
    await heard(one, 2);
    expect(texts(one)).toEqual([]);
    expect(one.context.tasks.delivered).toHaveLength(1);
    const [invitation] = one.context.tasks.delivered;
    expect(invitation?.target).toEqual({ channel: "botmsg", account: "main", chat: String(ADA) });
    const code = /svc channel pair (\w+)/.exec(invitation?.text ?? "")?.[1] ?? "";
    expect((await one.context.request("GET", "/channels/botmsg/pair")).body).toMatchObject({
      waiting: [{ account: "main", sender: "700", name: "Ada Byron" }],
    });
    expect(await one.context.request("POST", "/channels/botmsg/pair", { body: { code: code.toLowerCase() } })).toMatchObject({
      status: 200,
      body: { account: "main", sender: "700" },
    });
    one.api.say(TOKEN, { chat: ADA, text: "hello again" });
    await heard(one, 3);
    expect(texts(one)).toEqual(["hello again"]);
    expect((await one.context.request("POST", "/channels/botmsg/pair", { body: { code } })).status).toBe(404);
  });

  it("CHAN-02 dm: block ignores direct messages, paired or not", async () => {
    const one = await stage({ policy: { dm: "block" } });
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    expect(texts(one)).toEqual([]);
    expect(one.context.tasks.delivered).toEqual([]);
  });

  it("CHAN-02 who is not allowed gets no code", async () => {
    const one = await stage({ paired: false, policy: { allowFrom: ["1"] } });
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    expect(one.context.tasks.delivered).toEqual([]);
  });

  it("pairing codes cannot be tried out: ten wrong ones close the door, also for the right one", async () => {
    const one = await stage({ paired: false });
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    for (let n = 0; n < 10; n += 1) expect((await one.context.request("POST", "/channels/botmsg/pair", { body: { code: `WRONG${n}` } })).status).toBe(404);
    const code = /pair (\w{8})/.exec(one.context.tasks.delivered[0]?.text ?? "")?.[1];
    expect((await one.context.request("POST", "/channels/botmsg/pair", { body: { code } })).status).toBe(429);
  });

  it("wrong codes that are tried side by side, through two daemons on one store, are ten together; a right one does not count", async () => {
    const store = createMemoryStore();
    const one = await stage({ paired: false, store });
    const other = await stage({ paired: false, store });
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    const code = /pair (\w{8})/.exec(one.context.tasks.delivered[0]?.text ?? "")?.[1];
    const first = await Promise.all([1, 2].map(() => one.context.request("POST", "/channels/botmsg/pair", { body: { code } })));
    expect(first.map(({ status }) => status).sort()).toEqual([200, 404]);
    const tries = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? one : other).context.request("POST", "/channels/botmsg/pair", { body: { code: `WRONG${n}` } }),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    // One of the ten was the loser of the two right ones.
    expect(statuses.filter((status) => status === 404)).toHaveLength(9);
    expect(statuses.filter((status) => status === 429)).toHaveLength(11);
  });

  it("only this machine and who may change settings may confirm, and codes are not stored in clear", async () => {
    const store = createMemoryStore();
    const one = await stage({ paired: false, store });
    expect(one.context.registered.routes.map(({ guard }) => guard)).toEqual(["loopback", "loopback", "scope:dashboard:write", "scope:dashboard:write"]);
    one.api.say(TOKEN, { chat: ADA, text: "hello" });
    await heard(one, 1);
    const code = /pair (\w{8})/.exec(one.context.tasks.delivered[0]?.text ?? "")?.[1] ?? "";
    expect(code).not.toBe("");
    expect(JSON.stringify(await store.collection("pairing").list())).not.toContain(code);
  });
});

describe("polling", () => {
  it("CHAN-02 pollInbound: false never asks for messages, and sends", async () => {
    const one = await stage({ accounts: { main: { pollInbound: false } } });
    one.api.say(TOKEN, { chat: ADA, text: "for the other node" });
    await send(one, out("from here"));
    expect(one.api.polls(TOKEN)).toBe(0);
    expect(one.api.calls.map(({ method }) => method)).toEqual(["getMe", "sendMessage"]);
    expect(one.api.unconfirmed(TOKEN)).toBe(1);
  });

  it("confirms to the platform only what was kept, also at the stop", async () => {
    const one = await setStage({ keepApi: true });
    await one.start();
    one.api.say(TOKEN, { chat: ADA, text: "kept" });
    await until(() => texts(one).length === 1);
    Object.assign(one.context.tasks, { accept: () => Promise.reject(new Error("disk full")) });
    one.api.say(TOKEN, { chat: ADA, text: "not kept" });
    await until(() => one.context.logged.some(({ text }) => text?.includes("not acknowledged")));
    await one.stop();
    expect(one.api.unconfirmed(TOKEN)).toBe(1);
    await one.api.close();
  });

  it("FAULT-36 an update handed out twice is one task, also by another process with the same store", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepApi: true });
    await one.start();
    one.api.say(TOKEN, { chat: ADA, text: "once" });
    await until(() => texts(one).length === 1);
    one.api.repeat(TOKEN);
    one.api.say(TOKEN, { chat: ADA, text: "then" });
    await until(() => texts(one).length === 2);
    expect(texts(one)).toEqual(["once", "then"]);
    const keysBefore = one.context.tasks.accepted.map(({ dedupKey }) => dedupKey);
    await one.stop();
    const two = await stage({ store, api: one.api });
    two.api.repeat(TOKEN);
    await until(() => two.context.tasks.accepted.length === 1);
    expect(two.context.tasks.accepted[0]?.dedupKey).toBe(keysBefore[1]);
  });

  it("FAULT-37 two pollers on one token: the event names the conflict once, nobody loops tightly, and sending goes on", async () => {
    const api = await startBotApi();
    const one = await setStage({ api, keepApi: true });
    const two = await setStage({ api, keepApi: true });
    await one.start();
    await two.start();
    const conflicts = () => [one, two].flatMap(({ context }) => context.events.published.filter(({ data }) => data?.state === "channel-conflict"));
    await until(() => conflicts().length > 0);
    const before = api.polls(TOKEN);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(api.polls(TOKEN) - before).toBeLessThan(12);
    expect(conflicts()[0]).toMatchObject({ kind: "status", summary: expect.stringContaining("account main"), data: { channel: "botmsg", account: "main" } });
    for (const { context } of [one, two])
      expect(context.events.published.filter(({ data }) => data?.state === "channel-conflict").length).toBeLessThanOrEqual(1);
    await send(one, out("still here"));
    expect(api.shown.at(-1)?.text).toBe("still here");
    await one.stop();
    api.say(TOKEN, { chat: ADA, text: "who stays?" });
    await until(() => texts(two).length === 1);
    await two.stop();
    await api.close();
  });

  it("two accounts with one token do not poll against each other", async () => {
    const one = await stage({ accounts: { main: {}, twin: {} } });
    expect(one.context.logged.filter(({ level, text }) => level === "error" && text?.includes("same token"))).toHaveLength(1);
    expect(one.api.calls.filter(({ method }) => method === "getMe")).toHaveLength(1);
  });

  it("several accounts run side by side, and a refused token takes none of the others down", async () => {
    const api = await startBotApi();
    api.addBot("77:second", 77, "second_bot");
    const one = await stage({
      api,
      accounts: { main: {}, second: { token: "77:second", agentBinding: "ben" }, broken: { token: "1:revoked", agentBinding: "cleo" } },
    });
    await until(() => one.context.logged.some(({ text }) => text?.includes("channels.botmsg.accounts.broken.token")));
    expect(one.context.registered.channels[0]?.state).toBe("ready");
    api.say(TOKEN, { chat: GROUP, text: "@helper_bot one" });
    api.say("77:second", { chat: GROUP, text: "@second_bot two" });
    await heard(one, 2);
    expect(one.context.tasks.accepted.map(({ account, agent }) => [account, agent]).sort()).toEqual([
      ["main", "anna"],
      ["second", "ben"],
    ]);
    await send(one, out("from the second", { target: { channel: "botmsg", account: "second", chat: String(ADA) } }));
    expect(api.shown.at(-1)?.from).toBe("second_bot");
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "broken", chat: "1" } }))).rejects.toMatchObject({ failure: "retry" });
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "nobody", chat: "1" } }))).rejects.toMatchObject({ failure: "permanent" });
  });

  it("asked who it is, it names every account that does not work, also beside one that does", async () => {
    const ask = async (one: Stage) => channelOf(one).test?.(new AbortController().signal);
    const api = await startBotApi();
    api.addBot("77:second", 77, "second_bot");
    const good = { main: {}, second: { token: "77:second", agentBinding: "ben" } };
    expect(await ask(await stage({ api, accounts: good, keepApi: true }))).toBe("main: @helper_bot, second: @second_bot");
    const one = await stage({ api, accounts: { ...good, broken: { token: "1:revoked" }, twin: {}, empty: { token: "" } } });
    const refused = (await ask(one).catch((error) => error)) as Error & { failure: string };
    expect(refused.failure).toBe("permanent");
    expect(refused.message.split("; ")).toEqual([
      "broken: the platform refuses the token of account broken",
      "check channels.botmsg.accounts.broken.token",
      "twin: it has the same token as main",
      "empty: its token is empty",
      "main: @helper_bot",
      "second: @second_bot",
    ]);
    // The kernel asks once, within its limit: an account that cannot be reached is named too.
    await api.close();
    await expect(ask(one)).rejects.toThrow(/main: the platform was not reached: .*second: the platform was not reached/s);
  });

  it("a channel without a usable account is down and says why, without the token", async () => {
    const one = await stage({ accounts: { main: { token: "1:revoked" } } });
    const [channel] = one.context.registered.channels;
    expect(channel?.state).toBe("down");
    expect(channel?.reason).toContain("channels.botmsg.accounts.main.token");
    expect(channel?.reason).not.toContain("revoked");
  });
});

describe("what goes out", () => {
  it("markdown becomes the platform's own markup, and an edit replaces it", async () => {
    const one = await stage();
    const { platformId } = await send(one, out("a **bold** <word>"));
    expect(one.api.shown.at(-1)).toMatchObject({ text: "a bold <word>", html: "a <b>bold</b> &lt;word&gt;" });
    await channelOf(one).edit?.(platformId, out("**all** new"), new AbortController().signal);
    expect(one.api.shown).toHaveLength(1);
    expect(one.api.shown[0]).toMatchObject({ text: "all new" });
  });

  it("buttons: a press says the label, as a message of the one who pressed", async () => {
    const one = await stage();
    await send(one, out("Shall I?\n\n```buttons\n[Yes] [No]\n[Read](https://example.org/a)\n```"));
    const shown = one.api.shown.at(-1)!;
    expect(shown).toMatchObject({
      text: "Shall I?",
      markup: {
        inline_keyboard: [
          [
            { text: "Yes", callback_data: "0.0" },
            { text: "No", callback_data: "0.1" },
          ],
          [{ text: "Read", url: "https://example.org/a" }],
        ],
      },
    });
    one.api.press(TOKEN, { from: FRIEND, message: shown.id, data: "0.1" });
    await heard(one, 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ text: "No", sender: { id: "700" }, platformId: String(shown.id) });
    await until(() => one.api.calls.some(({ method }) => method === "answerCallbackQuery"));
  });

  it("a press is judged like a message", async () => {
    const one = await stage();
    await send(one, out("Shall I?\n\n```buttons\n[Yes]\n```", { target: { channel: "botmsg", account: "main", chat: String(GROUP) } }));
    one.api.press(TOKEN, { from: { id: 5, is_bot: false, first_name: "X" }, message: one.api.shown.at(-1)!.id, data: "0.0" });
    await heard(one, 1);
    expect(reasons(one)).toEqual(["the sender 5 is not in allowFrom"]);
  });

  it("a poll is asked once, also when the answer grows by edits or is sent again", async () => {
    const one = await stage();
    const answer = out("Vote:\n\n```poll\nWhere to?\n- Pizza\n- Sushi\n```");
    const { platformId } = await send(one, { ...answer, text: "Vote:\n\n```poll\nWhere to?\n- Piz" });
    expect(one.api.shown).toMatchObject([{ text: "Vote:" }]);
    for (let n = 0; n < 2; n += 1) await channelOf(one).edit?.(platformId, answer, new AbortController().signal);
    expect(one.api.shown.map(({ text, poll }) => poll ?? text)).toEqual(["Vote:", { question: "Where to?", options: ["Pizza", "Sushi"] }]);
  });

  it("CHAN-07 richMessages: false sends plain text only", async () => {
    const one = await stage({ agents: [{ id: "anna", settings: { richMessages: false } }] });
    await send(one, out("a **bold** word\n```buttons\n[Yes]\n```", { plain: "a bold word\n[Yes]" }));
    expect(one.api.shown.at(-1)).toEqual({ id: expect.any(Number), chat: ADA, from: "helper_bot", text: "a bold word\n[Yes]" });
  });

  it("each kind of file goes by its own way, one that is there already by its id", async () => {
    const one = await stage();
    one.api.addFile("AAAA", new Uint8Array([1]));
    const data = new Uint8Array([1, 2, 3]);
    for (const kind of ["image", "audio", "video", "file"] as const) await send(one, out("", { media: [{ kind, name: `a.${kind}`, data }] }));
    await send(one, out("", { media: [{ kind: "file", handle: "main/AAAA" }] }));
    expect(one.api.shown.map(({ file }) => [file?.method, file?.name])).toEqual([
      ["sendPhoto", "a.image"],
      ["sendAudio", "a.audio"],
      ["sendVideo", "a.video"],
      ["sendDocument", "a.file"],
      ["sendDocument", ""],
    ]);
  });

  it("FAULT-34 a chat that is not there is a permanent failure", async () => {
    const one = await stage();
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "main", chat: "12345" } }))).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("chat not found"),
    });
  });

  it("follows a group to its new id", async () => {
    const one = await stage();
    one.api.fault = ({ body }) =>
      String(body.chat_id) === "-55"
        ? { code: 400, description: "Bad Request: group chat was upgraded to a supergroup chat", parameters: { migrate_to_chat_id: GROUP } }
        : undefined;
    await send(one, out("moved", { target: { channel: "botmsg", account: "main", chat: "-55" } }));
    expect(one.api.shown.at(-1)).toMatchObject({ chat: GROUP, text: "moved" });
  });

  it("a platform that was never reached is told as retry: nothing can have arrived", async () => {
    const one = await stage({ accounts: { main: {}, dead: { token: "9:x", apiRoot: "http://127.0.0.1:1", pollInbound: false } } });
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "dead", chat: "1" } }))).rejects.toMatchObject({
      failure: "retry",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("reacts to a message", async () => {
    const one = await stage();
    const id = one.api.say(TOKEN, { chat: ADA, text: "nice" });
    await channelOf(one).react?.({ channel: "botmsg", account: "main", chat: String(ADA) }, String(id), "👀", new AbortController().signal);
    expect(one.api.reactions.get(id)).toBe("👀");
  });

  it("FAULT-59 a download that fails does not show the token", async () => {
    const one = await stage();
    const error = await channelOf(one)
      .fetchMedia?.({ kind: "file", handle: "main/none" }, new AbortController().signal)
      .catch((caught: Error) => caught);
    expect(String(error)).toContain("wrong file_id");
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain("secret-token");
  });
});
