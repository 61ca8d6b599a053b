import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timesOf } from "../../kernel/base/calendar/times.ts";

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/Athens",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Auckland",
];

const ours = (expression: string, zone: string, from: string, count: number) =>
  timesOf(expression, zone, { count, from: new Date(from) }).map((time) => time.toISOString());
const theirs = (expression: string, timezone: string, from: string, count: number) =>
  new Cron(expression, { timezone, mode: "5-part" }).nextRuns(count, new Date(from)).map((time) => time.toISOString());

describe("next times, against croner", { timeout: 60_000 }, () => {
  it.each(ZONES)("a thousand of them in %s, through years of clock changes", (zone) => {
    const asked = {
      "0 9 * * *": 400,
      "30 18 * * 1-5": 200,
      "15 7 1,15 * *": 50,
      "*/15 8-17 * * mon-fri": 100,
      "0 12 * * 1#1": 50,
      "45 23 L * *": 50,
      "0 6 * jan-mar 5#L": 20,
      "0 * * * *": 130,
    };
    let compared = 0;
    for (const [expression, count] of Object.entries(asked)) {
      const found = ours(expression, zone, "2026-01-01T00:00:00Z", count);
      expect(found, expression).toEqual(theirs(expression, zone, "2026-01-01T00:00:00Z", count));
      compared += found.length;
    }
    expect(compared).toBe(1_000);
  });

  it.each(ZONES)("FAULT-20 in both nights of %s in which clocks change, times that are skipped and times that come twice", (zone) => {
    for (const expression of ["30 2 * * *", "0 3 * * *", "0 0 * * *", "45 1 * * *", "15 2 * * *", "30 23 * * *"])
      for (const from of [
        "2026-03-06T00:00:00Z",
        "2026-03-27T00:00:00Z",
        "2026-04-03T00:00:00Z",
        "2026-09-04T00:00:00Z",
        "2026-09-25T00:00:00Z",
        "2026-10-02T00:00:00Z",
        "2026-10-23T00:00:00Z",
        "2026-10-30T00:00:00Z",
      ])
        expect(ours(expression, zone, from, 6), `${expression} from ${from}`).toEqual(theirs(expression, zone, from, 6));
  });

  it("expressions as they come", () => {
    const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant("*"),
        number(min, max),
        fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        fc.array(fc.integer({ min, max }), { minLength: 2, maxLength: 4 }).map((values) => values.join(",")),
      );
    const week = fc.oneof(
      field(0, 6),
      fc.tuple(number(0, 6), fc.constantFrom("1", "2", "3", "4", "5", "L")).map(([day, at]) => `${day}#${at}`),
    );
    const days = fc.oneof(field(1, 28), fc.constant("L"), fc.constant("1,L"));
    const expression = fc.tuple(field(0, 59), field(3, 22), days, field(1, 12), week).map((fields) => fields.join(" "));
    fc.assert(
      fc.property(expression, fc.constantFrom(...ZONES), (text, zone) => {
        // Eight years are looked ahead here, more there.
        const found = ours(text, zone, "2026-05-01T00:00:00Z", 12);
        expect(found).toEqual(theirs(text, zone, "2026-05-01T00:00:00Z", 12).slice(0, found.length));
      }),
      { numRuns: 80 },
    );
  });
});

describe("days that depend on the month", () => {
  it.each([
    ["0 9 * * 1#1", ["2026-05-04", "2026-06-01", "2026-07-06"]],
    ["0 9 * * tue#2,tue#4", ["2026-05-12", "2026-05-26", "2026-06-09"]],
    ["0 9 * * 7#L", ["2026-05-31", "2026-06-28", "2026-07-26"]],
    ["0 9 L 2,5 *", ["2026-05-31", "2027-02-28", "2027-05-31"]],
    ["0 9 15,L * *", ["2026-05-15", "2026-05-31", "2026-06-15"]],
    ["0 9 13 * fri#L", ["2026-05-13", "2026-05-29", "2026-06-13"]],
  ])("%s", (expression, days) => {
    expect(ours(expression, "UTC", "2026-05-01T12:00:00Z", 3)).toEqual(days.map((day) => `${day}T09:00:00.000Z`));
  });

  it.each(["0 9 * * #1", "0 9 * * 1#6", "0 9 * * 1-5#1", "0 9 * * *#1", "0 9 * * 9#1", "0 9 * * L", "0 9 l-1 * *", "L 9 * * *"])("refuses %s", (expression) => {
    expect(() => timesOf(expression)).toThrow(/cannot be used/);
  });

  it("a fifth weekday comes in some months only", () => {
    expect(ours("0 9 * * 5#5", "UTC", "2026-05-01T12:00:00Z", 3)).toEqual(["2026-05-29T09:00:00.000Z", "2026-07-31T09:00:00.000Z", "2026-10-30T09:00:00.000Z"]);
  });
});
