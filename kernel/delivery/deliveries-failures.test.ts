import { channelError, type Store, svcError } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { createFarEnd, render, until } from "./deliver.harness.ts";
import { connectionCut, proactive, size, world } from "./deliveries.harness.ts";

const fullDisk = () => Promise.reject(svcError("SVC_STORE_FULL", "The disk is full."));

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

it("FLT-12 an entry that another daemon on the store sends at that moment is not sent a second time", async () => {
  const far = createFarEnd();
  let away = true;
  let answer = () => {};
  far.fault = (_call, out) => {
    if (away) throw channelError("retry", "500 Internal Server Error");
    return out.target.chat === "c1" ? new Promise<void>((resolve) => (answer = resolve)) : undefined;
  };
  const pauses = [100, 600];
  const one = await world(far, { limits: { backoff: () => pauses.shift() ?? 5 }, through: (store) => ({ ...store, shared: true }) });
  const other = await world(far, { connected: false, through: () => ({ ...one.store.scope("core"), shared: true }) });
  await one.deliveries.send(proactive("x", "c1"));
  await until(() => pauses.length === 1);
  await one.deliveries.send(proactive("y", "c2"));
  await until(() => pauses.length === 0);
  one.disconnect();
  away = false;
  far.calls.length = 0;
  other.connect();
  await until(() => far.calls.some(({ chat }) => chat === "c1"));
  expect(far.calls).toHaveLength(1);
  other.disconnect();
  one.connect();
  await until(() => far.visible("c2").length === 1);
  await until(async () => (await size(one)) === 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  answer();
  await until(async () => (await size(one)) === 0);
  expect(far.calls.filter(({ chat }) => chat === "c1")).toHaveLength(1);
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

it("FAULT-09 a disk that is full for a moment delays no delivery by minutes and shows no part of one twice", async () => {
  let full = true;
  /** Nothing can be added to it; what is done with can be deleted. */
  const through = (store: Store): Store => ({
    ...store,
    collection<T>(name: string, options?: { readonly indexes?: readonly string[] }) {
      const rows = store.collection<T>(name, options);
      return { ...rows, put: (key: string, value: T) => (full ? fullDisk() : rows.put(key, value)) };
    },
  });
  const far = createFarEnd();
  let busy = true;
  far.fault = (_call, out) => {
    if (out.text.startsWith("second") && busy) {
      busy = false;
      throw channelError("retry", "502 Bad Gateway");
    }
  };
  const one = await world(far, { through });
  const long = `first ${"x".repeat(190)}\n\nsecond ${"y".repeat(150)}`;
  await one.deliveries.send(proactive(long));
  await (await one.deliveries.send(proactive("third"))).sent;
  expect(far.visible("c1").map((text) => text.slice(0, 6))).toEqual(["first ", "second", "third"]);
  full = false;
  await until(async () => (await size(one)) === 0);
});

it("FAULT-09 an end that a full disk does not take is stored when there is room again, and what waits behind it goes on then", async () => {
  let full = true;
  const through = (store: Store): Store => ({
    ...store,
    commit: (ops) => (full && ops.some(({ op }) => op === "complete") ? fullDisk() : store.commit(ops)),
  });
  const far = createFarEnd();
  const one = await world(far, { through });
  await one.deliveries.send(proactive("one"));
  await until(() => far.calls.length === 1);
  const { sent } = await one.deliveries.send(proactive("two"));
  full = false;
  await sent;
  expect(far.visible("c1")).toEqual(["one", "two"]);
});

it("an error that nobody foresaw costs a delivery a pause, not the quarter of an hour for which it is claimed", async () => {
  let broken = true;
  const stumbles: typeof render = {
    ...render,
    to(form, markdown) {
      if (broken && markdown === "one") {
        broken = false;
        throw new TypeError("undefined is not a function");
      }
      return render.to(form, markdown);
    },
  };
  const far = createFarEnd();
  const one = await world(far, { render: stumbles });
  await one.deliveries.send(proactive("one"));
  await (await one.deliveries.send(proactive("two"))).sent;
  expect(far.visible("c1")).toEqual(["one", "two"]);
  expect(one.logged.filter(({ level }) => level === "error")).toHaveLength(1);
});
