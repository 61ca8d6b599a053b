import { expect, it } from "vitest";
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
