import { channelError, type Inbound } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createFarEnd, type FarEnd, openWorld, until, type World } from "./deliver.harness.ts";

const open: World[] = [];
async function world(far: FarEnd, options?: Parameters<typeof openWorld>[1]): Promise<World> {
  const made = await openWorld(far, options);
  open.push(made);
  return made;
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

let tasks = 0;
const inbound = (platformId: string, more: Partial<Inbound> = {}): Inbound => ({
  id: `task_${++tasks}`,
  rootId: "r",
  at: 1,
  attempts: 0,
  entry: "channel",
  channel: "acme",
  chat: "c1",
  text: "hello",
  platformId,
  ...more,
});
const left = ({ store }: World) => store.scope("core").queue("acks/acme").size();
const reactions = (far: FarEnd) => far.calls.filter(({ call }) => call === "react").map(({ text }) => text);

/** As the pipeline does: in the commit that stores the message. */
async function accept({ deliveries, store }: World, message: Inbound): Promise<void> {
  await store.scope("core").commit([...deliveries.accepting(message)]);
  deliveries.accepted(message);
}

describe("K17 acknowledging", () => {
  it("puts the channel's emoji on each message once it is stored, and on no other", async () => {
    const far = createFarEnd({ ack: "👀" });
    const one = await world(far);
    for (const id of ["a", "b", "c"]) await accept(one, inbound(id));
    await until(() => reactions(far).length === 3);
    await until(async () => (await left(one)) === 0);
    expect(reactions(far)).toEqual(["👀 on a", "👀 on b", "👀 on c"]);
  });

  it("asks for nothing without an emoji, without a way to react, for entries that are no message, and for choices", async () => {
    const one = await world(createFarEnd());
    expect(one.deliveries.accepting(inbound("a"))).toEqual([]);
    const deaf = createFarEnd({ ack: "👀" });
    const { react: _, ...channel } = deaf.channel;
    expect((await world(Object.assign(deaf, { channel }))).deliveries.accepting(inbound("a"))).toEqual([]);
    const two = await world(createFarEnd({ ack: "👀" }));
    const { platformId: __, ...nameless } = inbound("a");
    for (const other of [nameless, inbound("a", { entry: "task" }), inbound("a", { channel: "gone" }), inbound("a", { choice: { delivery: "d", id: "yes" } })])
      expect(two.deliveries.accepting(other)).toEqual([]);
  });

  it("survives a crash between the commit and the platform, and waits for a channel that is away", async () => {
    const far = createFarEnd({ ack: "👀" });
    const one = await world(far, { connected: false });
    await accept(one, inbound("a"));
    const next = await one.crash();
    open.push(next);
    expect(reactions(far)).toEqual([]);
    next.connect();
    await until(() => reactions(far).length === 1);
    await until(async () => (await left(next)) === 0);
  });

  it("keeps to the platform's pace: a rate limit is waited for, and what is sent to that chat waits, too", async () => {
    const far = createFarEnd({ ack: "👀" });
    let limited = true;
    far.fault = (call) => {
      if (call === "react" && limited) throw channelError("retry", "slow down", 60_000);
    };
    const one = await world(far);
    await accept(one, inbound("a"));
    await until(() => reactions(far).length === 1);
    const { sent } = await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1" }, text: "answer" });
    await (await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c2" }, text: "elsewhere" })).sent;
    limited = false;
    one.connect();
    expect([far.visible("c1"), reactions(far).length, await left(one)]).toEqual([[], 1, 1]);
    one.clock.offset += 80_000;
    one.connect();
    await sent;
    await until(async () => (await left(one)) === 0);
    expect([far.visible("c1"), reactions(far).length]).toEqual([["answer"], 2]);
  });

  it("waits where an answer to that chat has to wait", async () => {
    const far = createFarEnd({ ack: "👀" });
    let limited = true;
    far.fault = (call) => {
      if (call === "send" && limited) throw channelError("retry", "slow down", 60_000);
    };
    const one = await world(far);
    const { sent } = await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1" }, text: "answer" });
    await until(() => far.calls.length === 1);
    limited = false;
    await accept(one, inbound("a"));
    await accept(one, inbound("b", { chat: "c2" }));
    await until(async () => (await left(one)) === 1);
    expect(reactions(far)).toEqual(["👀 on b"]);
    one.clock.offset += 80_000;
    one.connect();
    await sent;
    await until(() => reactions(far).includes("👀 on a"));
  });

  it("is best effort: tried three times, never after a refusal, and never in the way of an answer", async () => {
    const far = createFarEnd({ ack: "👀" });
    far.fault = (call, _out, id) => {
      if (call !== "react") return;
      throw id === "never" ? channelError("permanent", "no such emoji here") : channelError("unknown", "cut");
    };
    const one = await world(far);
    await accept(one, inbound("never"));
    await accept(one, inbound("cut", { chat: "c2" }));
    await until(async () => (await left(one)) === 0);
    expect(reactions(far).sort()).toEqual(["👀 on cut", "👀 on cut", "👀 on cut", "👀 on never"]);
    await (await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1" }, text: "answer" })).sent;
    expect(one.failed).toEqual([]);
  });

  it("after two minutes it says nothing any more", async () => {
    const far = createFarEnd({ ack: "👀" });
    const one = await world(far, { connected: false });
    await accept(one, inbound("old"));
    one.clock.offset += 121_000;
    await accept(one, inbound("new"));
    one.connect();
    await until(async () => (await left(one)) === 0);
    expect(reactions(far)).toEqual(["👀 on new"]);
  });

  it("one that hangs holds nothing up, and a stop ends it", async () => {
    const far = createFarEnd({ ack: "👀" });
    far.fault = (call) => (call === "react" ? new Promise<void>(() => {}) : undefined);
    const one = await world(far, { limits: { stopGraceMs: 20 } });
    await accept(one, inbound("a"));
    await until(() => reactions(far).length === 1);
    await (await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1" }, text: "answer" })).sent;
    expect(far.visible("c1")).toEqual(["answer"]);
  });
});

describe("K16 whose words they are", () => {
  it("stands in what is sent, edited and grown; the service's own words are nobody's", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    await (await one.deliveries.send({ kind: "reply", target: { channel: "acme", chat: "c1" }, text: "mine", agent: "ada" })).sent;
    await (await one.deliveries.send({ kind: "notice", target: { channel: "acme", chat: "c1" }, text: "ours" })).sent;
    const stream = one.deliveries.open({ channel: "acme", chat: "c2" }, "task_9", "bob");
    stream?.text("a growing answer of more than sixty characters, so that a first block of it is shown");
    await until(() => far.calls.length === 3);
    await stream?.end();
    await one.deliveries.tell({ id: "out_x", kind: "notice", target: { channel: "acme", chat: "c3" }, text: "not stored", agent: "ada" });
    expect(far.calls.map(({ out }) => out?.agent)).toEqual(["ada", undefined, "bob", "ada"]);
  });
});
