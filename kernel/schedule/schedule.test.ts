import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseCron } from "../base/calendar/cron.ts";
import { matches, nextTimes } from "../base/calendar/matcher.ts";
import { MINUTE, wall, zoneOf } from "../base/calendar/zone.ts";
import type { Looked, MissedSpan } from "../core/boot/schedule-port.ts";
import { createSchedule } from "./schedule.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const next = (expression: string, zone: string, from: string, count = 1) =>
  nextTimes(parseCron(expression), zoneOf(zone), new Date(from), count).map((time) => time.toISOString());

describe("cron expressions", () => {
  it("CRON-05 takes exactly five fields and says so", () => {
    for (const expression of ["* * * * * *", "* * * *", "@daily", ""]) expect(() => parseCron(expression)).toThrow(/five: minute, hour/);
    expect(() => parseCron("0 9 * * *")).not.toThrow();
  });

  it.each([
    ["61 * * * *", "minute '61' is outside 0 to 59"],
    ["* 24 * * *", "hour '24'"],
    ["* * 0 * *", "day of month '0'"],
    ["* * * foo *", "month 'foo'"],
    ["* * * * 8", "day of week '8'"],
    ["5-1 * * * *", "ends before it starts"],
    ["*/0 * * * *", "step below 1"],
    ["*-5 * * * *", "mixes"],
    ["? * * * *", "is not a number"],
  ])("refuses %s naming the field", (expression, words) => {
    expect(() => parseCron(expression)).toThrow(words);
  });

  it("CRON-05 the default zone is UTC, whatever the machine's is", () => {
    expect(next("0 9 * * *", "UTC", "2026-07-01T00:00:00Z")).toEqual(["2026-07-01T09:00:00.000Z"]);
    expect(next("0 9 * * *", "Asia/Tokyo", "2026-07-01T00:00:00Z", 2)).toEqual(["2026-07-02T00:00:00.000Z", "2026-07-03T00:00:00.000Z"]);
  });

  it("either day field is enough when both are restricted; names and Sunday as 7 are taken", () => {
    expect(next("0 0 13 * fri", "UTC", "2026-02-01T00:00:00Z", 3)).toEqual([
      "2026-02-06T00:00:00.000Z",
      "2026-02-13T00:00:00.000Z",
      "2026-02-20T00:00:00.000Z",
    ]);
    expect(next("0 0 * * 7", "UTC", "2026-02-01T00:00:00Z")).toEqual(["2026-02-08T00:00:00.000Z"]);
    expect(next("0 0 29 feb *", "UTC", "2026-01-01T00:00:00Z")).toEqual(["2028-02-29T00:00:00.000Z"]);
    expect(next("0 0 31 2 *", "UTC", "2026-01-01T00:00:00Z")).toEqual([]);
  });

  it("FAULT-20 a time that a change of the clocks skips runs once, at the first moment after", () => {
    expect(next("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", 2)).toEqual(["2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"]);
    expect(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2)).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
  });

  it("FAULT-20 a time that comes twice runs once", () => {
    expect(next("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2)).toEqual(["2026-04-04T14:45:00.000Z", "2026-04-05T15:15:00.000Z"]);
    expect(next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2)).toEqual(["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]);
  });

  it("FAULT-20 a job of every hour follows elapsed time through both", () => {
    expect(next("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 4)).toEqual([
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T02:00:00.000Z",
      "2026-10-25T03:00:00.000Z",
    ]);
    expect(next("0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 2)).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-29T02:00:00.000Z"]);
  });

  it("skipping ahead finds what walking minute by minute finds", () => {
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant("*"),
        fc.integer({ min, max }).map(String),
        fc.integer({ min: 1, max: 15 }).map((step) => `*/${step}`),
        fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
      );
    const expression = fc.tuple(field(0, 59), field(0, 23), field(1, 31), fc.constant("*"), field(0, 6)).map((fields) => fields.join(" "));
    const start = fc.constantFrom("2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z", "2026-04-04T10:00:00Z", "2026-09-05T20:00:00Z", "2026-06-01T00:00:00Z");
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata");
    fc.assert(
      fc.property(expression, start, zone, (text, from, name) => {
        const cron = parseCron(text);
        const first = Math.floor(Date.parse(from) / MINUTE) + 1;
        const walked: string[] = [];
        for (let minute = first; minute < first + 3 * 1_440; minute += 1)
          if (matches(cron, zoneOf(name), minute)) walked.push(new Date(minute * MINUTE).toISOString());
        expect(next(text, name, from, walked.length)).toEqual(walked);
      }),
      { numRuns: 60 },
    );
  });

  it("matches exactly the readings whose parts are asked for, by the platform's own calendar", () => {
    /** A field as text, and the values it stands for. */
    const field = (min: number, max: number, names: readonly string[] = []) => {
      const value = fc.integer({ min, max });
      const written = (number: number) => names[number - min] ?? String(number);
      const range = fc.tuple(value, value, fc.integer({ min: 1, max: 9 })).map(([a, b, step]) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const values = Array.from({ length: to - from + 1 }, (_, at) => from + at).filter((number) => (number - from) % step === 0);
        return { text: `${written(from)}-${written(to)}${step === 1 ? "" : `/${step}`}`, values };
      });
      const one = value.map((number) => ({ text: written(number), values: [number] }));
      const list = fc
        .array(fc.oneof(one, range), { minLength: 1, maxLength: 3 })
        .map((parts) => ({ text: parts.map(({ text }) => text).join(","), values: parts.flatMap(({ values }) => values), any: false }));
      const any = fc.constant({ text: "*", values: Array.from({ length: max - min + 1 }, (_, at) => min + at), any: true });
      return fc.oneof(list, any);
    };
    const months = ["JAN", "feb", "Mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12, months), field(0, 6, days));
    // The middle of 2025's and 2026's seasons: no clock changes here, and the oracle knows nothing of those.
    const minute = fc.oneof(
      fc.integer({ min: Date.parse("2025-12-01T00:00:00Z") / MINUTE, max: Date.parse("2026-02-28T23:59:00Z") / MINUTE }),
      fc.integer({ min: Date.parse("2026-06-01T00:00:00Z") / MINUTE, max: Date.parse("2026-08-30T23:59:00Z") / MINUTE }),
    );
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "America/New_York");
    let matched = 0;
    fc.assert(
      fc.property(fields, minute, zone, fc.boolean(), ([minutes, hours, dates, month, week], at, timeZone, near) => {
        const instant = new Date(at * MINUTE);
        const [, m = "", d = "", , h = "", min = ""] =
          /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+)/.exec(instant.toLocaleString("en-US", { timeZone, hourCycle: "h23" })) ?? [];
        const weekday = days.indexOf(instant.toLocaleString("en-US", { timeZone, weekday: "short" }));
        // Half of the cases are made to agree on the clock, or next to none would match.
        const clock = near ? `${Number(min)} ${Number(h)}` : `${minutes.text} ${hours.text}`;
        const onTime = near || (minutes.values.includes(Number(min)) && hours.values.includes(Number(h)));
        const byDate = dates.values.includes(Number(d));
        const byWeekday = week.values.includes(weekday);
        const onDay = dates.any || week.any ? byDate && byWeekday : byDate || byWeekday;
        const expected = onTime && month.values.includes(Number(m)) && onDay;
        if (expected) matched += 1;
        expect(matches(parseCron(`${clock} ${dates.text} ${month.text} ${week.text}`), zoneOf(timeZone), at)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
    expect(matched).toBeGreaterThan(100);
  });

  it("wall clocks agree with the platform's own formatting", () => {
    const minute = Math.floor(Date.parse("2026-07-01T12:34:00Z") / MINUTE);
    expect(new Date(wall(zoneOf("Asia/Kolkata"), minute) * MINUTE).toISOString()).toBe("2026-07-01T18:04:00.000Z");
    expect(() => zoneOf("Mars/Olympus")).toThrow(/time zone/);
  });
});

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
