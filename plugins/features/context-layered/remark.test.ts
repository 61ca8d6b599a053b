import { expect, it } from "vitest";
import { createRemark } from "./remark.ts";

it("OPR-M1 a large context is told once an hour for each agent, with its name and how many there were", () => {
  const lines: unknown[] = [];
  const quiet = () => {};
  const log = { debug: quiet, warn: quiet, error: quiet, info: (facts: unknown) => lines.push(facts) };
  let now = 0;
  const remark = createRemark(log, 16_000, () => now);
  for (let turn = 0; turn < 183; turn += 1) remark("ada", 16_001 + turn);
  remark("bob", 20_000);
  expect(lines).toEqual([expect.objectContaining({ agent: "ada", turns: 1 }), expect.objectContaining({ agent: "bob", turns: 1 })]);
  now = 3_600_000;
  remark("ada", 17_000);
  expect(lines.at(-1)).toEqual({ agent: "ada", turns: 183, characters: 17_000, limit: 16_000 });
});
