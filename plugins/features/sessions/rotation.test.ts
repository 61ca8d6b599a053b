import { expect, it } from "vitest";
import { type Kept, rotationOf, totalInput } from "./rotation.ts";

const limits = {
  staleMinutes: 45,
  maxTurnsPerSession: 15,
  tierTwoThresholdTokens: 195_000,
  maxClaudeCodeDispatchesPerHour: 80,
  maxClaudeCodeDispatchesPer5h: 180,
};
const kept: Kept = { session: "s", turns: 1, at: 1_000_000, input: 10 };
const reason = (changes: Partial<Kept>, after = 0) => rotationOf({ ...kept, ...changes }, kept.at + after, limits)?.reason;

it("SES-01 SES-02 idle time and tokens must exceed their limit, turns only reach it", () => {
  expect([reason({}, 45 * 60_000), reason({}, 45 * 60_000 + 1)]).toEqual([undefined, "idle"]);
  expect([reason({ turns: 14 }), reason({ turns: 15 })]).toEqual([undefined, "turns"]);
  expect([reason({ input: 195_000 }), reason({ input: 195_001 })]).toEqual([undefined, "tokens"]);
});

it("SES-02 a clock that was set back makes no session idle", () => {
  expect(reason({}, -3_600_000)).toBeUndefined();
});

it("SES-03 what the engine wrote does not count, and an absent count is none", () => {
  expect(totalInput({ input: 90_000, output: 50_000, cacheRead: 60_000, cacheCreate: 30_001 })).toBe(180_001);
  expect(totalInput({ input: 5, output: 50_000 })).toBe(5);
});
