import { channelError } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { createFarEnd, until } from "./deliver.harness.ts";
import { DAY_MS, open, proactive, reply, size, world } from "./deliveries.harness.ts";

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

describe("a clock that is set", () => {
  for (const [way, turned] of [
    ["a day back", -DAY_MS],
    ["a year back", -365 * DAY_MS],
    ["a day ahead", DAY_MS],
    ["a year ahead", 365 * DAY_MS],
  ] as const) {
    it(`FLT-4 ${way} makes no pause longer and nothing expire, here and after a restart`, async () => {
      const far = createFarEnd();
      far.fault = () => {
        throw channelError("retry", "Too Many Requests", 5_000);
      };
      const one = await world(far);
      await one.store.scope("core").commit(one.deliveries.ops(reply("out_1", "first")));
      one.deliveries.committed(reply("out_1", "first"));
      await until(() => far.calls.length === 1);
      one.clock.turned = turned;
      await one.store.scope("core").commit([...one.deliveries.ops(reply("out_2", "second")), ...one.deliveries.ops(reply("out_3", "elsewhere", "c2"))]);
      one.deliveries.committed(reply("out_2", "second"));
      await until(() => far.calls.some(({ chat }) => chat === "c2"));
      // The first one goes on, at a far end that takes nothing from it.
      const taking = createFarEnd();
      const other = await one.crash(taking);
      open.push(other);
      const queued = await other.store.scope("core").queue("outbox/acme").list();
      for (const { dueAt } of queued) expect(dueAt - other.store.steady()).toBeLessThanOrEqual(6_000);
      one.clock.offset += 6_100;
      other.connect();
      await until(async () => (await size(other)) === 0);
      expect(taking.visible("c1")).toEqual(["first", "second"]);
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
