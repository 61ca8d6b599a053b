import { expect, it } from "vitest";
import { FAILURES, tierFailure, traitsOf } from "./failure.ts";
import { recentHistory, turnText } from "./tier.ts";

const said = (role: "user" | "assistant", text: string) => ({ role, text });

it("turnText joins the layers by priority, then the prompt, and leaves nothing behind for an empty one", () => {
  const layer = (priority: number, text: string) => ({ name: text, priority, text });
  expect(turnText({ layers: [layer(7, "c"), layer(1, "a"), layer(4.7, ""), layer(4, "b")], prompt: "now" })).toBe("a\n\nb\n\nc\n\nnow");
});

it("CTX-09 recentHistory keeps the newest messages within 6000 tokens, from a user's on", () => {
  const short = [said("user", "one"), said("assistant", "two")];
  expect(recentHistory(short)).toEqual(short);
  const long = Array.from({ length: 20 }, (_, n) => said(n % 2 === 0 ? "user" : "assistant", `${n}`.padEnd(2_000, ".")));
  expect(recentHistory(long)).toEqual(long.slice(10));
  expect(recentHistory(long.slice(0, 12))).toEqual(long.slice(0, 12));
  expect(recentHistory([...long, said("user", "last")])).toEqual([...long.slice(10), said("user", "last")]);
  expect(recentHistory([said("user", "x".repeat(24_001)), said("assistant", "alone")])).toEqual([]);
  expect(recentHistory(long, 0.25).length).toBeGreaterThan(0);
  expect(recentHistory(short, 0)).toEqual([]);
});

it("ENG-10 recentHistory begins with the same message for many turns in a row, and then moves on by a quarter of the cap", () => {
  const long = Array.from({ length: 200 }, (_, n) => said(n % 2 === 0 ? "user" : "assistant", `${n}`.padEnd(500, ".")));
  const firsts = Array.from({ length: 100 }, (_, turn) => Number.parseInt(recentHistory(long.slice(0, 2 * turn + 2))[0]?.text ?? "", 10));
  const starts = [...new Set(firsts)];
  expect(starts).toEqual(starts.map((_, step) => 12 * step));
  for (let turn = 0; turn < 100; turn += 1) {
    const size = recentHistory(long.slice(0, 2 * turn + 2)).reduce((sum, { text }) => sum + text.length, 0);
    expect(size).toBeLessThanOrEqual(24_000);
    if (turn > 30) expect(size).toBeGreaterThan(17_000);
  }
});

it("ENG-13 a failure means what its own flags say, else what its kind says", () => {
  expect(traitsOf(tierFailure("overloaded", "later"))).toEqual({ retryable: true, sessionLost: false });
  expect(traitsOf(tierFailure("context", "too long"))).toEqual({ retryable: false, sessionLost: true });
  expect(traitsOf(tierFailure("context", "too long", { sessionLost: false }))).toEqual({ retryable: false, sessionLost: false });
  expect(traitsOf({ kind: "a kind of its own", retryable: true })).toEqual({ retryable: true, sessionLost: false });
  expect(traitsOf({ kind: "toString" })).toEqual({ retryable: false, sessionLost: false });
  expect(Object.keys(FAILURES)).toContain("session");
});
