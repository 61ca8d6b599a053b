import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MINUTE } from "../base/calendar/zone.ts";
import type { Looked, MissedSpan } from "../core/boot/schedule-port.ts";
import { createSchedule } from "./schedule.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

describe("the schedule", () => {
  function setUp(start: string) {
    let at = Date.parse(start);
    const fired: string[] = [];
    const missed: string[] = [];
    const claims = new Set<string>();
    const looks: Looked[] = [];
    /** Codes with which the next claims are refused. */
    const refuse: string[] = [];
    const schedule = createSchedule({
      now: () => at,
      log: quiet,
      onLook: async ({ minute, jobs }) => void looks.push({ minute, jobs: new Map(jobs) }),
      onMissed: (spans) => missed.push(...spans.map(({ job, first, last, count }) => `${job} ${first.toISOString()} ${last.toISOString()} ${count}`)),
      claim: async (job, minute) => {
        const key = `${job} ${minute}`;
        const code = refuse.shift();
        if (code !== undefined) throw Object.assign(new Error(code), { code });
        if (claims.has(key)) return false;
        claims.add(key);
        return true;
      },
    });
    schedule.cron("job", "0 * * * *", undefined, async (minute) => void fired.push(minute.toISOString()));
    const jump = async (to: string) => {
      at = Date.parse(to);
      schedule.tick();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { schedule, fired, missed, claims, looks, refuse, jump };
  }

  it("FAULT-18 a clock a day ahead records one decision per job and runs none of the missed minutes", async () => {
    const { schedule, fired, missed, jump } = setUp("2026-01-01T11:59:30Z");
    await jump("2026-01-01T12:00:00Z");
    await jump("2026-01-02T12:30:00Z");
    expect(fired).toEqual(["2026-01-01T12:00:00.000Z"]);
    expect(missed).toEqual(["job 2026-01-01T13:00:00.000Z 2026-01-02T12:00:00.000Z 24"]);
    schedule.stop();
  });

  it("OPS-01 while it is held nothing is claimed and nothing runs; what passes meanwhile is a missed minute", async () => {
    const { schedule, fired, missed, claims, jump } = setUp("2026-01-01T11:59:30Z");
    await schedule.hold();
    await jump("2026-01-01T12:00:00Z");
    await jump("2026-01-01T12:01:00Z");
    expect([fired, missed, [...claims]]).toEqual([[], [], []]);
    schedule.resume();
    await jump("2026-01-01T13:00:00Z");
    expect(fired).toEqual(["2026-01-01T13:00:00.000Z"]);
    expect(missed).toEqual(["job 2026-01-01T12:00:00.000Z 2026-01-01T12:00:00.000Z 1"]);
    schedule.stop();
  });

  it("FAULT-18 tells what passed since an earlier run looked last, once a job, of those that stand as they stood", async () => {
    const { schedule, missed, looks, jump } = setUp("2026-01-01T11:59:30Z");
    await jump("2026-01-01T12:00:00Z");
    await schedule.hold();
    expect(looks.at(-1)).toEqual({ minute: Date.parse("2026-01-01T12:00Z") / MINUTE, jobs: new Map([["job", "UTC 0 * * * *"]]) });
    schedule.stop();
    expect(missed).toEqual([]);

    const earlier = { minute: Date.parse("2026-01-01T12:00Z") / MINUTE, jobs: new Map(["job", "gone", "changed"].map((id) => [id, "UTC 0 * * * *"])) };
    const next = setUp("2026-01-11T12:00:10Z");
    for (const id of ["changed", "fresh"]) next.schedule.cron(id, "5 * * * *", undefined, async () => {});
    await next.schedule.since(earlier);
    expect(next.missed).toEqual(["job 2026-01-01T13:00:00.000Z 2026-01-11T12:00:00.000Z 240"]);
    expect([...next.claims]).toEqual([]);
    next.schedule.stop();
  });

  it("FAULT-18 which jobs there are is noted soon after they came, for who dies before the first minute is over", async () => {
    const { schedule, looks } = setUp("2026-01-01T11:59:30Z");
    await schedule.since(undefined);
    expect(looks).toEqual([]);
    await vi.waitFor(() => expect(looks).toHaveLength(1), { timeout: 10_000 });
    for (const id of ["second", "third"]) schedule.cron(id, "5 * * * *", undefined, async () => {});
    await vi.waitFor(() => expect(looks).toHaveLength(2), { timeout: 10_000 });
    expect(looks.at(-1)).toMatchObject({ minute: Date.parse("2026-01-01T11:59Z") / MINUTE });
    expect([...(looks.at(-1)?.jobs.keys() ?? [])]).toEqual(["job", "second", "third"]);
    schedule.stop();
  });

  it("FAULT-18 a minute that the store could not claim is a missed one", async () => {
    const { schedule, fired, missed, refuse, jump } = setUp("2026-01-01T11:59:30Z");
    refuse.push("SVC_STORE_FULL");
    await jump("2026-01-01T12:00:00Z");
    await jump("2026-01-01T13:00:00Z");
    expect(fired).toEqual(["2026-01-01T13:00:00.000Z"]);
    expect(missed).toEqual(["job 2026-01-01T12:00:00.000Z 2026-01-01T12:00:00.000Z 1"]);
    schedule.stop();
  });

  it("FAULT-18 a long time of a frequent job is counted to a thousand, with its true end", async () => {
    const spans: MissedSpan[] = [];
    const schedule = createSchedule({
      now: () => Date.parse("2026-06-01T08:00:00Z"),
      log: quiet,
      claim: async () => true,
      onMissed: (some) => spans.push(...some),
    });
    schedule.cron("job", "*/5 * 1-2 * *", undefined, async () => {});
    await schedule.since({ minute: Date.parse("2026-01-01T00:00Z") / MINUTE, jobs: new Map([["job", "UTC */5 * 1-2 * *"]]) });
    expect(spans).toEqual([{ job: "job", first: new Date("2026-01-01T00:05:00Z"), last: new Date("2026-06-01T08:00:00Z"), count: 1000, more: true }]);
    schedule.stop();
  });

  it("FAULT-19 a clock that is behind the last look has missed nothing", async () => {
    const { schedule, missed } = setUp("2026-01-01T11:59:30Z");
    await schedule.since({ minute: Date.parse("2026-01-02T12:00Z") / MINUTE, jobs: new Map([["job", "UTC 0 * * * *"]]) });
    expect(missed).toEqual([]);
    schedule.stop();
  });

  it("FAULT-19 a clock set back fires no minute a second time", async () => {
    const { schedule, fired, missed, jump } = setUp("2026-01-03T10:59:30Z");
    await jump("2026-01-03T11:00:00Z");
    await jump("2026-01-03T12:00:00Z");
    await jump("2026-01-03T11:00:00Z");
    await jump("2026-01-03T12:00:00Z");
    await jump("2026-01-03T13:00:00Z");
    expect(fired.map((minute) => minute.slice(11, 16))).toEqual(["11:00", "12:00", "13:00"]);
    expect(missed).toEqual([]);
    schedule.stop();
  });

  it("a clock that was a day ahead for a moment keeps no job from running when it is right again", async () => {
    const { schedule, fired, missed, jump } = setUp("2026-01-01T11:59:30Z");
    await jump("2026-01-02T12:00:00Z");
    await jump("2026-01-01T12:00:00Z");
    await jump("2026-01-01T13:00:00Z");
    await jump("2026-01-02T12:00:00Z");
    expect(fired.map((minute) => minute.slice(8, 16))).toEqual(["02T12:00", "01T12:00", "01T13:00"]);
    expect(missed).toEqual(["job 2026-01-01T12:00:00.000Z 2026-01-02T11:00:00.000Z 24"]);
    schedule.stop();
  });

  it("a second schedule on the same claims runs nothing twice", async () => {
    const runs: number[] = [];
    const claims = new Set<string>();
    const make = () => {
      let at = Date.parse("2026-01-01T00:00:30Z");
      const schedule = createSchedule({
        now: () => at,
        log: quiet,
        claim: async (job, minute) => !claims.has(job + minute) && Boolean(claims.add(job + minute)),
      });
      schedule.cron("job", "* * * * *", "UTC", async () => void runs.push(at));
      return () => {
        at += MINUTE;
        schedule.tick();
        schedule.stop();
      };
    };
    const [one, two] = [make(), make()];
    one();
    two();
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toHaveLength(1);
  });

  it("FAULT-21 a repetition longer than 24.8 days does not fire early, nor all the time", async () => {
    vi.useFakeTimers();
    try {
      const schedule = createSchedule({ log: quiet, claim: async () => true });
      const run = vi.fn();
      const stop = schedule.every(30 * 86_400_000, run);
      await vi.advanceTimersByTimeAsync(29 * 86_400_000);
      expect(run).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(32 * 86_400_000);
      expect(run).toHaveBeenCalledTimes(2);
      stop();
      await vi.advanceTimersByTimeAsync(90 * 86_400_000);
      expect(run).toHaveBeenCalledTimes(2);
      schedule.stop();
    } finally {
      vi.useRealTimers();
    }
  });

  it("FAULT-21 a timer longer than 24.8 days does not fire early", () => {
    vi.useFakeTimers();
    try {
      const schedule = createSchedule({ log: quiet, claim: async () => true });
      const run = vi.fn();
      schedule.after(30 * 86_400_000, run);
      vi.advanceTimersByTime(29 * 86_400_000);
      expect(run).not.toHaveBeenCalled();
      vi.advanceTimersByTime(2 * 86_400_000);
      expect(run).toHaveBeenCalledTimes(1);
      schedule.stop();
    } finally {
      vi.useRealTimers();
    }
  });

  it("registering an id again replaces it, and stopping one leaves the other", async () => {
    const { schedule, fired, jump } = setUp("2026-01-01T11:59:30Z");
    const other: string[] = [];
    const stop = schedule.cron("job", "5 * * * *", "UTC", async (minute) => void other.push(minute.toISOString()));
    await jump("2026-01-01T12:00:00Z");
    await jump("2026-01-01T12:05:00Z");
    stop();
    await jump("2026-01-01T13:05:00Z");
    expect(fired).toEqual([]);
    expect(other).toEqual(["2026-01-01T12:05:00.000Z"]);
    schedule.stop();
  });
});

describe("the minute's tick", () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.parse("2026-01-03T12:00:30Z") }));
  afterEach(() => void vi.useRealTimers());

  async function everyMinute() {
    const fired: string[] = [];
    const warnings: string[] = [];
    const schedule = createSchedule({ log: { ...quiet, warn: (_facts, text) => void warnings.push(text ?? "") }, claim: async () => true });
    const place = new AsyncLocalStorage<string>();
    place.run("a request", () =>
      schedule.cron("job", "* * * * *", undefined, async (minute) => void fired.push(`${place.getStore() ?? ""}${minute.toISOString().slice(8, 16)}`)),
    );
    await vi.dynamicImportSettled();
    const minutes = async (count: number) => {
      await vi.advanceTimersByTimeAsync(count * MINUTE);
      return fired.splice(0);
    };
    return { schedule, minutes, warnings };
  }

  it("comes at the start of each minute, belongs to nobody's request, and ends with the schedule", async () => {
    const { schedule, minutes } = await everyMinute();
    expect(await minutes(2)).toEqual(["03T12:01", "03T12:02"]);
    schedule.stop();
    expect(await minutes(2)).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("FAULT-18 goes on after a jump forward, without a storm", async () => {
    const { schedule, minutes } = await everyMinute();
    vi.setSystemTime(Date.parse("2026-01-04T12:00:30Z"));
    expect(await minutes(2)).toEqual(["04T12:01", "04T12:02"]);
    schedule.stop();
  });

  it("FAULT-19 follows a clock that is set back, says so once, and follows it on", async () => {
    const { schedule, minutes, warnings } = await everyMinute();
    await minutes(1);
    vi.setSystemTime(Date.parse("2026-01-01T12:00:30Z"));
    expect((await minutes(5)).at(-1)).toBe("01T12:05");
    expect(warnings).toEqual([expect.stringContaining("set back")]);
    vi.setSystemTime(Date.parse("2026-01-03T12:10:30Z"));
    expect((await minutes(2)).slice(-2)).toEqual(["03T12:11", "03T12:12"]);
    schedule.stop();
  });
});
