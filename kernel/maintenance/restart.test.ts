import { afterEach, describe, expect, it } from "vitest";
import { judgeRestart, type RestartRules, readRestart } from "./restart.ts";

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

/** Local time of one day. */
const at = (hour: number, minute: number, second = 0, day = 10) => new Date(2025, 5, day, hour, minute, second).getTime();
const rules = (given: Partial<RestartRules>): RestartRules => readRestart({ shutdown: { restart: given } });

describe("OPS-02 who may restart, and when", () => {
  it.each<[string, Partial<RestartRules>, string | undefined, boolean]>([
    ["unset allows anyone", {}, "eve", true],
    ["unset allows someone without a name", {}, undefined, true],
    ["a match anywhere", { allowBy: "ops" }, "the-ops-team", true],
    ["anchored", { allowBy: "^(alice|bob)$" }, "bob", true],
    ["anchored, no match", { allowBy: "^(alice|bob)$" }, "bobby", false],
    ["without a name nothing matches", { allowBy: ".*" }, undefined, false],
    ["characters beyond the basic plane count as one", { allowBy: "^.$" }, "𝕏", true],
    ["what only the older syntax takes", { allowBy: "^a\\-b$" }, "a-b", true],
    ["an escape of JavaScript", { allowBy: "^\\u0061(?<rest>\\/b)$" }, "a/b", true],
    ["a repetition of a repetition is matched like any other", { allowBy: "^(a+)+$" }, "aaa", true],
    ["lookaround matches nobody", { allowBy: "^(?=a)" }, "a", false],
    ["a broken pattern matches nobody", { allowBy: "(" }, "(", false],
  ])("%s", (_name, given, by, allowed) => {
    const now = at(12, 0);
    const verdict = judgeRestart(rules(given), by, now);
    if (allowed) expect(verdict).toEqual({ at: now });
    else expect(verdict).toEqual({ refused: expect.stringContaining("allowBy") });
  });

  it.each<[string, number, number | undefined]>([
    ["before it", at(2, 0), at(3, 0)],
    ["to the minute", at(0, 0), at(3, 0)],
    ["a second more", at(23, 59, 59, 9), undefined],
    ["in its minute", at(3, 0, 59), at(3, 0, 59)],
    ["when its minute is over, the next day's", at(3, 1), undefined],
    ["from the evening before", at(23, 30, 0, 9), undefined],
  ])("the window is %s", (_name, now, expected) => {
    const verdict = judgeRestart(rules({ allowBy: "ops", window: "03:00" }), "eve", now);
    if (expected === undefined) expect(verdict).toEqual({ refused: expect.stringMatching(/03:00 is \d+ minutes away, more than the 180/) });
    else expect(verdict).toEqual({ at: expected });
  });

  it("windowWaitMinutes says how far", () => {
    const judge = (windowWaitMinutes: number) => judgeRestart(rules({ allowBy: "ops", window: "03:00", windowWaitMinutes }), "eve", at(23, 0, 0, 9));
    expect(judge(239)).toEqual({ refused: expect.stringContaining("240 minutes away") });
    expect(judge(240)).toEqual({ at: at(3, 0) });
  });

  it("the window is local time, also over a change of the clock", () => {
    process.env.TZ = "Europe/Berlin";
    const evening = new Date(2025, 2, 29, 22, 0).getTime();
    expect(new Date(2025, 2, 30, 4, 0).getTime() - evening).toBe(5 * 3_600_000);
    const window = (text: string) => judgeRestart(rules({ allowBy: "ops", window: text, windowWaitMinutes: 1440 }), "eve", evening);
    expect(window("04:00")).toEqual({ at: new Date(2025, 2, 30, 4, 0).getTime() });
    // 02:30 does not exist on that day.
    expect(window("02:30")).toEqual({ at: new Date(2025, 2, 30, 3, 30).getTime() });
    const after = judgeRestart(rules({ allowBy: "ops", window: "02:30", windowWaitMinutes: 1440 }), "eve", new Date(2025, 2, 30, 3, 31).getTime());
    expect(after).toEqual({ at: new Date(2025, 2, 31, 2, 30).getTime() });
  });
});

// Backtracking takes 2^40 steps and more for most of these: the test's own time limit is the measure.
it.each(["^(a|aa)+$", "^(a|a)*$", "(.*a){20}b", "a*a*a*a*a*a*a*b", "^(a?){30}a{30}!!$", ".*.*.*.*=.*", "^(a+)+$", "^((a*)*)*$", "(x+x+)+y"])(
  "SEC-M1 %s is matched in linear time, also where it does not match",
  (allowBy) => {
    const now = Date.UTC(2025, 0, 1);
    for (const by of [`${"a".repeat(200)}!`, `${"x".repeat(200)}!`, "a".repeat(20_000)]) expect(judgeRestart(rules({ allowBy }), by, now)).toBeDefined();
  },
);
