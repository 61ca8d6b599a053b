import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCron } from "./cron.ts";
import { matches, nextTimes } from "./matcher.ts";
import { MINUTE, wall, zoneOf } from "./zone.ts";

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
