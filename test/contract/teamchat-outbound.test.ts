import { randomUUID } from "node:crypto";
import { choiceData, type Media, type Outgoing } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import { ADA, BOT, CHANNEL, DIRECT, furnish, type Stage, setStage, until } from "./teamchat.harness.ts";

const stages: Stage[] = [];
async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  await made.start();
  return made;
}
afterEach(async () => {
  for (const one of stages.splice(0)) {
    expect(one.far.violations).toEqual([]);
    await one.stop();
  }
});

const render = createRender();
let keys = 0;
const out = (text: string, more: Partial<Outgoing> = {}, chat = DIRECT): Outgoing => ({
  target: { channel: "teamchat", account: "main", chat },
  text,
  plain: render.to("plain", text),
  key: `key-${++keys}`,
  ...more,
});
const signal = () => new AbortController().signal;
const channelOf = ({ context }: Stage) => context.registered.channels[0]!.channel;
const send = async (one: Stage, outgoing: Outgoing) => (await channelOf(one).send(outgoing, signal())).platformId as string;
const edit = (one: Stage, id: string, outgoing: Outgoing) => channelOf(one).edit?.(id, outgoing, signal());
const calls = ({ far }: Stage, method: string) => far.calls.filter((call) => call.method === method);
const inThread = (one: Stage, room = DIRECT) => ({
  channel: "teamchat",
  account: "main",
  chat: room,
  thread: one.far.say(room, { user: ADA, text: "root" }).ts,
});

describe("the dialect", () => {
  it("markdown becomes the platform's markup, with its three signs escaped; the plain words stand as they are", async () => {
    const one = await stage();
    await send(one, out("# Title\n\n**bold** *it* ~~no~~ `a<b` [site](https://a.test/x?a=1&b=2) <!channel> <@U1ADA> & more"));
    const [post] = one.far.shown(DIRECT);
    expect(post?.text).toBe("*Title*\n\n*bold* _it_ ~no~ `a&lt;b` <https://a.test/x?a=1&amp;b=2|site> &lt;!channel&gt; &lt;@U1ADA&gt; &amp; more");
    expect(one.far.alerts()).toEqual([]);
    await send(one, { ...out("**x** <!here>"), text: "*not bold* <!here>", plain: "*not bold* <!here>" });
    expect(one.far.shown(DIRECT).at(-1)).toMatchObject({ words: "*not bold* <!here>", mrkdwn: false });
    expect(one.far.alerts()).toEqual([]);
  });

  it("CHAN-07 teamchat richMessages: false sends plain words only; a question keeps its buttons", async () => {
    const one = await stage({ agents: [{ id: "anna", mentions: [], settings: { richMessages: false } as never }] });
    await send(one, out("**bold** words", { agent: "anna" }));
    const delivery = `out_${randomUUID()}`;
    const choices = [{ id: "yes", label: "Yes", data: choiceData(delivery, "yes") }];
    await send(one, out("**Shall** I?", { choices }));
    expect(one.far.shown(DIRECT).map(({ words, blocks }) => [words, blocks?.map(({ type }) => type)])).toEqual([
      ["bold words", ["rich_text"]],
      ["Shall I?", ["rich_text", "actions"]],
    ]);
  });

  it("what its markup makes longer than a text may be stands in sections, whole", async () => {
    const one = await stage();
    const text = `**Signs**\n\n${"a < b && c > d\n".repeat(230)}`;
    await send(one, out(text));
    const [post] = one.far.shown(DIRECT);
    expect(post?.blocks?.every(({ type }) => type === "section")).toBe(true);
    expect(post?.words.match(/a < b && c > d/g)).toHaveLength(230);
    const id = await send(one, out("short **one**"));
    await edit(one, id, out(text));
    await edit(one, id, out("short **again**"));
    expect(one.far.shown(DIRECT).at(-1)).toMatchObject({ words: "short *again*" });
    expect(one.far.shown(DIRECT).at(-1)?.blocks).toBeUndefined();
  });

  it("threads: an answer stands in the thread of its message", async () => {
    const one = await stage();
    const target = inThread(one, CHANNEL);
    await send(one, out("here", { target }));
    expect(one.far.shown(CHANNEL, target.thread).map(({ words }) => words)).toEqual(["here"]);
  });
});

describe("answers that grow", () => {
  it("in a thread of a direct conversation natively: begun, appended to, and ended", async () => {
    const one = await stage();
    const target = inThread(one);
    const id = await send(one, out("**First** words\n\n```js\nlet a\n```", { target, grows: true }));
    await edit(one, id, out("**First** words\n\n```js\nlet a\nlet b\n```", { target, grows: true }));
    const growing = one.far.shown(DIRECT, target.thread)[0];
    expect(growing).toMatchObject({ streaming: true, words: "**First** words\n\n```js\nlet a\nlet b\n" });
    await edit(one, id, out("**First** words\n\n```js\nlet a\nlet b\n```\n\nAnd <!channel>.", { target }));
    const [whole] = one.far.shown(DIRECT, target.thread);
    expect(whole?.streaming).toBeUndefined();
    expect(whole?.words).toBe("**First** words\n\n```js\nlet a\nlet b\n```\n\nAnd <\u200b!channel>.");
    expect(
      [calls(one, "chat.startStream"), calls(one, "chat.appendStream"), calls(one, "chat.stopStream"), calls(one, "chat.update")].map((list) => list.length),
    ).toEqual([1, 1, 1, 0]);
    expect(one.far.alerts()).toEqual([]);
  });

  it("in a channel by edits, which everybody sees", async () => {
    const one = await stage();
    const target = inThread(one, CHANNEL);
    const id = await send(one, out("**First**", { target, grows: true }));
    await edit(one, id, out("**First** and second", { target }));
    expect(calls(one, "chat.startStream")).toEqual([]);
    expect(one.far.shown(CHANNEL)).toMatchObject([{ words: "*First* and second", edits: 1 }]);
  });

  it("where the platform has no streams by edits, and it is asked once", async () => {
    const one = await stage();
    one.far.fault = ({ method }) => (method === "chat.startStream" ? { error: "unknown_method" } : undefined);
    for (const n of [1, 2]) {
      const target = inThread(one);
      const id = await send(one, out(`**Answer** ${n}`, { target, grows: true }));
      await edit(one, id, out(`**Answer** ${n} whole`, { target }));
      expect(one.far.shown(DIRECT, target.thread).map(({ words }) => words)).toEqual([`*Answer* ${n} whole`]);
    }
    expect(calls(one, "chat.startStream")).toHaveLength(1);
  });

  it("one that the platform ended after some minutes is edited from then on", async () => {
    const one = await stage();
    const target = inThread(one);
    const id = await send(one, out("**First**", { target, grows: true }));
    delete one.far.world.room(DIRECT)!.posts.at(-1)!.streaming;
    await edit(one, id, out("**First** and more", { target, grows: true }));
    await edit(one, id, out("**First** and more, whole", { target }));
    expect(one.far.shown(DIRECT, target.thread).map(({ words }) => words)).toEqual(["*First* and more, whole"]);
  });

  it("one that is not what was shown any more ends, and is edited", async () => {
    const one = await stage();
    const target = inThread(one);
    const id = await send(one, out("**First** words", { target, grows: true }));
    await edit(one, id, out("**Other** words", { target, grows: true }));
    await edit(one, id, out("**Other** words, whole", { target }));
    expect(one.far.shown(DIRECT, target.thread)).toMatchObject([{ words: "*Other* words, whole" }]);
    expect(one.far.shown(DIRECT, target.thread)[0]?.streaming).toBeUndefined();
  });

  it("one that a killed process left open is ended and edited; a stop leaves none open", async () => {
    const far = await furnish();
    const first = await setStage({ far, keepFar: true });
    await first.start();
    const target = inThread(first);
    const id = await send(first, out("**First**", { target, grows: true }));
    const second = await stage({ far });
    await edit(second, id, out("**First** and last", { target }));
    expect(far.shown(DIRECT, target.thread)).toMatchObject([{ words: "*First* and last" }]);
    await send(first, out("**Third**", { target, grows: true }));
    await first.stop();
    expect(far.shown(DIRECT).filter(({ streaming }) => streaming)).toEqual([]);
  });
});

describe("sent once", () => {
  it("FAULT-03 a send whose answer was cut is found by its key and not sent again", async () => {
    const one = await stage();
    const outgoing = out("only **once**");
    let cut = true;
    one.far.fault = ({ method }) => {
      if (method !== "chat.postMessage" || !cut) return undefined;
      cut = false;
      return "cut";
    };
    await expect(send(one, outgoing)).rejects.toMatchObject({ failure: "unknown" });
    const id = await send(one, outgoing);
    expect(one.far.shown(DIRECT).map(({ ts }) => ts)).toEqual([id]);
  });

  it("FAULT-03 the same over a restart, in a thread too; what is new is not looked for", async () => {
    const far = await furnish();
    const first = await setStage({ far, keepFar: true });
    await first.start();
    const asked = far.say(CHANNEL, { user: ADA, text: `<@${BOT}> ask` });
    const target = { channel: "teamchat", account: "main", chat: CHANNEL, thread: asked.ts, replyTo: asked.ts };
    const outgoing = out("answer", { target });
    const id = await send(first, outgoing);
    await first.stop();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const second = await stage({ far });
    expect(await send(second, outgoing)).toBe(id);
    expect(far.shown(CHANNEL)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = far.calls.length;
    const again = far.say(CHANNEL, { user: ADA, text: `<@${BOT}> ask again` });
    await send(second, out("a new one", { target: { ...target, replyTo: again.ts } }));
    expect(far.calls.slice(before).filter(({ method }) => method === "conversations.replies")).toEqual([]);
  });

  it("FAULT-03 one whose native beginning was cut off is found as well, and goes on there", async () => {
    const one = await stage();
    const asked = one.far.say(DIRECT, { user: ADA, text: "ask", thread: one.far.say(DIRECT, { user: ADA, text: "root" }).ts });
    const target = { channel: "teamchat", account: "main", chat: DIRECT, thread: asked.threadTs as string, replyTo: asked.ts };
    const outgoing = out("**Some** words", { target });
    let cut = true;
    one.far.fault = ({ method }) => {
      if (method !== "chat.startStream" || !cut) return undefined;
      cut = false;
      return "cut";
    };
    await expect(send(one, { ...outgoing, grows: true })).rejects.toMatchObject({ failure: "unknown" });
    const id = await send(one, outgoing);
    await edit(one, id, outgoing);
    expect(one.far.shown(DIRECT)).toMatchObject([{ ts: id, words: "*Some* words" }]);
  });

  it("without the right to look it up it is sent, and said that it may be there twice", async () => {
    const far = await furnish();
    far.world.workspaces[0]!.scopes.delete("im:history");
    const one = await stage({ far });
    const outgoing = out("twice");
    for (let n = 0; n < 2; n += 1) await send(one, outgoing);
    expect(far.shown(DIRECT)).toHaveLength(2);
    expect(JSON.stringify(one.context.logged)).toMatch(/cannot be looked up: it may be there twice/);
  });
});

describe("files", () => {
  const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, ...Array.from({ length: 500 }, (_, n) => n % 256)]);
  const fetchMedia = (one: Stage, handle: string) => channelOf(one).fetchMedia?.({ kind: "image", handle } as Media, signal());
  const said = async (one: Stage) => {
    one.far.say(DIRECT, { user: ADA, text: "look", files: [{ name: "a.png", data: png }] });
    await until(() => one.context.tasks.accepted.length === 1);
    const [media] = one.context.tasks.accepted[0]?.media ?? [];
    return { handle: media?.handle ?? "", id: media?.handle?.split("/")[1] ?? "" };
  };

  it("a picture comes with the token from the platform's own host", async () => {
    const one = await stage();
    const { handle } = await said(one);
    expect(one.context.tasks.accepted[0]?.media).toMatchObject([{ kind: "image", name: "a.png", type: "image/png", size: png.length }]);
    expect(await fetchMedia(one, handle)).toEqual({ data: Buffer.from(png), type: "image/png" });
  });

  it("a sign-in page that answers 200 is no picture, and names the scope", async () => {
    const one = await stage();
    const { handle, id } = await said(one);
    one.far.file(id).state = "sign-in";
    await expect(fetchMedia(one, handle)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringMatching(/sign-in page .* lacks the scope files:read/),
    });
  });

  it("the token is not sent where a redirect leads off the platform's hosts; a file that is gone is said to be", async () => {
    const one = await stage();
    const { handle, id } = await said(one);
    one.far.file(id).state = "elsewhere";
    await expect(fetchMedia(one, handle)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringMatching(/outside of the platform's own hosts/),
    });
    one.far.file(id).state = "gone";
    await expect(fetchMedia(one, handle)).rejects.toMatchObject({ failure: "permanent", message: "files.info: file_not_found" });
  });

  it("a picture goes out in three steps, without the token in the second; one that was cut is not shown twice", async () => {
    const one = await stage();
    const target = inThread(one, CHANNEL);
    const outgoing = { ...out("", { target }), text: "", plain: "", media: [{ kind: "image" as const, name: "b.png", data: png }] };
    let cut = true;
    one.far.fault = ({ method }) => {
      if (method !== "files.completeUploadExternal" || !cut) return undefined;
      cut = false;
      return "cut";
    };
    await expect(send(one, outgoing)).rejects.toMatchObject({ failure: "unknown" });
    await send(one, outgoing);
    expect(one.far.shown(CHANNEL, target.thread).map(({ files }) => Buffer.from(files[0]!.data).equals(png))).toEqual([true]);
    expect(one.far.strayTokens).toEqual([]);
  });
});

describe("reactions and presses", () => {
  it("an emoji by its name; one that is there already has succeeded", async () => {
    const one = await stage();
    const { ts } = one.far.say(DIRECT, { user: ADA, text: "hello" });
    for (const emoji of ["👀", "eyes"]) await channelOf(one).react?.({ channel: "teamchat", account: "main", chat: DIRECT }, ts, emoji, signal());
    expect([...one.far.world.room(DIRECT)!.posts[0]!.reactions.keys()]).toEqual(["eyes"]);
  });

  it("K27 who presses what is decided already, and who may not, is told so alone", async () => {
    const one = await stage({ config: { allowFrom: [ADA] } });
    const { tasks } = one.context;
    Object.assign(tasks, {
      accept: async () => {
        throw Object.assign(new Error("This can no longer be answered here: Ben said yes."), { status: 410 });
      },
    });
    const delivery = `out_${randomUUID()}`;
    const ts = await send(one, out("Go?", { choices: [{ id: "yes", label: "Yes", data: choiceData(delivery, "yes") }] }, CHANNEL));
    one.far.press({ user: ADA, room: CHANNEL, ts, value: choiceData(delivery, "yes") });
    one.far.press({ user: "U2MALLORY", room: CHANNEL, ts, value: choiceData(delivery, "yes") });
    await until(() => one.far.whispers.length === 2);
    expect(one.far.whispers.map(({ user, text }) => [user, text]).sort()).toEqual([
      [ADA, "This can no longer be answered here: Ben said yes."],
      ["U2MALLORY", "You cannot answer this here."],
    ]);
    await until(() => one.far.sockets.pending() === 0);
  });
});
