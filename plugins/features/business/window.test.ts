import { describe, expect, it } from "vitest";
import { daysOf, isDays, workingAt } from "./window.ts";

const berlin = { start: "09:00", end: "17:00", days: daysOf("mon-fri"), timezone: "Europe/Berlin" };
const at = (iso: string) => Date.parse(iso);
const until = (window: typeof berlin, iso: string) => {
  const { working, until: change } = workingAt(window, at(iso));
  return [working, new Date(change).toISOString()];
};

describe("days", () => {
  it("are names, ranges, lists of both, over the end of the week too; anything else is refused", () => {
    expect(daysOf()).toEqual([1, 2, 3, 4, 5]);
    expect(daysOf("sat-mon")).toEqual([1, 6, 7]);
    expect(daysOf(["Tue", "thu-fri"])).toEqual([2, 4, 5]);
    expect(daysOf("mon, wed")).toEqual([1, 3]);
    for (const wrong of ["", "monday", "mon-", "mon-tue-wed", "1", ["mon", "x"]]) expect([wrong, isDays(wrong)]).toEqual([wrong, false]);
  });
});

describe("a working window", () => {
  it("is open from its start up to its end, on its days, by the wall clock of its zone", () => {
    expect(until(berlin, "2026-01-05T07:59:59Z")).toEqual([false, "2026-01-05T08:00:00.000Z"]);
    expect(until(berlin, "2026-01-05T08:00:00Z")).toEqual([true, "2026-01-05T16:00:00.000Z"]);
    expect(until(berlin, "2026-01-05T16:00:00Z")).toEqual([false, "2026-01-06T08:00:00.000Z"]);
    // Friday evening: Monday.
    expect(until(berlin, "2026-01-09T20:00:00Z")).toEqual([false, "2026-01-12T08:00:00.000Z"]);
  });

  it("starts at the same time of day when clocks are set", () => {
    const daily = { ...berlin, days: daysOf("mon-sun") };
    // Clocks go ahead on 2026-03-29 at 01:00Z and back on 2026-10-25 at 01:00Z.
    expect(until(daily, "2026-03-28T20:00:00Z")).toEqual([false, "2026-03-29T07:00:00.000Z"]);
    expect(until(daily, "2026-10-24T20:00:00Z")).toEqual([false, "2026-10-25T08:00:00.000Z"]);
  });

  it("that starts in an hour that is skipped starts with the jump; of one that is there twice each part counts", () => {
    const skipped = { ...berlin, start: "02:30", end: "04:00", days: daysOf("mon-sun") };
    expect(until(skipped, "2026-03-29T00:00:00Z")).toEqual([false, "2026-03-29T01:00:00.000Z"]);
    expect(until(skipped, "2026-03-29T01:00:00Z")).toEqual([true, "2026-03-29T02:00:00.000Z"]);
    const twice = { ...berlin, start: "02:30", end: "02:45", days: daysOf("mon-sun") };
    expect(until(twice, "2026-10-25T00:00:00Z")).toEqual([false, "2026-10-25T00:30:00.000Z"]);
    expect(workingAt(twice, at("2026-10-25T01:35:00Z")).working).toBe(true);
    expect(until(twice, "2026-10-25T01:50:00Z")).toEqual([false, "2026-10-26T01:30:00.000Z"]);
  });

  it("that is in a jump of half an hour, and in a zone that is not of whole hours", () => {
    const howe = { start: "09:00", end: "17:00", days: daysOf("mon-sun"), timezone: "Australia/Lord_Howe" };
    expect(until(howe, "2026-04-04T12:00:00Z")).toEqual([false, "2026-04-04T22:30:00.000Z"]);
    expect(until({ ...howe, timezone: "Asia/Kathmandu" }, "2026-04-04T00:00:00Z")).toEqual([false, "2026-04-04T03:15:00.000Z"]);
  });

  it("over midnight belongs to the day on which it starts", () => {
    const night = { start: "22:00", end: "06:00", days: daysOf("fri"), timezone: "UTC" };
    expect(until(night, "2026-01-09T22:00:00Z")).toEqual([true, "2026-01-10T06:00:00.000Z"]);
    expect(until(night, "2026-01-10T05:59:00Z")).toEqual([true, "2026-01-10T06:00:00.000Z"]);
    expect(workingAt(night, at("2026-01-09T05:00:00Z")).working).toBe(false);
    expect(workingAt(night, at("2026-01-10T22:30:00Z")).working).toBe(false);
  });

  it("of the same start and end is a whole day", () => {
    const whole = { start: "00:00", end: "00:00", days: daysOf("sat-sun"), timezone: "UTC" };
    expect(until(whole, "2026-01-10T00:00:00Z")).toEqual([true, "2026-01-12T00:00:00.000Z"]);
    expect(until(whole, "2026-01-12T00:00:00Z")).toEqual([false, "2026-01-17T00:00:00.000Z"]);
    expect(workingAt({ ...whole, days: daysOf("mon-sun") }, at("2026-01-10T00:00:00Z")).working).toBe(true);
  });

  it("agrees with itself minute by minute over both changes of the clock", () => {
    for (const day of ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"])
      for (const window of [berlin, { ...berlin, start: "22:15", end: "03:10", days: daysOf("sat-sun") }]) {
        for (let now = at(day); now < at(day) + 36 * 3_600_000; now += 17 * 60_000) {
          const state = workingAt(window, now);
          expect(state.until).toBeGreaterThan(now);
          expect(workingAt(window, state.until).working).toBe(!state.working);
          expect(workingAt(window, state.until - 60_000).working).toBe(state.working);
        }
      }
  });
});
