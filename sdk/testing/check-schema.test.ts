import { expect, it } from "vitest";
import type { Schema } from "../config.ts";
import { checkSchema } from "./check-schema.ts";

const person: Schema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, pattern: "^[a-z]+$" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2 },
    extra: { type: "object", additionalProperties: { type: "number" } },
  },
  required: ["name"],
};

it("lets fitting values through", () => {
  for (const value of [{ name: "x" }, { name: "x", age: 150, tags: ["a", "b"], extra: { any: 1 } }]) expect(checkSchema(person, value)).toBeUndefined();
  expect(checkSchema({}, { any: ["thing"] })).toBeUndefined();
});

it.each<[unknown, string]>([
  [{}, "name is missing"],
  [[], "is not of type object"],
  [{ name: "" }, "shorter"],
  [{ name: "X" }, "does not match"],
  [{ name: "x", age: 1.5 }, "age is not of type integer"],
  [{ name: "x", age: 151 }, "above 150"],
  [{ name: "x", tags: ["c"] }, "tags[0] is none of"],
  [{ name: "x", tags: ["a", "a", "a"] }, "more than 2"],
  [{ name: "x", extra: { any: "1" } }, "extra.any"],
  [{ name: "x", other: 1 }, "other is not a known key"],
  [JSON.parse('{"name":"x","__proto__":1}'), "__proto__ is not a known key"],
])("refuses %j", (value, words) => {
  expect(checkSchema(person, value)).toContain(words);
});

it("knows alternatives", () => {
  const schema: Schema = { oneOf: [{ type: "string" }, { type: "number", minimum: 5 }], not: { const: "no" } };
  expect(checkSchema(schema, "yes")).toBeUndefined();
  expect(checkSchema(schema, 7)).toBeUndefined();
  expect(checkSchema(schema, 4)).toContain("exactly one");
  expect(checkSchema(schema, "no")).toContain("excluded");
});
