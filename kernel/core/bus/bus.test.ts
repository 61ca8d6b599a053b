import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Envelope } from "@svc/sdk";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Bus, createBus } from "./bus.ts";

const step = { kind: "agent", type: "task:step", summary: "tool start" };
const signal = { kind: "signal", type: "emitted", summary: "go" };

function setUp(ringSize = 1000, clock?: () => number) {
  const errors: unknown[] = [];
  const bus = createBus({ node: "here", ringSize, onListenerError: (error) => errors.push(error), ...(clock === undefined ? {} : { now: clock }) });
  return { bus, errors };
}

const fill = (bus: Bus, count: number, event: Parameters<Bus["publish"]>[0] = signal) => Array.from({ length: count }, () => bus.publish(event).id);
const ids = (events: readonly Envelope[]) => events.map(({ id }) => id);
const foreign = (id: string, more: Partial<Envelope> = {}): Envelope => ({ id, rootId: id, node: "there", at: "2026-01-01T00:00:00.000Z", ...signal, ...more });

describe("reading the buffer", () => {
  it("EVT-01 an id that left the buffer, or of an earlier boot, gives everything and a gap; anything else is ignored", () => {
    const { bus } = setUp(3);
    const [first = ""] = fill(bus, 1);
    const kept = fill(bus, 3);
    expect(bus.recent({ since: first })).toEqual({ events: bus.recent().events, gap: true });
    expect(ids(bus.recent({ since: first }).events)).toEqual(kept);
    expect(bus.recent({ since: "evt_0123456789_1a" }).gap).toBe(true);
    for (const since of ["nonsense", "evt_", "evt_0123456789_", "evt-000012", ""]) {
      expect(ids(bus.recent({ since }).events)).toEqual(kept);
      expect(bus.recent({ since })).not.toHaveProperty("gap");
    }
  });

  it.each(["1", "foo 2024", "run:12", "2026-02-30", "2026-13-01", "2026-01-01T25:00Z", "20260101", "2026-1-1"])(
    "EVT-02 since=%s is no time and is ignored",
    (since) => {
      const { bus } = setUp(10, () => Date.parse("2000-01-01T00:00:00Z"));
      fill(bus, 2);
      expect(bus.recent({ since }).events).toHaveLength(2);
    },
  );

  it("EVT-03 limit keeps the newest of recent events, also with since, and the oldest of an agent's after since", () => {
    const { bus } = setUp();
    const all = fill(bus, 10);
    expect(ids(bus.recent({ limit: 3 }).events)).toEqual(all.slice(7));
    expect(ids(bus.recent({ since: all[1] as string, limit: 3 }).events)).toEqual(all.slice(7));
    expect(bus.recent({ limit: 0 }).events).toEqual([]);
    expect(ids(bus.page(() => true, undefined, 3).events)).toEqual(all.slice(7));
    expect(ids(bus.page(() => true, all[1], 3).events)).toEqual(all.slice(2, 5));
  });

  it("EVT-04 the position of an id is found before filtering, and is exclusive", () => {
    const { bus } = setUp();
    fill(bus, 1);
    const hidden = bus.publish(step).id;
    const after = fill(bus, 2);
    expect(bus.recent({ since: hidden, kind: ["signal"] })).toEqual({ events: bus.recent().events.slice(2) });
    expect(ids(bus.recent({ since: hidden, kind: ["signal"] }).events)).toEqual(after);
  });

  it("EVT-04 a time is inclusive, in any offset, and a future one matches nothing without a gap", () => {
    let at = Date.parse("2026-05-01T10:00:00Z");
    const { bus } = setUp(10, () => at);
    fill(bus, 1);
    at += 1000;
    const [second] = fill(bus, 1);
    for (const since of ["2026-05-01T10:00:01Z", "2026-05-01T12:00:01+02:00", "2026-05-01T10:00:01", "2026-05-01T10:00:00.5Z"])
      expect(ids(bus.recent({ since }).events)).toEqual([second]);
    expect(bus.recent({ since: "2026-05-01" }).events).toHaveLength(2);
    expect(bus.recent({ since: "2030-01-01T00:00:00Z" })).toEqual({ events: [] });
  });

  it("EVT-05 an agent that reads with next sees each event once: 120 events come as 50, 50 and 20", () => {
    const { bus } = setUp();
    const [first = ""] = fill(bus, 1);
    const all = fill(bus, 120);
    const read: string[] = [];
    const sizes: number[] = [];
    for (let cursor = first; ; ) {
      const { events, next } = bus.page(() => true, cursor, 500);
      if (events.length === 0) {
        expect(next).toBe(cursor);
        break;
      }
      sizes.push(events.length);
      read.push(...ids(events));
      cursor = next as string;
    }
    expect(sizes).toEqual([50, 50, 20]);
    expect(read).toEqual(all);
  });

  it("EVT-05 the cursor holds on ids that another implementation made, and says when unread events are gone", () => {
    const { bus } = setUp(2);
    expect(bus.page(() => true)).toEqual({ events: [], next: null });
    bus.inject(foreign("theirs-000012"));
    const { next } = bus.page(() => true);
    expect(next).toBe("theirs-000012");
    const [own = ""] = fill(bus, 1);
    expect(ids(bus.page(() => true, next as string).events)).toEqual([own]);
    fill(bus, 5);
    expect(bus.page(() => true, own)).toMatchObject({ gap: true, events: [{}, {}] });
  });

  it("EVT-06 the ring holds the last ringSize of all kinds, floods of steps count", () => {
    const { bus } = setUp(4);
    fill(bus, 2);
    const steps = fill(bus, 4, step);
    expect(ids(bus.recent().events)).toEqual(steps);
    expect(bus.recent({ kind: ["signal"] }).events).toEqual([]);
  });

  it("EVT-06 whatever is published and however the ring is resized, it holds the newest in order", () => {
    const action = fc.oneof(fc.record({ publish: fc.integer({ min: 1, max: 12 }) }), fc.record({ resize: fc.integer({ min: 1, max: 9 }) }));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(action, { maxLength: 30 }), (initial, actions) => {
        const { bus } = setUp(initial);
        let size = initial;
        let expected: string[] = [];
        for (const now of actions) {
          if ("publish" in now) expected.push(...fill(bus, now.publish));
          else bus.resize((size = now.resize));
          expected = expected.slice(-size);
          expect(ids(bus.recent().events)).toEqual(expected);
        }
      }),
    );
  });

  it("filters by family, type, origin and agent; all must hold", () => {
    const { bus } = setUp();
    bus.publish({ ...step, agentId: "ada" });
    bus.publish({ kind: "agent", type: "task:started", summary: "", agentId: "ada" });
    bus.publish({ kind: "run", type: "created", summary: "", agentId: "bob" });
    bus.inject(foreign("x", { kind: "run", type: "ok" }));
    const types = (query: Parameters<Bus["recent"]>[0]) => bus.recent(query).events.map(({ type }) => type);
    expect(types({ kind: ["agent", "run"], skip: ["task:step"] })).toEqual(["task:started", "created", "ok"]);
    expect(types({ origin: "local", kind: ["run"] })).toEqual(["created"]);
    expect(types({ agent: "ada", skip: ["task:step"] })).toEqual(["task:started"]);
    expect(types({ kind: [], skip: [] })).toHaveLength(4);
  });
});

describe("envelopes", () => {
  it("EVT-09 summaries have at most 280 code points and no half character", () => {
    const { bus } = setUp();
    expect(bus.publish({ ...signal, summary: "😀".repeat(280) }).summary).toBe("😀".repeat(280));
    const cut = bus.publish({ ...signal, summary: "😀".repeat(281) }).summary;
    expect([...cut]).toHaveLength(280);
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 200, maxLength: 900 }), (summary) => {
        const kept = bus.publish({ ...signal, summary }).summary;
        expect([...kept].length).toBeLessThanOrEqual(280);
        expect(kept.isWellFormed()).toBe(true);
      }),
    );
  });

  it("EVT-10 the whole text of an announcement stands beside its cut summary", () => {
    const { bus } = setUp();
    const text = "a".repeat(2000);
    expect(bus.publish({ kind: "announce", type: "announce", summary: text, text })).toMatchObject({ text });
  });

  it("gives each event an id of its boot, and times from the clock it was given", () => {
    let at = Date.parse("2026-05-01T10:00:00.123Z");
    const { bus } = setUp(10, () => at);
    const one = bus.publish(signal);
    at += 1;
    const two = bus.publish({ ...signal, agentId: "ada", ref: "r", data: { run: 1 } });
    expect(one).toEqual({ id: one.id, rootId: one.id, node: "here", at: "2026-05-01T10:00:00.123Z", ...signal });
    expect(two).toMatchObject({ at: "2026-05-01T10:00:00.124Z", agentId: "ada", ref: "r", data: { run: 1 } });
    expect(one.id.slice(0, 15)).toBe(two.id.slice(0, 15));
    expect(setUp().bus.publish(signal).id.slice(0, 15)).not.toBe(one.id.slice(0, 15));
  });

  it("EVT-01 EVT-12 an event of a stored row has the row's id, and the root that goes on; as a cursor it is one like any other", () => {
    const { bus } = setUp(3);
    const id = "run_0123456789abcdef:12";
    const [told] = bus.within({ rootId: "evt_0123456789_1" }, () => [bus.publish({ ...signal, id }), bus.publish(signal)]);
    expect(told).toMatchObject({ id, rootId: "evt_0123456789_1" });
    expect(bus.recent({ since: id }).events).toHaveLength(1);
    fill(bus, 3);
    expect(bus.recent({ since: id }).gap).toBe(true);
  });

  it("takes a foreign event in once and as it is, and none that claims to be ours", () => {
    const { bus } = setUp(2);
    const heard: Envelope[] = [];
    bus.subscribe((envelope) => heard.push(envelope));
    const event = foreign("there-1", { parentId: "p", summary: "x".repeat(300) });
    expect(bus.inject(event)).toBe(true);
    fill(bus, 5);
    expect(bus.inject(event)).toBe(false);
    expect(bus.inject({ ...event, id: "there-2", node: "here" })).toBe(false);
    expect(heard[0]).toBe(event);
    expect(heard).toHaveLength(6);
  });
});

describe("roots", () => {
  it("EVT-12 everything an entry causes shares its root, over awaits, timers and queues; without an entry an event is its own", async () => {
    const { bus } = setUp();
    const stored = bus.root(() => {
      bus.publish(signal);
      setTimeout(() => bus.publish(step), 1);
      queueMicrotask(() => bus.publish(step));
      return bus.current();
    });
    await bus.root(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      bus.publish(step);
    });
    // Whoever empties a queue has another root, or none: the stored one is used.
    new AsyncResource("other").runInAsyncScope(() => bus.within(stored as { rootId: string }, () => bus.publish(step)));
    const alone = bus.publish(signal);
    const rootIds = bus.recent().events.map(({ rootId }) => rootId);
    expect(rootIds.filter((rootId) => rootId === stored?.rootId)).toHaveLength(4);
    expect(new Set(rootIds).size).toBe(3);
    expect(alone.rootId).toBe(alone.id);
    expect(bus.current()).toBeUndefined();
  });

  it("EVT-12 a root reserved before its first event names that event, and stays valid when it never comes", () => {
    const { bus } = setUp();
    const rootId = bus.newRoot();
    const published = bus.within({ rootId }, () => [bus.publish(signal), bus.publish(signal)]);
    expect(published.map((event) => event.rootId)).toEqual([rootId, rootId]);
    expect(published[0]?.id).toBe(rootId);
    expect(published[1]?.id).not.toBe(rootId);
    const early = bus.newRoot();
    for (let count = 0; count < 5000; count += 1) bus.newRoot();
    const late = bus.within({ rootId: early }, () => bus.publish(signal));
    expect(late.rootId).toBe(early);
  });

  it("EVT-12 a root from elsewhere keeps its parent, and an inner entry has a root of its own", () => {
    const { bus } = setUp();
    bus.within({ rootId: "theirs", parentId: "forward" }, () => {
      expect(bus.publish(signal)).toMatchObject({ rootId: "theirs", parentId: "forward" });
      bus.root(() => {
        const inner = bus.publish(signal);
        expect(inner.rootId).toBe(inner.id);
        expect(inner).not.toHaveProperty("parentId");
      });
      expect(bus.current()?.rootId).toBe("theirs");
    });
  });

  it("two daemons in one process keep their roots apart, and one's work goes on in its root behind the other's", async () => {
    const [{ bus: one }, { bus: two }] = [setUp(), setUp()];
    await one.within({ rootId: "of-one" }, async () => {
      expect(two.current()).toBeUndefined();
      await two.within({ rootId: "of-two" }, async () => {
        await Promise.resolve();
        expect([one.current()?.rootId, two.current()?.rootId]).toEqual(["of-one", "of-two"]);
        one.within({ rootId: "later" }, () => expect([one.current()?.rootId, two.current()?.rootId]).toEqual(["later", "of-two"]));
      });
      expect([one.current()?.rootId, two.current()]).toEqual(["of-one", undefined]);
    });
  });

  it("share one storage however many daemons a process has had: each storage makes every promise dearer", () => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, "run");
    onTestFinished(() => run.mockRestore());
    for (let made = 0; made < 3; made += 1) setUp().bus.root(() => undefined);
    expect(run).toHaveBeenCalledTimes(3);
    expect(new Set(run.mock.contexts).size).toBe(1);
  });

  it("EVT-16 what a listener causes belongs to the root of the event it heard, also of a foreign one", async () => {
    const { bus } = setUp();
    const woken: Envelope[] = [];
    bus.subscribe(async (cause) => {
      if (cause.type === "woken") return;
      await null;
      woken.push(bus.publish({ ...signal, type: "woken" }));
    });
    const own = bus.publish(signal);
    bus.inject(foreign("theirs", { rootId: "their-root" }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(woken).toMatchObject([
      { rootId: own.id, parentId: own.id },
      { rootId: "their-root", parentId: "theirs" },
    ]);
  });
});

describe("listeners", () => {
  it("hear every event or those of one type, until they stop", () => {
    const { bus } = setUp();
    const heard: string[] = [];
    const listener = ({ type }: Envelope) => void heard.push(type);
    const stopAll = bus.subscribe(listener);
    const stopTyped = bus.subscribe(listener, "task:step");
    bus.publish(signal);
    bus.publish(step);
    stopAll();
    stopAll();
    bus.publish(step);
    stopTyped();
    bus.publish(step);
    expect(heard).toEqual(["emitted", "task:step", "task:step", "task:step"]);
  });

  it("one that throws is reported and disturbs neither the publisher nor the others", () => {
    const { bus, errors } = setUp();
    const heard: string[] = [];
    bus.subscribe(() => {
      throw new Error("broken");
    });
    bus.subscribe(({ type }) => void heard.push(type));
    expect(bus.publish(signal).type).toBe("emitted");
    expect(heard).toEqual(["emitted"]);
    expect(errors).toMatchObject([{ message: "broken" }]);
  });

  it("all hear the same order, also of events that one of them publishes meanwhile", () => {
    const { bus } = setUp();
    const heard: string[] = [];
    bus.subscribe(({ type }) => {
      if (type === "emitted") bus.publish({ ...signal, type: "answer" });
    });
    bus.subscribe(({ type }) => void heard.push(type));
    bus.publish(signal);
    expect(heard).toEqual(["emitted", "answer"]);
  });

  it("one that stops another, or joins, during an event takes effect at once and from the next one on", () => {
    const { bus } = setUp();
    const heard: string[] = [];
    let stop = (): void => {};
    bus.subscribe(() => {
      stop();
      bus.subscribe(({ id }) => void heard.push(id));
    });
    stop = bus.subscribe(() => void heard.push("stopped"));
    bus.publish(signal);
    expect(heard).toEqual([]);
    const { id } = bus.publish(signal);
    expect(heard).toEqual([id]);
  });

  it("that answer events with events without end are refused, and the daemon goes on", () => {
    const { bus, errors } = setUp();
    let heard = 0;
    bus.subscribe(() => {
      heard += 1;
      bus.publish(signal);
    });
    bus.publish(signal);
    expect(errors).toMatchObject([{ code: "SVC_EVENT_LOOP" }]);
    const before = heard;
    bus.publish(signal);
    expect(heard).toBe(before * 2);
  });
});
