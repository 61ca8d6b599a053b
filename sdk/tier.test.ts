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
  expect(recentHistory(long)).toEqual(long.slice(8));
  expect(recentHistory([...long, said("user", "last")])).toEqual([...long.slice(10), said("user", "last")]);
  expect(recentHistory([said("user", "x".repeat(24_001)), said("assistant", "alone")])).toEqual([]);
});

it("ENG-13 a failure means what its own flags say, else what its kind says", () => {
  expect(traitsOf(tierFailure("overloaded", "later"))).toEqual({ retryable: true, sessionLost: false });
  expect(traitsOf(tierFailure("context", "too long"))).toEqual({ retryable: false, sessionLost: true });
  expect(traitsOf(tierFailure("context", "too long", { sessionLost: false }))).toEqual({ retryable: false, sessionLost: false });
  expect(traitsOf({ kind: "a kind of its own", retryable: true })).toEqual({ retryable: true, sessionLost: false });
  expect(traitsOf({ kind: "toString" })).toEqual({ retryable: false, sessionLost: false });
  expect(Object.keys(FAILURES)).toContain("session");
});
