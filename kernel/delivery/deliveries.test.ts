import { channelError } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { createFarEnd, until } from "./deliver.harness.ts";
import { proactive, size, world } from "./deliveries.harness.ts";

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
    const far = createFarEnd({ maxChars: 10, dialect: "markdown" });
    const { deliveries } = await world(far, {
      render: {
        split: (text, limit) => text.match(new RegExp(`.{1,${limit}}`, "gsu")) ?? [],
        to: (dialect, text) => (dialect === "markdown" ? text.replaceAll("&", "&amp;") : text),
      },
    });
    await (await deliveries.send(proactive("&&&&&&&&"))).sent;
    expect(far.visible("c1").join("")).toBe("&amp;".repeat(8));
    expect(Math.max(...far.visible("c1").map((text) => text.length))).toBeLessThanOrEqual(10);
  });
});
