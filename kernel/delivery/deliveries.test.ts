import { channelError, type Delivery } from "@svc/sdk";
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

const proactive = (text: string, chat = "c1"): Omit<Delivery, "id"> => ({ kind: "proactive", target: { channel: "acme", chat }, text });
const size = ({ store }: World) => store.scope("core").queue("outbox/acme").size();
const reply = (id: string, text: string, chat = "c1"): Delivery => ({ id, kind: "reply", taskId: `task_${id}`, target: { channel: "acme", chat }, text });
const DAY_MS = 86_400_000;
const connectionCut = () => {
  throw Object.assign(new Error("socket hang up"), { failure: "unknown" });
};

describe("send", () => {
  it("API-13 resolves `sent` with the platform's id only after the platform accepted", async () => {
    const far = createFarEnd();
    let accept = () => {};
    far.fault = () => new Promise((resolve) => (accept = resolve));
    const { deliveries } = await world(far);
    const { sent } = await deliveries.send(proactive("hello"));
    let done = false;
    void sent.then(() => (done = true));
    await until(() => far.calls.length === 1);
    expect(done).toBe(false);
    accept();
    expect(await sent).toEqual({ platformId: "m1" });
    expect(far.visible("c1")).toEqual(["hello"]);
  });

  it("with a key is one delivery however often it is handed over, also after a restart of its sender and side by side", async () => {
    const far = createFarEnd();
    const { deliveries } = await world(far);
    const handed = await Promise.all(Array.from({ length: 5 }, () => deliveries.send({ ...proactive("once"), key: "acme/1" })));
    expect(new Set(handed.map(({ id }) => id)).size).toBe(1);
    const ends = await Promise.allSettled(handed.map(({ sent }) => sent));
    expect(ends.map((end) => (end.status === "fulfilled" ? end.value.platformId : (end.reason as { code: string }).code)).sort()).toEqual([
      ...Array(4).fill("SVC_DELIVERY_KNOWN"),
      "m1",
    ]);
    const again = await deliveries.send({ ...proactive("once"), key: "acme/1" });
    expect(again.id).toBe(handed[0]?.id);
    await expect(again.sent).rejects.toMatchObject({ code: "SVC_DELIVERY_KNOWN" });
    await (await deliveries.send({ ...proactive("other"), key: "acme/2" })).sent;
    expect(far.visible("c1")).toEqual(["once", "other"]);
  });

  it("API-13 an unknown channel is refused at once with 404", async () => {
    const { deliveries } = await world(createFarEnd());
    await expect(deliveries.send({ ...proactive("x"), target: { channel: "nowhere", chat: "1" } })).rejects.toMatchObject({
      code: "SVC_CHANNEL_UNKNOWN",
      status: 404,
    });
  });

  it("API-13 a refusal of the platform is 502 with its text", async () => {
    const far = createFarEnd();
    far.fault = () => {
      throw channelError("permanent", "Bad Request: chat not found");
    };
    const { deliveries } = await world(far);
    const { sent } = await deliveries.send(proactive("x"));
    await expect(sent).rejects.toMatchObject({ code: "SVC_CHANNEL_REFUSED", status: 502, message: expect.stringContaining("chat not found") });
  });

  it("what the `deliver` hook rewrites is what is sent, and what it holds is not sent", async () => {
    const far = createFarEnd();
    const one = await world(far);
    one.tap((delivery) => (delivery.text === "secret" ? { ...delivery, held: "no secrets" } : { ...delivery, text: delivery.text.toUpperCase() }));
    await (await one.deliveries.send(proactive("loud"))).sent;
    await expect((await one.deliveries.send(proactive("secret"))).sent).rejects.toMatchObject({ code: "SVC_DELIVERY_HELD" });
    expect(far.visible("c1")).toEqual(["LOUD"]);
    expect((await one.deliveries.withheld.list()).map(({ reason, delivery }) => [reason, delivery.text])).toEqual([["no secrets", "secret"]]);
  });

  it("tells the bus of each delivery with the platform id and never with its text", async () => {
    const { deliveries, events } = await world(createFarEnd());
    await (await deliveries.send(proactive("MARKER-7"))).sent;
    expect(events).toMatchObject([{ kind: "channel", type: "out", ref: "m1", data: { channel: "acme" } }]);
    expect(JSON.stringify(events)).not.toContain("MARKER-7");
  });

  it("a full outbox refuses proactive messages, but takes answers", async () => {
    const one = await world(createFarEnd(), { connected: false, limits: { maxQueued: 2 } });
    await one.deliveries.send(proactive("1"));
    await one.deliveries.send(proactive("2"));
    await expect(one.deliveries.send(proactive("3"))).rejects.toMatchObject({ code: "SVC_OUTBOX_FULL", status: 503 });
    await one.store.scope("core").commit(one.deliveries.ops({ id: "out_a", ...proactive("answer") }));
    expect(await size(one)).toBe(3);
  });
});

describe("order", () => {
  it("keeps the order within a conversation while a slow one does not hold up others", async () => {
    const far = createFarEnd();
    let release = () => {};
    far.fault = (_call, out) => (out.text === "slow" ? new Promise((resolve) => (release = resolve)) : undefined);
    const { deliveries } = await world(far);
    const slow = await deliveries.send(proactive("slow", "a"));
    const after = await deliveries.send(proactive("after", "a"));
    await (await deliveries.send(proactive("other", "b"))).sent;
    expect(far.visible("a")).toEqual([]);
    release();
    await Promise.all([slow.sent, after.sent]);
    expect(far.visible("a")).toEqual(["slow", "after"]);
  });

  it("FAULT-32 a 429 with Retry-After holds back that chat alone, for at least that long, and keeps its order", async () => {
    const far = createFarEnd();
    let refused = 0;
    far.fault = (_call, out) => {
      if (out.target.chat === "busy" && refused++ === 0) throw channelError("retry", "Too Many Requests", 60);
    };
    const { deliveries } = await world(far);
    const busy = await Promise.all(["1", "2", "3"].map((text) => deliveries.send(proactive(text, "busy"))));
    await Promise.all((await Promise.all(["x", "y"].map((text) => deliveries.send(proactive(text, "free"))))).map(({ sent }) => sent));
    await Promise.all(busy.map(({ sent }) => sent));
    expect(far.visible("busy")).toEqual(["1", "2", "3"]);
    const [first, second] = far.calls.filter((call) => call.chat === "busy");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(60);
  });

  it("FAULT-32 a second chat refused at the same time means the whole account: a third one waits too", async () => {
    const far = createFarEnd();
    const refusals = new Set(["a", "b"]);
    far.fault = (_call, out) => {
      if (refusals.delete(out.target.chat)) throw channelError("retry", "Too Many Requests", 80);
    };
    const { deliveries } = await world(far);
    const [a, b] = [await deliveries.send(proactive("1", "a")), await deliveries.send(proactive("1", "b"))];
    await until(() => refusals.size === 0);
    const c = await deliveries.send(proactive("1", "c"));
    await Promise.all([a.sent, b.sent, c.sent]);
    const refusedAt = Math.max(...["a", "b"].map((chat) => far.calls.find((call) => call.chat === chat)?.at ?? 0));
    expect((far.calls.find((call) => call.chat === "c")?.at ?? 0) - refusedAt).toBeGreaterThanOrEqual(75);
  });

  it("FAULT-33 a storm of 429 does not use up tries, gives one event, and ends by age", async () => {
    const far = createFarEnd();
    far.fault = () => {
      throw channelError("retry", "Too Many Requests", 1);
    };
    const one = await world(far, { limits: { maxTries: 3, ttlMinutes: 1 } });
    const { sent } = await one.deliveries.send(proactive("x"));
    await until(() => far.calls.length > 10);
    expect(one.events.filter(({ data }) => data?.state === "channel-throttled")).toHaveLength(1);
    one.clock.offset += 120_000;
    await expect(sent).rejects.toMatchObject({ code: "SVC_DELIVERY_EXPIRED" });
    expect(one.failed).toHaveLength(1);
  });
});

describe("failures", () => {
  it("FAULT-34 a permanent error fails at once, and the sender's side is told once", async () => {
    const far = createFarEnd();
    far.fault = () => {
      throw channelError("permanent", "Bad Request: chat not found");
    };
    const one = await world(far);
    await (await one.deliveries.send(proactive("x"))).sent.catch(() => {});
    expect(far.calls).toHaveLength(1);
    expect(one.failed).toMatchObject([{ deliveries: [{ text: "x" }], reason: "Bad Request: chat not found" }]);
    expect(await size(one)).toBe(0);
  });

  it("FAULT-35 a failure that may pass is tried again until it has passed", async () => {
    const far = createFarEnd();
    let left = 4;
    far.fault = () => {
      if (left-- > 0) throw channelError("retry", "connect ECONNREFUSED");
    };
    const { deliveries } = await world(far);
    await (await deliveries.send(proactive("x"))).sent;
    expect(far.visible("c1")).toEqual(["x"]);
    expect(far.calls).toHaveLength(5);
  });

  it("gives up after the allowed tries and says why", async () => {
    const far = createFarEnd();
    far.fault = () => {
      throw channelError("retry", "503 from the platform");
    };
    const { deliveries } = await world(far, { limits: { maxTries: 3 } });
    await expect((await deliveries.send(proactive("x"))).sent).rejects.toMatchObject({ message: expect.stringMatching(/3 tries.*503/) });
    expect(far.calls).toHaveLength(3);
  });

  it("markup that the platform refuses goes out as plain text", async () => {
    const far = createFarEnd({ dialect: "markdown" });
    far.fault = (_call, out) => {
      if (out.text.includes("**")) throw channelError("format", "can't parse entities");
    };
    const { deliveries } = await world(far);
    await (await deliveries.send(proactive("a **bold** word"))).sent;
    expect(far.visible("c1")).toEqual(["a bold word"]);
  });

  it("FAULT-03 an answer that never came: a channel with keys gets the same key again and shows one message", async () => {
    const far = createFarEnd({ keyed: true });
    let cut = true;
    far.after = () => {
      if (cut) {
        cut = false;
        connectionCut();
      }
    };
    const one = await world(far);
    await (await one.deliveries.send(proactive("x"))).sent;
    expect(far.visible("c1")).toEqual(["x"]);
    expect(new Set(far.calls.map(({ key }) => key)).size).toBe(1);
    expect(one.logged.filter(({ text }) => text?.includes("possible duplicate"))).toEqual([]);
  });

  it("FAULT-03 without keys it is sent again, and the log says that there may be two", async () => {
    const far = createFarEnd();
    let cut = true;
    far.after = () => {
      if (cut) {
        cut = false;
        connectionCut();
      }
    };
    const one = await world(far);
    await (await one.deliveries.send(proactive("x"))).sent;
    expect(far.calls).toHaveLength(2);
    expect(one.logged.filter(({ level, text }) => level === "warn" && text?.includes("possible duplicate"))).toHaveLength(1);
  });

  it("a plugin that throws anything is treated like a cut connection and disturbs no other delivery", async () => {
    const far = createFarEnd();
    far.fault = (_call, out) => {
      if (out.text === "bad") throw new TypeError("undefined is not a function");
    };
    const { deliveries } = await world(far, { limits: { maxTries: 2 } });
    const bad = await deliveries.send(proactive("bad", "a"));
    await (await deliveries.send(proactive("good", "b"))).sent;
    await expect(bad.sent).rejects.toMatchObject({ code: "SVC_DELIVERY_UNCERTAIN" });
  });
});

describe("restart", () => {
  it("FAULT-02 what was committed and not sent goes out after a restart, once", async () => {
    const far = createFarEnd();
    const before = await world(far, { connected: false });
    await before.store.scope("core").commit(before.deliveries.ops({ id: "out_1", ...proactive("answer") }));
    const after = await before.crash();
    open.push(after);
    after.connect();
    await until(async () => (await size(after)) === 0);
    expect(far.visible("c1")).toEqual(["answer"]);
    expect(far.calls).toHaveLength(1);
  });

  it("FAULT-03 killed after the send and before it was noted: sent again, with a word in the log", async () => {
    const far = createFarEnd();
    let reached = () => {};
    const atPlatform = new Promise<void>((resolve) => (reached = resolve));
    far.after = () => {
      reached();
      return new Promise(() => {});
    };
    const before = await world(far);
    await before.deliveries.send(proactive("x"));
    await atPlatform;
    far.after = () => {};
    const after = await before.crash();
    open.push(after);
    await until(async () => (await size(after)) === 0);
    expect(far.calls.map(({ call }) => call)).toEqual(["send", "send"]);
    expect(after.logged.filter(({ text }) => text?.includes("possible duplicate"))).toHaveLength(1);
  });

  it("a crash between two parts sends neither of them twice", async () => {
    const far = createFarEnd({ maxChars: 10 });
    let reached = () => {};
    const second = new Promise<void>((resolve) => (reached = resolve));
    far.fault = (_call, out) => {
      if (!out.text.startsWith("b")) return;
      reached();
      return new Promise(() => {});
    };
    const before = await world(far);
    await before.deliveries.send(proactive("aaaaaaaaaabbbbbbbbbbcc"));
    await second;
    far.fault = () => {};
    const after = await before.crash();
    open.push(after);
    await until(async () => (await size(after)) === 0);
    expect(far.visible("c1")).toEqual(["aaaaaaaaaa", "bbbbbbbbbb", "cc"]);
  });

  it("FAULT-06 500 deliveries of 15 hours ago expire with one summary, and none is sent", async () => {
    const far = createFarEnd();
    const before = await world(far, { connected: false });
    await before.store
      .scope("core")
      .commit(Array.from({ length: 500 }, (_, n) => before.deliveries.ops({ id: `out_${n}`, ...proactive(`old ${n}`, `c${n % 7}`) })).flat());
    before.clock.offset += 15 * 3_600_000;
    const after = await before.crash();
    open.push(after);
    after.connect();
    await until(() => after.failed.length > 0);
    await (await after.deliveries.send(proactive("new"))).sent;
    expect(far.calls.map(({ text }) => text)).toEqual(["new"]);
    expect(after.failed.map(({ deliveries }) => deliveries.length)).toEqual([500]);
    expect(after.events.filter(({ data }) => data?.state === "delivery-expired")).toHaveLength(1);
    expect(await size(after)).toBe(0);
  });

  it("FAULT-07 a channel that is not connected is not asked and no try is counted", async () => {
    const far = createFarEnd();
    const one = await world(far, { connected: false });
    const { sent } = await one.deliveries.send(proactive("x"));
    const [waiting] = await one.store.scope("core").queue<{ tries: number }>("outbox/acme").list();
    expect(waiting).toMatchObject({ attempt: 0, value: { tries: 0 } });
    expect(far.calls).toEqual([]);
    one.connect();
    await sent;
    expect(far.visible("c1")).toEqual(["x"]);
  });

  it("FAULT-07 a channel that goes down during a send keeps the delivery without counting the try", async () => {
    const far = createFarEnd();
    const one = await world(far, { limits: { maxTries: 1 } });
    far.fault = () => {
      one.disconnect();
      throw channelError("retry", "gateway closed");
    };
    const { sent } = await one.deliveries.send(proactive("x"));
    await until(async () => (await one.store.scope("core").queue<{ tries: number }>("outbox/acme").list())[0]?.value.tries === 0 && far.calls.length === 1);
    far.fault = () => {};
    one.connect();
    await sent;
    expect(far.calls).toHaveLength(2);
  });

  it("stop lets what is in flight finish and keeps the rest for the next start", async () => {
    const far = createFarEnd();
    let release = () => {};
    far.fault = () => new Promise((resolve) => (release = resolve));
    const one = await world(far);
    const first = await one.deliveries.send(proactive("first"));
    const second = await one.deliveries.send(proactive("second"));
    await until(() => far.calls.length === 1);
    const stopped = one.deliveries.stop();
    release();
    await stopped;
    expect(await first.sent).toEqual({ platformId: "m1" });
    await expect(second.sent).rejects.toMatchObject({ code: "SVC_DELIVERY_PENDING" });
    expect(await size(one)).toBe(1);
  });

  it("stop does not wait for a platform that never answers", async () => {
    const far = createFarEnd();
    let told: AbortSignal | undefined;
    const send = far.channel.send.bind(far.channel);
    Object.assign(far.channel, {
      send: (out: never, signal: AbortSignal) => {
        told = signal;
        return Promise.race([send(out, signal), new Promise(() => {})]);
      },
    });
    far.fault = () => new Promise(() => {});
    const one = await world(far, { limits: { stopGraceMs: 10 } });
    await one.deliveries.send(proactive("x"));
    await until(() => far.calls.length === 1);
    await one.deliveries.stop();
    expect(told?.aborted).toBe(true);
    expect(await size(one)).toBe(1);
  });
});

describe("media", () => {
  const file = (bytes: number, name = "report.pdf") => ({ kind: "file" as const, name, data: new Uint8Array(bytes).fill(7) });

  it("goes out after the text with its bytes, from the database", async () => {
    const far = createFarEnd({ maxMediaBytes: 1_000 });
    const { deliveries } = await world(far);
    await (await deliveries.send({ ...proactive("see this"), media: [file(10)] })).sent;
    expect(far.calls.map(({ text }) => text)).toEqual(["see this", ""]);
    expect([...(far.calls[1]?.out?.media?.[0]?.data ?? [])]).toEqual(Array(10).fill(7));
  });

  it("a file over the channel's limit is named in the text instead", async () => {
    const far = createFarEnd({ maxMediaBytes: 5 });
    const { deliveries } = await world(far);
    await (await deliveries.send({ ...proactive("see this"), media: [file(10), file(2, "small.txt")] })).sent;
    expect(far.calls[0]?.text).toMatch(/^see this\n\n\(report\.pdf was not sent/);
    expect(far.calls[1]?.out?.media?.map(({ name }) => name)).toEqual(["small.txt"]);
  });

  it("a channel that takes no files says so in words", async () => {
    const far = createFarEnd();
    const { deliveries } = await world(far);
    await (await deliveries.send({ ...proactive(""), media: [file(1)] })).sent;
    expect(far.visible("c1")).toEqual(["(report.pdf was not sent: files cannot be sent here.)"]);
  });
});

describe("parts", () => {
  it("are split at the channel's limit, in order, and only the first answers the message", async () => {
    const far = createFarEnd({ maxChars: 10 });
    const { deliveries } = await world(far);
    await (await deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1", replyTo: "q1" }, text: "aaaaaaaaaabbbbbbbbbbcc" })).sent;
    expect(far.visible("c1")).toEqual(["aaaaaaaaaa", "bbbbbbbbbb", "cc"]);
    expect(far.calls.map(({ target }) => target.replyTo)).toEqual(["q1", undefined, undefined]);
  });

  it("what grows by rendering is cut smaller, so that it still fits", async () => {
    const far = createFarEnd({ maxChars: 10, dialect: "mrkdwn" });
    const { deliveries } = await world(far, {
      render: {
        split: (text, limit) => text.match(new RegExp(`.{1,${limit}}`, "gsu")) ?? [],
        to: (dialect, text) => (dialect === "mrkdwn" ? text.replaceAll("&", "&amp;") : text),
      },
    });
    await (await deliveries.send(proactive("&&&&&&&&"))).sent;
    expect(far.visible("c1").join("")).toBe("&amp;".repeat(8));
    expect(Math.max(...far.visible("c1").map((text) => text.length))).toBeLessThanOrEqual(10);
  });
});

describe("a clock that is set", () => {
  for (const [way, turned] of [
    ["a day back", -DAY_MS],
    ["a year back", -365 * DAY_MS],
    ["a day ahead", DAY_MS],
    ["a year ahead", 365 * DAY_MS],
  ] as const) {
    it(`FLT-4 ${way} makes no pause longer and nothing expire, here and after a restart`, async () => {
      const far = createFarEnd();
      let limited = true;
      far.fault = () => {
        if (limited) throw channelError("retry", "Too Many Requests", 5_000);
      };
      const one = await world(far);
      await one.store.scope("core").commit(one.deliveries.ops(reply("out_1", "first")));
      one.deliveries.committed(reply("out_1", "first"));
      await until(() => far.calls.length === 1);
      one.clock.turned = turned;
      await one.store.scope("core").commit([...one.deliveries.ops(reply("out_2", "second")), ...one.deliveries.ops(reply("out_3", "elsewhere", "c2"))]);
      one.deliveries.committed(reply("out_2", "second"));
      await until(() => far.calls.some(({ chat }) => chat === "c2"));
      limited = false;
      const other = await one.crash();
      open.push(other);
      const queued = await other.store.scope("core").queue("outbox/acme").list();
      for (const { dueAt } of queued) expect(dueAt - other.store.steady()).toBeLessThanOrEqual(6_000);
      one.clock.offset += 6_100;
      other.connect();
      await until(async () => (await size(other)) === 0);
      expect(far.visible("c1")).toEqual(["first", "second"]);
      expect(other.failed).toEqual([]);
    });
  }

  it("FLT-4 a due time that an earlier version stored by a clock that went back is not waited for", async () => {
    const far = createFarEnd();
    const one = await world(far, { connected: false });
    await one.store.scope("core").commit(one.deliveries.ops(reply("out_1", "late")));
    await one.store.scope("core").queue("outbox/acme").release("out_1", DAY_MS);
    one.connect();
    await until(async () => (await size(one)) === 0);
    expect(far.visible("c1")).toEqual(["late"]);
  });

  it("FLT-4 who waits for an answer that expired is told, once a chat", async () => {
    const far = createFarEnd();
    const one = await world(far, { connected: false });
    await one.store
      .scope("core")
      .commit(
        [reply("out_1", "a"), reply("out_2", "b"), reply("out_3", "c", "c2"), { id: "out_4", ...proactive("d", "c3") }].flatMap((each) =>
          one.deliveries.ops(each),
        ),
      );
    one.clock.offset += 2 * 3_600_000;
    one.connect();
    await until(async () => one.failed.length > 0 && (await size(one)) === 0);
    await until(() => far.visible("c2").length === 1);
    expect(far.visible("c1")).toEqual([expect.stringContaining("2 of my answers could not be sent here within 60 minutes")]);
    expect(far.visible("c2")).toEqual([expect.stringContaining("ask again")]);
    expect(far.visible("c3")).toEqual([]);
  });
});

it("FLT-10 a platform that always breaks off after the effect gets a message three times at most, and that is reported", async () => {
  const far = createFarEnd();
  far.after = connectionCut;
  const one = await world(far);
  const { sent } = await one.deliveries.send(proactive("once"));
  await expect(sent).rejects.toMatchObject({ code: "SVC_DELIVERY_UNCERTAIN" });
  expect(far.visible("c1")).toEqual(["once", "once", "once"]);
  expect(one.events.filter(({ type }) => type === "delivery:uncertain")).toMatchObject([{ kind: "channel", data: { channel: "acme" } }]);
  expect(one.logged.filter(({ level, text }) => level === "warn" && text?.includes("doubtful"))).toHaveLength(1);
  expect(await size(one)).toBe(0);
});

it("FLT-10 failures that are certain do not count as doubts", async () => {
  const far = createFarEnd();
  let left = 6;
  far.fault = () => {
    if (left-- > 0) throw channelError("retry", "502 Bad Gateway");
  };
  const one = await world(far);
  await (await one.deliveries.send(proactive("x"))).sent;
  expect(far.visible("c1")).toEqual(["x"]);
});

it("FLT-12 the first message that arrives after an outage lets the others of that account go at once, and one chat's own trouble does not count", async () => {
  const far = createFarEnd();
  let away = true;
  far.fault = (_call, out) => {
    if (away || out.target.chat === "broken") throw channelError("retry", "500 Internal Server Error");
  };
  const hour = 3_000_000;
  const one = await world(far, { limits: { backoff: () => hour } });
  const waiting = await Promise.all(["a", "b", "c"].map((chat) => one.deliveries.send(proactive(`to ${chat}`, chat))));
  await until(() => far.calls.length === 3);
  away = false;
  await (await one.deliveries.send(proactive("now", "d"))).sent;
  await Promise.all(waiting.map(({ sent }) => sent));
  await one.deliveries.send(proactive("never", "broken"));
  await until(() => far.calls.some(({ chat }) => chat === "broken"));
  await (await one.deliveries.send(proactive("again", "d"))).sent;
  await (await one.deliveries.send(proactive("and again", "d"))).sent;
  expect(far.calls.filter(({ chat }) => chat === "broken")).toHaveLength(1);
});
