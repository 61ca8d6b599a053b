import type { Message, Target } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { createLoopGuard } from "../core/flow/loop-guard.ts";
import { backoffMs, createPace } from "./pace.ts";
import { lengthIn } from "./parts.ts";

const to = (chat: string, account = "main"): Target => ({ channel: "acme", account, chat });

describe("pace", () => {
  it("FAULT-32 never shortens the time the platform named, and spreads it by a fifth at most", () => {
    for (const random of [0, 0.5, 0.999]) {
      const pace = createPace(
        () => 1_000,
        () => random,
      );
      pace.refused(to("a"), 10_000);
      expect(pace.wait(to("a"))).toBeGreaterThanOrEqual(10_000);
      expect(pace.wait(to("a"))).toBeLessThanOrEqual(12_000);
      expect(pace.wait(to("b"))).toBe(0);
    }
  });

  it("FAULT-32 another account of the same channel is not held back", () => {
    const pace = createPace(
      () => 0,
      () => 0,
    );
    pace.refused(to("a"), 10_000);
    pace.refused(to("b"), 5_000);
    expect(pace.wait(to("c"))).toBe(5_000);
    expect(pace.wait(to("c", "second"))).toBe(0);
  });

  it("FAULT-32 a platform that names no time at all again and again is asked less and less often", () => {
    let clock = 0;
    const pace = createPace(
      () => clock,
      () => 0,
    );
    const waits = [0, 1, 0, 0].map((named) => {
      pace.refused(to("a"), named);
      const wait = pace.wait(to("a"));
      clock += wait;
      return wait;
    });
    expect(waits).toEqual([0, 1_000, 2_000, 4_000]);
    // A short time that a channel names, such as for an earlier message of the thread, is the time, however often.
    pace.refused(to("a"), 200);
    expect(pace.wait(to("a"))).toBe(200);
    pace.passed(to("a"), 0);
    pace.refused(to("a"), 300);
    expect(pace.wait(to("a"))).toBe(300);
  });

  it("FAULT-32 a time beyond a day counts as a day: the daemon is not restarted for a conversation", () => {
    for (const named of [1e12, 1e300, Number.POSITIVE_INFINITY]) {
      const pace = createPace(
        () => 0,
        () => 0,
      );
      pace.refused(to("a"), named);
      expect(pace.wait(to("a"))).toBe(86_400_000);
    }
  });

  it("FAULT-33 the pause doubles where the platform names none, up to five minutes", () => {
    expect([0, 1, 2, 3].map((tries) => backoffMs(tries, () => 0))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(backoffMs(500, () => 1)).toBe(360_000);
  });

  it("a success ends the doubling but not a pause that still runs", () => {
    let clock = 0;
    const pace = createPace(
      () => clock,
      () => 0,
    );
    pace.refused(to("a"), undefined);
    pace.refused(to("a"), undefined);
    pace.passed(to("a"), 0);
    expect(pace.wait(to("a"))).toBe(2_000);
    clock = 2_000;
    pace.refused(to("a"), undefined);
    expect(pace.wait(to("a"))).toBe(1_000);
  });
});

describe("loop guard", () => {
  const from = (id: string, bot = true): Message => ({ entry: "channel", channel: "acme", chat: "g", text: "hi", sender: { id, bot } });

  it("stops a bot that talks with an agent too much, whatever is said in between", () => {
    let clock = 0;
    const guard = createLoopGuard({ limit: 3, windowMs: 1_000, now: () => clock });
    for (let n = 0; n < 3; n += 1) {
      expect(guard(from("bot7"), "anna")).toBeUndefined();
      expect(guard(from("person", false), "anna")).toBeUndefined();
    }
    expect(guard(from("bot7"), "anna")).toMatchObject({ reject: expect.stringContaining("bot loop") });
    expect(guard(from("bot8"), "anna")).toBeUndefined();
    expect(guard(from("bot7"), "ben")).toBeUndefined();
    clock = 1_001;
    expect(guard(from("bot7"), "anna")).toBeUndefined();
  });

  it("FAULT-19 does not count what came before the clock was set back", () => {
    let clock = 86_400_000;
    const guard = createLoopGuard({ limit: 3, windowMs: 1_000, now: () => clock });
    for (let n = 0; n < 3; n += 1) expect(guard(from("bot7"), "anna")).toBeUndefined();
    clock = 0;
    expect(guard(from("bot7"), "anna")).toBeUndefined();
  });

  it("never stops a person", () => {
    const guard = createLoopGuard({ limit: 1 });
    for (let n = 0; n < 50; n += 1) expect(guard(from("p", false), "anna")).toBeUndefined();
  });
});

it("lengths are counted as the platform counts them", () => {
  expect((["codepoint", "utf16", "utf8"] as const).map((unit) => lengthIn(unit, "é👍"))).toEqual([2, 3, 6]);
});
