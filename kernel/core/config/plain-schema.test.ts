import type { Schema } from "@svc/sdk";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeSchema } from "./compose.ts";
import { type Formats, plainCheck } from "./plain-schema.ts";
import { closed } from "./schema-at.ts";
import { FORMATS } from "./validator.ts";

const formats: Formats = { url: (text) => text.startsWith("https://"), regex: () => true, uri: () => true, timezone: () => true };

const referee = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true, useDefaults: true, ownProperties: true, formats: { ...formats } });
referee.addKeyword({ keyword: "secret", schemaType: "boolean" });
referee.addKeyword({ keyword: "restart", schemaType: "boolean" });

const words = fc.constantFrom("a", "b", "ab", "", "https://x", "abcdef", "ß👍");
const numbers = fc.constantFrom(-1, 0, 1, 1.5, 10, 99);
const key = fc.constantFrom("a", "b", "constructor", "toString");
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const present = (schema: object): Schema => Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)) as Schema;

const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc
      .record({
        type: fc.constant("string"),
        minLength: some(fc.nat(3)),
        maxLength: some(fc.nat(4)),
        pattern: some(fc.constantFrom("^a", "b$", "^.$")),
        format: some(fc.constant("url")),
        default: some(words),
      })
      .map(present),
    fc.record({ type: fc.constantFrom("number", "integer"), minimum: some(numbers), exclusiveMinimum: some(numbers), maximum: some(numbers) }).map(present),
    fc.record({ type: fc.constant("string"), enum: fc.uniqueArray(words, { minLength: 1 }) }).map(present),
    fc.record({ type: fc.constant("boolean"), const: some(fc.boolean()), default: some(fc.boolean()) }).map(present),
    fc.record({ type: fc.constant(["string", "number", "null"]), minimum: some(numbers), secret: some(fc.boolean()) }).map(present),
    fc.constantFrom<Schema>({}, { description: "anything" }, { type: "null" }),
    fc.record({ type: fc.constant("array"), items: some(tie("schema")), minItems: some(fc.nat(2)), maxItems: some(fc.nat(3)) }).map(present),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc
      .record({
        type: fc.constant("object"),
        properties: some(fc.dictionary(key, tie("schema"), { maxKeys: 3 })),
        required: some(fc.uniqueArray(key, { maxLength: 2 })),
        additionalProperties: some(fc.oneof(fc.boolean(), tie("schema"))),
        propertyNames: some(fc.constantFrom<Schema>({ minLength: 1 }, { pattern: "^[ab]" })),
        default: some(fc.constant({})),
      })
      .map(present),
  ),
}));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    words,
    numbers,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
}));

function compiled(shape: Schema): ((value: unknown) => boolean) | undefined {
  try {
    return referee.compile(shape);
  } catch {
    return undefined;
  }
}

describe("plain schemas", () => {
  it("are judged as ajv judges them, defaults filled in alike; what ajv refuses as a schema is not plain", () => {
    let plain = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 3, maxLength: 6 }), (shape, values) => {
        const check = plainCheck(shape, { formats, defaults: true });
        if (check === undefined) return;
        plain += 1;
        const judge = compiled(shape);
        expect(judge, JSON.stringify(shape)).toBeDefined();
        for (const given of values) {
          const [ours, theirs] = [structuredClone(given), structuredClone(given)];
          const fits = check(ours);
          expect(fits, `${JSON.stringify(shape)} on ${JSON.stringify(given)}`).toBe(judge?.(theirs));
          if (fits) expect(ours).toEqual(theirs);
        }
      }),
      { numRuns: 400 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  it("can be read without formats and defaults", () => {
    const check = plainCheck(
      { type: "object", properties: { a: { type: "string", format: "unheard-of", default: "x" } }, additionalProperties: false },
      { defaults: false },
    );
    const value = {};
    expect([check?.(value), value, check?.({ a: "y" }), check?.({ a: 1 }), check?.({ b: 1 })]).toEqual([true, {}, true, false, false]);
  });

  it("with anything but plain keywords, or keywords without their type, are left to ajv", () => {
    for (const shape of [
      { oneOf: [{ type: "string" }] },
      { type: "array", uniqueItems: true },
      { minimum: 1 },
      { type: "string", minimum: 1 },
      { type: "string", format: "unheard-of" },
      { type: "string", pattern: "(" },
      { type: "object", default: {} },
      { type: "object", properties: { a: { anyOf: [{ type: "string", default: "x" }] } } },
      { enum: [{}] },
      { type: "strin" },
      { typ: "string" },
    ])
      expect(plainCheck(shape as Schema, { formats, defaults: true }), JSON.stringify(shape)).toBeUndefined();
  });

  it("the kernel's own schema is one, with everything that may stand in a configuration", () => {
    expect(plainCheck(closed(composeSchema({ sections: [], agentKeys: [], tiers: [] }).core), { formats: FORMATS, defaults: true })).toBeDefined();
  });
});
