import fc from "fast-check";
import { expect, it } from "vitest";
import { differenceFrom, differingLines } from "./line-difference.ts";

it("shows the lines that differ, with their numbers", () => {
  expect(differenceFrom("{\n  1\n  2\n  3\n}", "{\n  1\n  two\n  3\n  4\n}")).toBe("-    3    2\n+    3    two\n+    5    4");
  expect(differenceFrom("same", "same")).toBe("");
});

it("lines taken away and added lead from one text to the other", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((list) => list.join("\n"));
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const differing = differingLines(before, after);
      const away = new Set(differing.filter(({ sign }) => sign === "-").map(({ number }) => number));
      const added = new Set(differing.filter(({ sign }) => sign === "+").map(({ number }) => number));
      const kept = (text: string, without: Set<number>) => text.split("\n").filter((_, index) => !without.has(index + 1));
      expect(kept(before, away)).toEqual(kept(after, added));
    }),
  );
});
