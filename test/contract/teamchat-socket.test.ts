import type { Envelope, Message } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { ADA, BOT, CHANNEL, DIRECT, furnish, MALLORY, STRANGE, type Stage, setStage, TEAM, until } from "./teamchat.harness.ts";

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

const texts = ({ context }: Stage) => context.tasks.accepted.map(({ text }) => text);
const drops = ({ context }: Stage) => context.events.published.filter(({ type }: Envelope) => type === "message:dropped");
const reasons = (one: Stage) => drops(one).map(({ data }) => data?.reason);
const heard = (one: Stage, count: number) => until(() => one.context.tasks.accepted.length + drops(one).length >= count);
const settled = (one: Stage) => until(() => one.far.sockets.pending() === 0);
const state = ({ context }: Stage) => context.registered.channels[0]!;

/** The kernel keeps a message only when it is told to. */
function hold({ context }: Stage): { readonly waiting: Message[]; release(): void } {
  const { tasks } = context;
  const { accept } = tasks;
  const waiting: Message[] = [];
  let release = () => {};
  const free = new Promise<void>((resolve) => (release = resolve));
  Object.assign(tasks, {
    accept: async (message: Message) => {
      waiting.push(message);
      await free;
      return accept(message);
    },
  });
  return { waiting, release };
}

describe("acknowledgements", () => {
  it("FAULT-01 an envelope is acknowledged only once the message is kept", async () => {
    const one = await stage();
    const { waiting, release } = hold(one);
    one.far.say(DIRECT, { user: ADA, text: "keep me" });
    await until(() => waiting.length === 1);
    expect(one.far.sockets.acknowledged).toEqual([]);
    release();
    await settled(one);
    expect(one.far.sockets.acknowledged).toHaveLength(1);
  });

  it("an acknowledgement that is late has it come again: both are acknowledged, it is one message", async () => {
    const one = await stage();
    one.far.sockets.delivery.ackMs = 40;
    const { waiting, release } = hold(one);
    one.far.say(DIRECT, { user: ADA, text: "once" });
    const sent = () => one.far.calls.length;
    await until(() => waiting.length === 1 && sent() > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    release();
    await settled(one);
    expect(texts(one)).toEqual(["once"]);
    expect(one.far.sockets.acknowledged.length).toBeGreaterThan(0);
  });

  it("message and app_mention of one post are one, and each of three copies too, also as first attempts", async () => {
    const one = await stage();
    one.far.say(CHANNEL, { user: ADA, text: `<@${BOT}> once` });
    await heard(one, 1);
    for (let n = 0; n < 3; n += 1) one.far.repeat();
    one.far.say(DIRECT, { user: ADA, text: "marker" });
    await heard(one, 2);
    await settled(one);
    expect(texts(one)).toEqual(["once", "marker"]);
    expect(one.far.sockets.acknowledged).toHaveLength(6);
  });

  it("what waits while the kernel is busy is handed over in the order in which it was said, however it came", async () => {
    const one = await stage();
    const { waiting, release } = hold(one);
    one.far.say(DIRECT, { user: ADA, text: "first" });
    await until(() => waiting.length === 1);
    let n = 0;
    one.far.sockets.delivery.fault = () => (n++ % 2 === 0 ? "late" : "double");
    for (const text of ["2", "3", "4", "5", "6"]) one.far.say(DIRECT, { user: ADA, text });
    await until(() => one.far.sockets.pending() >= 6);
    await new Promise((resolve) => setTimeout(resolve, 60));
    release();
    await settled(one);
    expect(texts(one)).toEqual(["first", "2", "3", "4", "5", "6"]);
  });

  it("frames that are none, events of other kinds and of other workspaces are acknowledged and stand in nobody's way", async () => {
    const one = await stage();
    const { appToken } = one.far.world.workspaces[0]!;
    one.far.sockets.offer(appToken, "slash_commands", { command: "/x" }, false);
    one.far.sockets.offer(appToken, "events_api", { team_id: TEAM, event: { type: "team_join" } });
    one.far.sockets.offer(appToken, "events_api", { team_id: "T9", event: { type: "message", channel: "D9", ts: "1.1", user: "U9", text: "x" } });
    one.far.sockets.offer(appToken, "interactive", { type: "view_submission", team: { id: TEAM } }, false);
    one.far.sockets.offer(appToken, "events_api", {});
    one.far.say(DIRECT, { user: ADA, text: "marker" });
    await heard(one, 1);
    await settled(one);
    expect(texts(one)).toEqual(["marker"]);
    expect(one.far.sockets.acknowledged).toHaveLength(6);
  });
});

it("a button does not wait behind what was missed while the platform throttles the reading", async () => {
  const store = createMemoryStore();
  const far = await furnish();
  const first = await setStage({ far, store, keepFar: true });
  await first.start();
  far.say(CHANNEL, { user: ADA, text: `<@${BOT}> before` });
  await heard(first, 1);
  await first.stop();
  const begun = { ts: far.world.ts(), user: BOT, botId: "BT1", text: "Go?", mrkdwn: true, files: [], reactions: new Map(), edits: 0 };
  far.world.room(CHANNEL)?.posts.push(begun);
  let waiting = 0;
  far.reading = ({ method }) => {
    if (method !== "conversations.history") return undefined;
    waiting += 1;
    return { status: 429, retryAfter: 3 };
  };
  const one = await stage({ far, store });
  await until(() => waiting > 0);
  far.press({ user: ADA, room: CHANNEL, ts: begun.ts, value: "say:Yes", label: "Yes" });
  await heard(one, 1);
  expect(texts(one)).toEqual(["Yes"]);
});

describe("connections", () => {
  for (const reason of ["warning", "refresh_requested"] as const)
    it(`${reason}: the second socket is open before the first one ends, and no word is lost between`, async () => {
      const one = await stage();
      one.far.sockets.disconnect(reason, 400);
      // The first one is open until the platform closes it: now there are two.
      await until(() => one.far.sockets.open() === 2);
      for (let n = 0; n < 6; n += 1) one.far.say(DIRECT, { user: ADA, text: `word ${n}` });
      await until(() => one.far.sockets.open() === 1);
      one.far.say(DIRECT, { user: ADA, text: "after" });
      await heard(one, 7);
      await settled(one);
      expect(texts(one)).toEqual(["word 0", "word 1", "word 2", "word 3", "word 4", "word 5", "after"]);
      expect(one.far.sockets.attempts()).toBe(2);
      // There was no gap: the history was not asked.
      expect(one.far.calls.filter(({ method }) => method === "conversations.history")).toEqual([]);
      expect(state(one)).toMatchObject({ state: "ready" });
    });

  it("link_disabled: the channel goes down naming the switch", async () => {
    const one = await stage();
    const [workspace] = one.far.world.workspaces;
    workspace!.socketMode = false;
    one.far.sockets.disconnect("link_disabled", 10);
    await until(() => state(one).state === "down");
    expect(state(one).reason).toMatch(/socket mode is switched off: switch it on at the app's page Socket Mode/);
  });

  it("FAULT-35 a connection that breaks is sought again at once, and the history is read", async () => {
    const one = await stage();
    one.far.say(DIRECT, { user: ADA, text: "before" });
    await heard(one, 1);
    one.far.sockets.delivery.fault = () => "lose";
    one.far.sockets.delivery.retryMs = [];
    one.far.say(DIRECT, { user: ADA, text: "while it was lost" });
    one.far.sockets.cutAll();
    one.far.sockets.delivery.fault = () => undefined;
    await heard(one, 2);
    expect(texts(one)).toEqual(["before", "while it was lost"]);
  });
});

describe("who is heard", () => {
  it("CHAN-01 teamchat with no list nobody is heard, and it says so beside its state", async () => {
    const one = await stage({ config: { allowFrom: [] } });
    one.far.say(DIRECT, { user: ADA, text: "hello" });
    await heard(one, 1);
    expect(reasons(one)).toEqual([`no allowFrom list is set (the sender is ${ADA})`]);
    expect(state(one)).toMatchObject({ state: "ready", reason: expect.stringMatching(/^hears nobody: list in allowFrom/) });
  });

  it("CHAN-01 teamchat a person, a channel or the whole workspace; a stranger of a shared channel is no member", async () => {
    const far = await furnish();
    far.addPerson("T9", "U9GUEST", "guest");
    far.world.room(CHANNEL)?.members.add("U9GUEST");
    const one = await stage({ far, config: { allowFrom: [TEAM], group: "all" } });
    far.say(CHANNEL, { user: MALLORY, text: "member" });
    far.say(CHANNEL, { user: "U9GUEST", text: "guest" });
    await heard(one, 2);
    expect([texts(one), reasons(one)]).toEqual([["member"], ["the sender U9GUEST is not in allowFrom"]]);
    const other = await stage({ config: { allowFrom: [CHANNEL] } });
    other.far.say(CHANNEL, { user: MALLORY, text: `<@${BOT}> by the channel` });
    other.far.say(STRANGE, { user: MALLORY, text: "directly" });
    await heard(other, 2);
    expect(texts(other)).toEqual(["by the channel"]);
  });

  it("CHAN-02 teamchat in a channel the bot must be meant: by mention, or in a thread that it began", async () => {
    const one = await stage();
    const begun = one.far.world.room(CHANNEL)!;
    one.far.say(CHANNEL, { user: ADA, text: "among ourselves" });
    one.far.say(CHANNEL, { user: ADA, text: `see \`<@${BOT}>\`` });
    one.far.say(CHANNEL, { user: ADA, text: `<@${BOT}> meant` });
    begun.posts.push({ ts: one.far.world.ts(), user: BOT, botId: "BT1", text: "a notice", mrkdwn: true, files: [], reactions: new Map(), edits: 0 });
    one.far.say(CHANNEL, { user: ADA, text: "in its thread", thread: begun.posts.at(-1)!.ts });
    await heard(one, 4);
    expect(texts(one)).toEqual(["meant", "in its thread"]);
    expect(reasons(one)).toEqual(["the bot is not mentioned", "the bot is not mentioned"]);
  });

  it("CHAN-08 teamchat each message gives one dropped event or one task, also over a restart that reads it again", async () => {
    const store = createMemoryStore();
    const far = await furnish();
    const first = await setStage({ far, store, keepFar: true });
    await first.start();
    far.say(DIRECT, { user: ADA, text: "yes" });
    far.say(CHANNEL, { user: ADA, text: "not meant" });
    far.say(STRANGE, { user: MALLORY, text: "let me in" });
    await heard(first, 3);
    await settled(first);
    await first.stop();
    const second = await stage({ far, store });
    far.say(DIRECT, { user: ADA, text: "marker" });
    await heard(second, 1);
    await until(() => far.calls.filter(({ method }) => method === "conversations.history").length >= 3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([...texts(first), ...texts(second)]).toEqual(["yes", "marker"]);
    expect([...reasons(first), ...reasons(second)]).toEqual(["the bot is not mentioned", `the sender ${MALLORY} is not in allowFrom`]);
    expect(JSON.stringify([drops(first), drops(second)])).not.toContain("let me in");
  });

  it("row 43: another bot that is listed is heard as one; the bot's own words never are", async () => {
    const far = await furnish();
    far.world.people.set("U7BOT", { id: "U7BOT", name: "other", realName: "other", team: TEAM, botId: "B7" });
    const one = await stage({ far, config: { allowFrom: ["U7BOT"] } });
    far.say(CHANNEL, { user: "U7BOT", text: `<@${BOT}> from a bot` });
    far.say(CHANNEL, { user: BOT, text: `<@${BOT}> from myself` });
    far.say(CHANNEL, { user: "U7BOT", text: `<@${BOT}> marker` });
    await heard(one, 2);
    expect(one.context.tasks.accepted.map(({ text, sender }) => [text, sender?.bot])).toEqual([
      ["from a bot", true],
      ["marker", true],
    ]);
  });

  it("people are called by name, and by their id where the app may not ask", async () => {
    const one = await stage();
    one.far.say(CHANNEL, { user: ADA, text: `<@${BOT}> ask <@${MALLORY}>` });
    await heard(one, 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ sender: { id: ADA, name: "ada" }, text: "ask @mallory", mentions: ["helper", "mallory"] });
    const far = await furnish();
    far.world.workspaces[0]!.scopes.delete("users:read");
    const other = await stage({ far });
    far.say(DIRECT, { user: ADA, text: "hello" });
    await heard(other, 1);
    expect(other.context.tasks.accepted[0]?.sender).toEqual({ id: ADA });
    expect(JSON.stringify(other.context.logged)).toContain("lacks the scope users:read");
  });
});

describe("several workspaces", () => {
  it("each has its tokens, agent and list; what is said in one is answered there", async () => {
    const far = await furnish();
    far.addWorkspace("T2", { name: "Beta", bot: "second" });
    far.addPerson("T2", "U3BO", "bo");
    far.addRoom("T2", "im", "D3BO", ["U3BO", "UBT2"]);
    const [, beta] = far.world.workspaces;
    const workspaces = { beta: { botToken: beta!.botToken, appToken: beta!.appToken, agentBinding: "ben", allowFrom: ["U3BO"] } };
    const one = await stage({ far, config: { workspaces }, agents: [{ id: "anna" }, { id: "ben" }] });
    await until(() => far.sockets.open() === 2);
    far.say(DIRECT, { user: ADA, text: "to anna" });
    far.say("D3BO", { user: "U3BO", text: "to ben" });
    await heard(one, 2);
    expect(one.context.tasks.accepted.map(({ account, agent, text }) => [account, agent, text]).sort()).toEqual([
      ["beta", "ben", "to ben"],
      ["main", "anna", "to anna"],
    ]);
    const { channel } = state(one);
    await channel.send({ target: { channel: "teamchat", account: "beta", chat: "D3BO" }, text: "hi", plain: "hi", key: "k1" }, new AbortController().signal);
    expect(far.shown("D3BO").map(({ words }) => words)).toEqual(["hi"]);
    expect(await channel.test?.(new AbortController().signal)).toBe("main: @helper in Acme, beta: @second in Beta");
  });

  it("two bots in one workspace hear the same channel, each what is meant for it", async () => {
    const far = await furnish();
    far.addWorkspace(TEAM, { bot: "second", botUser: "UBOT2", appId: "A2", botToken: "xoxb-2-secret", appToken: "xapp-2-secret" });
    far.world.room(CHANNEL)?.members.add("UBOT2");
    const workspaces = { other: { botToken: "xoxb-2-secret", appToken: "xapp-2-secret", agentBinding: "ben" } };
    const one = await stage({ far, config: { workspaces }, agents: [{ id: "anna" }, { id: "ben" }] });
    await until(() => far.sockets.open() === 2);
    far.say(CHANNEL, { user: ADA, text: "<@UBOT2> to ben" });
    await heard(one, 2);
    far.say(CHANNEL, { user: ADA, text: `<@${BOT}> to anna` });
    await heard(one, 4);
    expect(one.context.tasks.accepted.map(({ agent, text }) => [agent, text])).toEqual([
      ["ben", "to ben"],
      ["anna", "to anna"],
    ]);
    expect(reasons(one)).toEqual(["the bot is not mentioned", "the bot is not mentioned"]);
  });

  it("of one app share its connection, and an event goes to its own", async () => {
    const far = await furnish();
    const { appToken } = far.world.workspaces[0]!;
    far.addWorkspace("T2", { bot: "second", appToken });
    far.addPerson("T2", "U3BO", "bo");
    far.addRoom("T2", "im", "D3BO", ["U3BO", "UBT2"]);
    const workspaces = { beta: { botToken: far.world.workspaces[1]!.botToken, appToken, agentBinding: "ben", allowFrom: ["U3BO"] } };
    const one = await stage({ far, config: { workspaces }, agents: [{ id: "anna" }, { id: "ben" }] });
    far.say("D3BO", { user: "U3BO", text: "to ben" });
    far.say(DIRECT, { user: ADA, text: "to anna" });
    await heard(one, 2);
    expect(far.sockets.open()).toBe(1);
    expect(one.context.tasks.accepted.map(({ account }) => account).sort()).toEqual(["beta", "main"]);
  });
});

describe("what does not work is named", () => {
  it("tokens that are swapped are named in words, and nobody is asked", async () => {
    const one = await setStage({ config: { botToken: "xapp-1-A1-1-secret", appToken: "xoxb-1-secret" } });
    stages.push(one);
    await one.start();
    expect(state(one)).toMatchObject({ state: "down", reason: expect.stringMatching(/botToken holds the app-level token .*swap the two/) });
    expect(one.far.calls).toEqual([]);
    expect(JSON.stringify([one.context.logged, state(one).reason])).not.toContain("secret");
  });

  it("a token that is refused has the channel down with the setting, and is asked about again", async () => {
    const far = await furnish();
    far.world.workspaces[0]!.refused = "token_revoked";
    const one = await stage({ far });
    expect(state(one)).toMatchObject({ state: "down", reason: expect.stringMatching(/refuses the token \(token_revoked\); check channels.teamchat.botToken/) });
    delete far.world.workspaces[0]!.refused;
    await until(() => state(one).state === "ready");
  });

  it("missing scopes are named by the test, each with what is lost", async () => {
    const far = await furnish();
    for (const scope of ["files:read", "im:history"]) far.world.workspaces[0]!.scopes.delete(scope);
    const one = await stage({ far });
    const { channel } = state(one);
    await expect(channel.test?.(new AbortController().signal)).rejects.toThrow(
      /files:read \(without it: it sees no pictures and files\), im:history \(without it: it hears no direct messages\)/,
    );
  });
});
