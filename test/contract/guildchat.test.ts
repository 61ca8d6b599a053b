import { type Channel, choiceData, type Envelope, type Outgoing } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { tooMany } from "../kit/guildchat/server.ts";
import { badForm, refusal } from "../kit/guildchat/wire.ts";
import { deadRoot, type Stage, type StageOptions, setStage, until } from "./guildchat.harness.ts";

const PATIENCE = { timeout: 20_000, interval: 10 };
const stages: Stage[] = [];
async function stage(options?: StageOptions): Promise<Stage> {
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
const channelOf = ({ context }: Stage): Required<Channel> => context.registered.channels[0]!.channel as Required<Channel>;
const stateOf = ({ context }: Stage) => context.registered.channels[0]!;
const signal = () => new AbortController().signal;
let keys = 0;
const out = (chat: string, text: string, more: Partial<Outgoing> = {}): Outgoing => ({
  target: { channel: "guildchat", chat },
  text,
  plain: text,
  key: `k${++keys}`,
  ...more,
});
const mention = ({ far }: Stage, text: string) => `<@${far.bot.id}> ${text}`;

describe("who is heard", () => {
  it("CHAN-01 guildchat is closed by default: nobody is heard, each message says the id to list, and the channel says so once", async () => {
    const one = await stage({ section: { allowFrom: [] } });
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "hello" });
    await heard(one, 1);
    expect(reasons(one)).toEqual([`no allowFrom list is set (the sender is ${one.friend.id})`]);
    expect(stateOf(one)).toMatchObject({ state: "ready", reason: expect.stringContaining("hears nobody: channels.guildchat.allowFrom is empty") });
  });

  it("CHAN-08 guildchat each message gives one task or one dropped event, without its words", async () => {
    const one = await stage();
    one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, "yes") });
    one.far.say({ place: one.general.id, from: one.friend.id, text: "not meant" });
    one.far.say({ place: one.general.id, from: one.stranger.id, text: mention(one, "let me in") });
    await heard(one, 3);
    expect(texts(one)).toEqual(["yes"]);
    expect(reasons(one)).toEqual(["the bot is not mentioned", `the sender ${one.stranger.id} is not in allowFrom`]);
    expect(JSON.stringify(drops(one))).not.toContain("let me in");
  });

  it("a role lets its people in, also where the history does not name roles", async () => {
    const one = await stage({ section: { allowFrom: ["role:7777777"] }, keepFar: true });
    one.far.say({ place: one.general.id, from: one.stranger.id, text: mention(one, "live"), roles: ["7777777"] });
    await heard(one, 1);
    expect(texts(one)).toEqual(["live"]);
    await one.far.close();
  });

  it("bots: one that is listed is answered six times in ten minutes, and the count is kept over a restart", async () => {
    const store = createMemoryStore();
    const first = await setStage({ store, keepFar: true });
    const robo = first.far.world.addUser("robo", { bot: true });
    const section = { allowFrom: [first.friend.id, robo.id], group: "all" as const };
    await first.stop();
    const one = await setStage({ store, far: first.far, section, keepFar: true });
    await one.start();
    for (let n = 0; n < 4; n += 1) one.far.say({ place: one.general.id, from: robo.id, text: mention(one, `round ${n}`) });
    await heard(one, 4);
    await one.stop();
    const two = await stage({ store, far: first.far, section });
    for (let n = 4; n < 9; n += 1) two.far.say({ place: two.general.id, from: robo.id, text: mention(two, `round ${n}`) });
    two.far.say({ place: two.general.id, from: two.friend.id, text: "a person" });
    await until(() => texts(two).includes("a person"));
    expect(new Set([...texts(one), ...texts(two)].filter((text) => text.startsWith("round"))).size).toBe(6);
    expect(reasons(two)).toContain("this bot was answered 6 times here within ten minutes");
  });

  it("a bot that answers one of our messages, and so is called by it, starts nothing", async () => {
    const one = await stage();
    const robo = one.far.world.addUser("robo", { bot: true });
    const { platformId } = await channelOf(one).send(out(one.general.id, "an answer"), signal());
    one.far.say({ place: one.general.id, from: robo.id, text: "thanks!", replyTo: platformId as string });
    await heard(one, 1);
    expect(texts(one)).toEqual([]);
  });
});

describe("sessions", () => {
  it("FAULT-35 a cut connection is resumed by session and number, where the platform said; nothing is lost", async () => {
    const one = await stage();
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "before" });
    await heard(one, 1);
    one.far.gateway.cut();
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "meanwhile" });
    await heard(one, 2);
    expect(texts(one)).toEqual(["before", "meanwhile"]);
    await vi.waitFor(() => expect(one.far.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 }), PATIENCE);
  });

  it("FAULT-35 a session is taken up after an outage also where no new one is left for today", async () => {
    const one = await stage();
    one.far.sessionsLeft = 0;
    one.far.gateway.open = false;
    one.far.gateway.cut();
    await vi.waitFor(() => expect(one.far.gateway.counts.refused).toBe(1), PATIENCE);
    one.far.gateway.open = true;
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "meanwhile" });
    await vi.waitFor(() => expect(one.far.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 }), PATIENCE);
    await heard(one, 1);
    expect(texts(one)).toEqual(["meanwhile"]);
  });

  it("op 7 asks to come back: it does, to the same session", async () => {
    const one = await stage();
    one.far.gateway.askReconnect();
    await vi.waitFor(() => expect(one.far.gateway.counts.resumes).toBe(1), PATIENCE);
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "after" });
    await heard(one, 1);
  });

  it("an invalid session begins anew, and what was said meanwhile is read from the histories, in order, each once", async () => {
    const one = await stage();
    one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, "0") });
    await heard(one, 1);
    one.far.gateway.forgetSessions();
    one.far.gateway.cut();
    const thread = one.far.addThread(one.general, "plans");
    for (let n = 1; n < 5; n += 1) one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, `${n}`) });
    one.far.say({ place: thread.id, from: one.friend.id, text: mention(one, "in the thread") });
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "directly" });
    await heard(one, 7);
    expect(texts(one).filter((text) => /^\d$/.test(text))).toEqual(["0", "1", "2", "3", "4"]);
    expect(texts(one)).toEqual(expect.arrayContaining(["in the thread", "directly"]));
    expect(one.far.gateway.counts.identifies).toBe(2);
    expect(one.context.tasks.accepted.find(({ text }) => text === "in the thread")).toMatchObject({ chat: one.general.id, thread: thread.id });
  });

  it("a gateway that answers no heartbeat counts as dead, and the session is taken up on another connection", async () => {
    const one = await setStage();
    stages.push(one);
    one.far.gateway.heartbeatMs = 40;
    await one.start();
    one.far.gateway.acknowledges = false;
    await vi.waitFor(() => expect(one.far.gateway.counts.connections).toBeGreaterThan(1), PATIENCE);
    one.far.gateway.acknowledges = true;
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "still there?" });
    await heard(one, 1);
    expect(one.far.gateway.counts.resumes).toBeGreaterThan(0);
  });

  it("events that are dropped, doubled or come in another order are taken once each, in the order of the platform", async () => {
    const one = await stage();
    const faults = ["drop", "double", "late", undefined, "drop", "late", "double", undefined] as const;
    let at = 0;
    one.far.gateway.fault = (event) => (event === "MESSAGE_CREATE" ? faults[at++] : undefined);
    const said = faults.map((_, n) => `number ${n}`);
    for (const text of said) one.far.say({ place: one.direct.id, from: one.friend.id, text });
    await heard(one, said.length);
    expect(texts(one)).toEqual(said);
  });

  it("another process takes the session up where this one left it, and is told what was pressed meanwhile", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepFar: true });
    await one.start();
    const delivery = "out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab";
    const choices = [{ id: "yes", label: "Yes", data: choiceData(delivery, "yes") }];
    const { platformId } = await channelOf(one).send(out(one.direct.id, "Shall I?", { choices }), signal());
    await one.stop();
    one.far.press({ message: platformId as string, data: choices[0]!.data, from: one.friend.id });
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "said meanwhile" });
    const two = await stage({ store, far: one.far });
    await heard(two, 2);
    expect(two.context.tasks.accepted.map(({ choice, text }) => choice ?? text)).toEqual([{ delivery, id: "yes" }, "said meanwhile"]);
    expect(one.far.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 });
  });

  it("the very first words of a listed person, said while nobody listened, are found", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepFar: true });
    await one.start();
    await one.stop();
    one.far.gateway.forgetSessions();
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "hello?" });
    const two = await stage({ store, far: one.far });
    await heard(two, 1);
    expect(texts(two)).toEqual(["hello?"]);
  });

  it("two hundred and fifty messages of a gap are read in pages; a place that is not shown has none", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepFar: true, section: { group: "all" } });
    const hidden = one.far.world.addPlace({ type: 0, name: "hidden", guild: one.general.guild as string });
    await one.start();
    await one.stop();
    one.far.gateway.forgetSessions();
    const said = Array.from({ length: 250 }, (_, n) => `m${n}`);
    for (const text of said) one.far.say({ place: one.general.id, from: one.friend.id, text });
    one.far.say({ place: hidden.id, from: one.friend.id, text: "unseen" });
    one.far.fault = ({ path }) => (path.includes(hidden.id) ? { status: 403, body: { code: 50_001, message: "Missing Access" } } : undefined);
    const two = await stage({ store, far: one.far, section: { group: "all" } });
    await heard(two, 250);
    expect(texts(two)).toEqual(said);
  });

  it("while histories fail they are asked again, and what is said meanwhile waits behind them", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepFar: true });
    await one.start();
    await one.stop();
    one.far.gateway.forgetSessions();
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "first" });
    let failures = 3;
    one.far.fault = ({ method, path }) =>
      method === "GET" && path.endsWith("/messages") && failures-- > 0 ? { status: 500, body: { code: 0, message: "x" } } : undefined;
    const two = await stage({ store, far: one.far });
    two.far.say({ place: two.direct.id, from: two.friend.id, text: "second" });
    await heard(two, 2);
    expect(texts(two)).toEqual(["first", "second"]);
  });
});

describe("what the platform refuses", () => {
  it("a token that is refused: the channel is down and says where to mend it, without the token", async () => {
    const one = await stage({ section: { token: "wrong.token.value" } });
    expect(stateOf(one)).toMatchObject({ state: "down", reason: expect.stringContaining("channels.guildchat.token") });
    expect(JSON.stringify([stateOf(one).reason, one.context.logged])).not.toContain("wrong.token");
    await expect(channelOf(one).test(signal())).rejects.toThrow("refuses the token");
  });

  it("without the intent for contents it hears what is meant for it, and says what is missing and where", async () => {
    const one = await setStage();
    stages.push(one);
    one.far.flags = 0;
    await one.start();
    expect(stateOf(one)).toMatchObject({ state: "ready", reason: expect.stringContaining("Message Content Intent at https://discord.com/developers") });
    one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, "heard") });
    await heard(one, 1);
    expect(texts(one)).toEqual(["heard"]);
  });

  it("no session is left for today: it waits and says so", async () => {
    const one = await setStage();
    stages.push(one);
    one.far.sessionsLeft = 0;
    await one.start();
    expect(stateOf(one)).toMatchObject({ state: "down", reason: expect.stringContaining("takes no new session") });
  });

  it("a platform that cannot be reached is told as such, and a send as one that may be repeated", async () => {
    const one = await stage({ section: { apiRoot: await deadRoot() } });
    expect(stateOf(one).state).toBe("down");
    await expect(channelOf(one).send(out(one.direct.id, "x"), signal())).rejects.toMatchObject({ failure: "retry" });
  });

  it("a limit of the whole bot holds every call back until it is over; one of a channel that channel only", async () => {
    const one = await stage();
    one.far.fault = ({ method, path }) => (method === "POST" && path.endsWith("/messages") ? tooMany(30) : undefined);
    await expect(channelOf(one).send(out(one.direct.id, "x"), signal())).rejects.toMatchObject({ failure: "retry", retryAfterMs: 30_000 });
    one.far.fault = () => undefined;
    const before = one.far.calls.length;
    await expect(channelOf(one).send(out(one.direct.id, "x"), signal())).rejects.toMatchObject({ failure: "retry" });
    expect(one.far.calls.length).toBe(before);
    await channelOf(one).send(out(one.general.id, "elsewhere"), signal());
    one.far.fault = ({ method }) => (method === "PATCH" ? tooMany(30, true) : undefined);
    const { platformId } = await channelOf(one).send(out(one.general.id, "y"), signal());
    await expect(channelOf(one).edit(platformId as string, out(one.general.id, "z"), signal())).rejects.toMatchObject({ failure: "retry" });
    await expect(channelOf(one).send(out(one.general.id, "w"), signal())).rejects.toMatchObject({ failure: "retry", retryAfterMs: expect.any(Number) });
  });

  it("an empty bucket is waited for before the platform has to refuse", async () => {
    const one = await stage();
    one.far.burst = 2;
    for (let n = 0; n < 2; n += 1) await channelOf(one).send(out(one.direct.id, `n${n}`), signal());
    await expect(channelOf(one).send(out(one.direct.id, "too soon"), signal())).rejects.toMatchObject({ failure: "retry", retryAfterMs: expect.any(Number) });
    expect(one.far.world.at(one.direct.id)).toHaveLength(2);
  });
});

describe("what goes out", () => {
  it("calls nobody: neither by names in it nor by being an answer", async () => {
    const one = await stage();
    const asked = one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, "who?") });
    await channelOf(one).send(
      out(one.general.id, `you, <@${one.friend.id}>`, { target: { channel: "guildchat", chat: one.general.id, replyTo: asked.id } }),
      signal(),
    );
    expect(one.far.world.at(one.general.id).at(-1)).toMatchObject({ replyTo: asked.id, calls: [] });
  });

  it("the answer to a message that is gone by now arrives all the same", async () => {
    const one = await stage();
    await channelOf(one).send(out(one.general.id, "late", { target: { channel: "guildchat", chat: one.general.id, replyTo: "123456789012345678" } }), signal());
    expect(one.far.world.at(one.general.id).at(-1)?.content).toBe("late");
  });

  it("FAULT-34 guildchat an answer stands without its question where the platform takes no reply", async () => {
    const one = await stage();
    const refusals = [
      refusal(403, 160_002, "Cannot reply without permission to read message history"),
      badForm("message_reference", "REPLIES_CANNOT_REFERENCE_SYSTEM_MESSAGE", "Cannot reply to a system message"),
    ];
    for (const [at, refused] of refusals.entries()) {
      one.far.fault = ({ method, body }) =>
        method === "POST" && (body as { message_reference?: unknown })?.message_reference !== undefined ? refused : undefined;
      const asked = one.far.say({ place: one.general.id, from: one.friend.id, text: mention(one, "well?") });
      await channelOf(one).send(out(one.general.id, `answer ${at}`, { target: { channel: "guildchat", chat: one.general.id, replyTo: asked.id } }), signal());
      const [last] = one.far.world.at(one.general.id).slice(-1);
      expect(last?.content).toBe(`answer ${at}`);
      expect(last?.replyTo).toBeUndefined();
    }
  });

  it("into a thread; and a chat that is no id is refused before anything is sent", async () => {
    const one = await stage();
    const thread = one.far.addThread(one.general, "plans");
    await channelOf(one).send(out(one.general.id, "here", { target: { channel: "guildchat", chat: one.general.id, thread: thread.id } }), signal());
    expect(one.far.world.at(thread.id).at(-1)?.content).toBe("here");
    await expect(channelOf(one).send(out("../../users", "x"), signal())).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("Copy Channel ID"),
    });
  });

  it("eight choices are two rows of buttons", async () => {
    const one = await stage();
    const choices = Array.from({ length: 8 }, (_, n) => ({
      id: `c${n}`,
      label: `Choice ${n}`,
      data: choiceData("out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab", `c${n}`),
    }));
    await channelOf(one).send(out(one.direct.id, "Which?", { choices }), signal());
    expect(
      one.far.world
        .at(one.direct.id)
        .at(-1)
        ?.components.map((row) => (row as { components: unknown[] }).components.length),
    ).toEqual([5, 3]);
  });

  it("CHAN-07 guildchat richMessages: false sends plain words, whose signs format nothing", async () => {
    const one = await stage({ agents: [{ id: "anna", settings: { richMessages: false } as never }] });
    await channelOf(one).send(out(one.direct.id, "a **bold** word", { plain: "a bold word, 2 * 3 * 4", agent: "anna" }), signal());
    expect(one.far.world.at(one.direct.id).at(-1)?.content).toBe("a bold word, 2 \\* 3 \\* 4");
  });

  it("reacts and shows that it types", async () => {
    const one = await stage();
    const post = one.far.say({ place: one.direct.id, from: one.friend.id, text: "nice" });
    await channelOf(one).react({ channel: "guildchat", chat: one.direct.id }, post.id, "👀", signal());
    await channelOf(one).typing({ channel: "guildchat", chat: one.direct.id }, signal());
    expect([post.reactions, one.far.typed]).toEqual([["👀"], [one.direct.id]]);
  });
});

describe("files", () => {
  it("an address that has expired is asked for anew; no token goes there", async () => {
    const one = await stage();
    one.far.fileMs = -1_000;
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "see", files: [{ name: "a.png", type: "image/png", data: new Uint8Array([1, 2, 3]) }] });
    await heard(one, 1);
    const [media] = one.context.tasks.accepted[0]?.media ?? [];
    expect(media).toMatchObject({ kind: "image", name: "a.png", type: "image/png", size: 3 });
    one.far.fileMs = 60_000;
    const { data, type } = await channelOf(one).fetchMedia(media!, signal());
    expect([[...data], type]).toEqual([[1, 2, 3], "image/png"]);
  });

  it("a message that was taken away has no file any more", async () => {
    const one = await stage();
    one.far.fileMs = -1_000;
    const post = one.far.say({ place: one.direct.id, from: one.friend.id, text: "see", files: [{ name: "a.txt", data: new Uint8Array([1]) }] });
    await heard(one, 1);
    one.far.world.remove(post);
    const [media] = one.context.tasks.accepted[0]?.media ?? [];
    await expect(channelOf(one).fetchMedia(media!, signal())).rejects.toMatchObject({ failure: "permanent" });
    await expect(channelOf(one).fetchMedia({ kind: "file", handle: "../../etc/passwd" }, signal())).rejects.toMatchObject({ failure: "permanent" });
  });

  it("a name that would end its header early does not", async () => {
    const one = await stage();
    await channelOf(one).send(out(one.direct.id, "", { media: [{ kind: "file", name: 'a"\r\nx: y.txt', data: new Uint8Array([7]) }] }), signal());
    expect(one.far.world.at(one.direct.id).at(-1)?.files[0]?.data).toEqual(new Uint8Array([7]));
  });
});

describe("buttons and /ask", () => {
  it("/ask is registered once, is acknowledged to its author alone, and asks the agent", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepFar: true });
    await one.start();
    await until(() => one.far.world.commands.has("ask"));
    const asked = one.far.ask({ place: one.general.id, from: one.friend.id, text: "what now?" });
    await until(() => asked.shown.length === 1);
    expect(asked.shown[0]).toMatch(/^ephemeral: You asked: what now\?/);
    expect(one.context.tasks.accepted).toMatchObject([{ text: "what now?", chat: one.general.id, sender: { id: one.friend.id } }]);
    // The quoted question is cut; half a pair of surrogates would be refused by the platform.
    const long = one.far.ask({ place: one.general.id, from: one.friend.id, text: `${"x".repeat(299)}👍` });
    await until(() => long.shown.length === 1);
    expect(long.shown[0]).toContain("xx\ufffd\nThe answer");
    await one.stop();
    one.far.gateway.forgetSessions();
    const two = await stage({ store, far: one.far });
    expect(two.far.calls.filter(({ path }) => path.endsWith("/commands"))).toHaveLength(1);
  });

  it("a stranger's press and question are refused in front of that person alone", async () => {
    const one = await stage();
    const choices = [{ id: "yes", label: "Yes", data: choiceData("out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab", "yes") }];
    const { platformId } = await channelOf(one).send(out(one.general.id, "Shall I?", { choices }), signal());
    const press = one.far.press({ message: platformId as string, data: choices[0]!.data, from: one.stranger.id });
    const ask = one.far.ask({ place: one.general.id, from: one.stranger.id, text: "let me" });
    await until(() => press.shown.length + ask.shown.length === 2);
    expect([press.shown, ask.shown]).toEqual([["ephemeral: You cannot answer this here."], ["ephemeral: You cannot answer this here."]]);
    expect(one.context.tasks.accepted).toEqual([]);
  });

  it("a press is acknowledged once it is kept, and one that comes twice is one", async () => {
    const one = await stage();
    const choices = [{ id: "yes", label: "Yes", data: choiceData("out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab", "yes") }];
    const { platformId } = await channelOf(one).send(out(one.direct.id, "Shall I?", { choices }), signal());
    const press = one.far.press({ message: platformId as string, data: choices[0]!.data, from: one.friend.id });
    await until(() => press.deferred);
    one.far.gateway.repeat();
    one.far.say({ place: one.direct.id, from: one.friend.id, text: "marker" });
    await heard(one, 2);
    expect(one.context.tasks.accepted.map(({ choice, text }) => choice?.id ?? text)).toEqual(["yes", "marker"]);
  });
});
