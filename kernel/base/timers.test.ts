import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTimers, intervalOf, timeOf } from "./timers.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-03-01T12:00:00Z");

describe("a timer for a time", () => {
  beforeEach(() => void vi.useFakeTimers({ now: START }));
  afterEach(() => void vi.useRealTimers());

  function setUp() {
    const ran: string[] = [];
    const timers = createTimers();
    const at = (time: number, name: string) => timers.at(time, () => void ran.push(name));
    return { timers, ran, at };
  }

  it("comes at its time, also in 40 days, in order of the times and of the calls", async () => {
    const { ran, at } = setUp();
    at(START + 40 * DAY, "far");
    at(START + 5_000, "second");
    at(START + 1_000, "first");
    at(START + 5_000, "third");
    await vi.advanceTimersByTimeAsync(999);
    expect(ran).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ran).toEqual(["first"]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(ran).toEqual(["first", "second", "third"]);
    // It looks at the clock every ten seconds, 345,600 times in 40 days: an hour of them, then the clock is set to 20 s before the time.
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(ran).toHaveLength(3);
    vi.setSystemTime(START + 40 * DAY - 20_000);
    await vi.advanceTimersByTimeAsync(19_999);
    expect(ran).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(ran.at(-1)).toBe("far");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a time that has passed comes at once, and never within the call", async () => {
    const { ran, at } = setUp();
    at(START - DAY, "past");
    at(START, "now");
    expect(ran).toEqual([]);
    await vi.advanceTimersByTimeAsync(0);
    expect(ran).toEqual(["past", "now"]);
  });

  it("a machine that slept, and a clock set ahead, are noticed within ten seconds: it runs once", async () => {
    const { ran, at } = setUp();
    at(START + DAY, "tomorrow");
    await vi.advanceTimersByTimeAsync(60_000);
    // Timers stand still while the wall clock goes on.
    vi.setSystemTime(START + 2 * DAY);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ran).toEqual(["tomorrow"]);
    vi.setSystemTime(START);
    await vi.advanceTimersByTimeAsync(3 * DAY);
    expect(ran).toEqual(["tomorrow"]);
  });

  it("a clock set back makes it wait for its time", async () => {
    const { ran, at } = setUp();
    at(START + 60_000, "soon");
    vi.setSystemTime(START - 3_600_000);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(ran).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ran).toEqual(["soon"]);
  });

  it("is cancelled by itself, by one of the same time that runs before it, and with all others", async () => {
    const { timers, ran, at } = setUp();
    at(START + 1_000, "first")();
    timers.at(START + 2_000, () => cancel());
    const cancel = at(START + 2_000, "second");
    at(START + 3_000, "third");
    await vi.advanceTimersByTimeAsync(2_500);
    expect(ran).toEqual([]);
    timers.stop();
    await vi.advanceTimersByTimeAsync(DAY);
    expect(ran).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("runs where it was asked for, whichever timer was armed", async () => {
    const { timers } = setUp();
    const place = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    for (const name of ["b", "a"]) place.run(name, () => timers.at(START + 1_000, () => void seen.push(place.getStore())));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toEqual(["b", "a"]);
  });

  it("ten thousand times cost one timer", async () => {
    const { ran, at } = setUp();
    for (let n = 0; n < 10_000; n += 1) at(START + ((n * 7_919) % 10_000), String(n));
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ran).toHaveLength(10_000);
    expect(ran.map((n) => (Number(n) * 7_919) % 10_000)).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
  });
});

it("what is no time is refused", () => {
  expect(timeOf(new Date(7))).toBe(7);
  expect(timeOf(7.5)).toBe(7.5);
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 9e15, new Date("never")])
    expect(() => timeOf(time)).toThrow(expect.objectContaining({ code: "SVC_TIME_INVALID" }));
});

it("an interval that would leave no pause is refused", () => {
  expect(intervalOf(1)).toBe(1);
  for (const ms of [0, -1, 0.5, Number.NaN, undefined as never])
    expect(() => intervalOf(ms)).toThrow(expect.objectContaining({ code: "SVC_INTERVAL_INVALID" }));
});
