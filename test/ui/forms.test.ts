import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { overlap, pathText, readPath, same, valueAt, withValue } from "../../plugins/features/dashboard/ui/forms/form-path.ts";
import { branchesOf, branchOf, emptyOf, helpOf, kindOf, labelOf } from "../../plugins/features/dashboard/ui/forms/schema-kinds.ts";
import { changesBetween, editsOf, mergeChanges } from "../../plugins/features/dashboard/ui/forms/setting-edits.ts";

const key = fc.constantFrom("a", "b", "name", "forge.a", "0");
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.constantFrom("x", "y", ""), fc.boolean(), fc.array(tie("value"), { maxLength: 4 }), tie("fields")),
  fields: fc.dictionary(key, tie("value"), { maxKeys: 4 }),
}));

describe("edits of a form", () => {
  it("made one after the other give what the form holds, whatever both are", () => {
    fc.assert(
      fc.property(json.fields, json.fields, (before, after) => {
        const made = changesBetween(before, after).reduce<unknown>((value, change) => withValue(value, change.path, change.after), before);
        expect(same(made, after)).toBe(true);
      }),
    );
  });

  it("touch no credential that stands beside what changed", () => {
    const list = [
      { id: "a", secret: "***" },
      { id: "b", secret: "***", on: true },
    ];
    expect(changesBetween({ list }, { list: [list[1]] }).map(({ path, after }) => [pathText(path), after])).toEqual([["list[0]", undefined]]);
    expect(changesBetween({ list }, { list: [...list, { id: "c" }] }).map(({ path }) => pathText(path))).toEqual(["list[2]"]);
    expect(changesBetween({ list }, { list: [list[0], { ...list[1], on: false }] }).map(({ path }) => pathText(path))).toEqual(["list[1].on"]);
  });

  it("name a variable only where the person said so", () => {
    const changes = changesBetween({}, { a: "${HOME}", b: "${PATH}" });
    expect(editsOf(changes, new Set(["a"]))).toEqual([
      { path: ["a"], value: "${HOME}", reference: true },
      { path: ["b"], value: "${PATH}" },
    ]);
  });

  it("paths are written and read back", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ minLength: 1 }), fc.nat(9)), { minLength: 1 }), (path) => {
        expect(readPath(pathText(path))).toEqual(path);
      }),
    );
  });
});

describe("two people at one file", () => {
  it("keys that only one of them changed are merged", () => {
    const base = { a: { x: 1, y: 1 }, b: [1] };
    const merged = mergeChanges(base, { ...base, a: { x: 2, y: 1 } }, { ...base, a: { x: 1, y: 3 }, c: "new" });
    expect(merged).toMatchObject({ value: { a: { x: 2, y: 3 }, b: [1], c: "new" }, conflicts: [] });
  });

  it("a key that both changed is a conflict with all three values, and theirs stands meanwhile", () => {
    const merged = mergeChanges({ a: 1, l: [1, 2] }, { a: 2, l: [1, 2, 3] }, { a: 3, l: [1] });
    expect(merged.value).toEqual({ a: 3, l: [1] });
    expect(merged.conflicts).toContainEqual({ path: ["a"], base: 1, yours: 2, theirs: 3 });
  });

  it("nothing is lost: each change is in the result, or in a conflict, or was made by both", () => {
    fc.assert(
      fc.property(json.fields, json.fields, json.fields, (base, yours, theirs) => {
        const { value, conflicts } = mergeChanges(base, yours, theirs);
        for (const { path, after } of changesBetween(base, yours)) {
          const kept = same(valueAt(value, path), after);
          const told = conflicts.some(
            (conflict) => conflict.path.every((part, at) => part === path[at]) || path.every((part, at) => part === conflict.path[at]),
          );
          const both = changesBetween(base, theirs).some((other) => overlap(other.path, path));
          expect(kept || told || both).toBe(true);
        }
      }),
    );
  });
});

describe("controls of a schema", () => {
  it("each kind of value has one", () => {
    expect(kindOf({ type: "string", secret: true })).toBe("secret");
    expect(kindOf({ type: "string", enum: ["a"] })).toBe("enum");
    expect(kindOf({ type: "integer" })).toBe("number");
    expect(kindOf({ type: "array", items: { type: "string" } })).toBe("list");
    expect(kindOf({ type: "object", additionalProperties: { type: "string" } })).toBe("map");
    expect(kindOf({ type: "object", properties: { a: {} } })).toBe("object");
    expect(kindOf({ type: "string" }, "systemPrompt")).toBe("long-text");
    expect(kindOf({ type: ["string", "array"], items: { type: "string" } })).toBe("union");
    expect(kindOf({})).toBe("raw");
  });

  it("branches are told apart by their tag, else by their type", () => {
    const tagged = branchesOf({ oneOf: ["x", "y"].map((type) => ({ type: "object" as const, required: ["type"], properties: { type: { const: type } } })) });
    expect(tagged.map(({ label }) => label)).toEqual(["x", "y"]);
    expect(branchOf(tagged, { type: "y" })).toBe(1);
    expect(emptyOf(tagged[1]?.schema ?? {})).toEqual({ type: "y" });
    const typed = branchesOf({ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] });
    expect([branchOf(typed, "a"), branchOf(typed, ["a"])]).toEqual([0, 1]);
  });

  it("labels and help are words", () => {
    expect(labelOf("maxExecutionMinutes")).toBe("Max execution minutes");
    expect(helpOf({ description: "minutes of a run", minimum: 1, maximum: 240, default: 20 })).toBe("Minutes of a run. 1 to 240. Default 20.");
  });
});
