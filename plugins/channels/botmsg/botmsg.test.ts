import type { DraftDelivery } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "./bot-api.harness.ts";
import { GROUP, TOKEN } from "./botmsg.harness.ts";
import { ADA, drops, heard, out, reasons, send, stage, texts } from "./stages.harness.ts";

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

  it("CHAN-02 a code that could not be stored for sending is made anew: the person is not left without one", async () => {
    const one = await stage({ paired: false });
    const { tasks } = one.context;
    const { deliver } = tasks;
    let failures = 0;
    Object.assign(tasks, {
      deliver: async (given: DraftDelivery) => {
        failures += 1;
        if (failures === 1) throw new Error("disk full");
        return deliver(given);
      },
    });
    one.api.say(TOKEN, { chat: ADA, text: "hello?" });
    await heard(one, 1);
    expect(tasks.delivered.map(({ text }) => text)).toEqual([expect.stringMatching(/svc channel pair \w{8}/)]);
    expect((await one.context.request("GET", "/channels/botmsg/pair")).body).toMatchObject({ waiting: [{ sender: String(ADA) }] });
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
