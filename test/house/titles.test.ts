import { describe, expect, it } from "vitest";
import { idsOf, titles, titlesIn } from "./titles.ts";

describe("the tests by their titles", () => {
  const all = titles();
  const rules = idsOf("rules");
  const faults = idsOf("faults");

  it("the lists are whole: 211 rules and 75 faults, each once", () => {
    expect([rules.length, faults.length]).toEqual([211, 75]);
    expect(new Set([...rules, ...faults]).size).toBe(286);
  });

  it.each([
    ["rule", rules],
    ["fault", faults],
  ])("each %s has a test that names it and asserts something", (_what, ids) => {
    const proven = new Set(all.filter(({ asserts }) => asserts).flatMap((title) => title.ids));
    expect(ids.filter((id) => !proven.has(id))).toEqual([]);
  });

  it("no title names a rule or fault that does not exist", () => {
    const known = new Set([...rules, ...faults]);
    const prefixes = new Set([...known].map((id) => id.split("-")[0]));
    const strange = all.flatMap(({ file, ids }) => ids.filter((id) => prefixes.has(id.split("-")[0]) && !known.has(id)).map((id) => `${file}: ${id}`));
    expect(strange).toEqual([]);
  });

  it("a title counts only where a test runs: not in a comment, not when it is skipped, not with an empty body", () => {
    const source = `// RUN-01 is proven below
      it.skip("RUN-02 later", () => expect(1).toBe(1));
      it.todo("RUN-03 later");
      it("RUN-04 nothing", () => {});
      it.skipIf(lacks("x", f(1)))(\`RUN-05 FAULT-07 \${n} kills\`, () => expect(n).toBe(1));
      describe.each(versions)("RUN-06 %s", () => it("works", () => expect(1).toBe(1)));`;
    const found = titlesIn("a.test.ts", source);
    expect(found.flatMap(({ ids }) => ids)).toEqual(["RUN-04", "RUN-05", "FAULT-07", "RUN-06"]);
    expect(found.filter(({ asserts }) => asserts).flatMap(({ ids }) => ids)).toEqual(["RUN-05", "FAULT-07", "RUN-06"]);
  });
});
