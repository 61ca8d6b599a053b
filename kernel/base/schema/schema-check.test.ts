import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Schema } from "@svc/sdk";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { plainCheck } from "./plain-check.ts";
import { keyOf } from "./prepared.ts";
import { type Reading, schemaCheck, schemaTrouble, shapeFor } from "./schema-check.ts";
import { standaloneModule } from "./standalone.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-checks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let modules = 0;
/** A file of checks as the build writes it; undefined where ajv refuses the schema. */
function prepare(schema: Schema, reading: Reading): string | undefined {
  modules += 1;
  const file = join(folder, `checks-${modules}.mjs`);
  try {
    writeFileSync(file, standaloneModule([{ schema, reading }]));
    return file;
  } catch {
    return undefined;
  }
}

const includes = (schema: Schema, reading: Reading) => standaloneModule([{ schema, reading }]).includes(keyOf(reading, shapeFor[reading](schema)));

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

describe("checks that the build compiled", () => {
  it("judge as ajv judges at run time, defaults filled in alike", () => {
    let prepared = 0;
    fc.assert(
      fc.property(schema, fc.constantFrom<Reading>("document", "body", "query"), fc.array(value, { minLength: 3, maxLength: 6 }), (shape, reading, values) => {
        const file = prepare(shape, reading);
        if (file === undefined) {
          expect(() => schemaCheck(structuredClone(shape), reading).errors(null)).toThrow();
          return;
        }
        prepared += 1;
        const ours = schemaCheck(structuredClone(shape), reading, file);
        const theirs = schemaCheck(structuredClone(shape), reading);
        for (const given of values) {
          const [one, other] = [structuredClone(given), structuredClone(given)];
          const fits = ours.fits(one);
          expect(fits, `${JSON.stringify(shape)} on ${JSON.stringify(given)}`).toBe(theirs.errors(other).length === 0);
          if (fits) expect(one).toEqual(other);
        }
      }),
      { numRuns: 300 },
    );
    expect(prepared).toBeGreaterThan(100);
  });

  it("hold every keyword of the contract", () => {
    const given: Schema = {
      type: "object",
      properties: {
        a: { type: "string", minLength: 2, maxLength: 3, pattern: "^[a-z{}\"'`👍]+$", format: "line" },
        b: {
          oneOf: [
            { type: "string", const: "x" },
            { type: "number", exclusiveMinimum: 0 },
          ],
        },
        c: { type: "array", items: { type: "string" }, uniqueItems: true, minItems: 1 },
        d: { allOf: [{ type: "integer", maximum: 5 }, { not: { const: 3 } }] },
      },
      propertyNames: { enum: ["a", "b", "c", "d"] },
      if: { required: ["a"] },
      then: { required: ["b"] },
      else: { required: ["c"] },
    };
    const ours = schemaCheck(given, "document", prepare(given, "document"));
    const fitting = [
      { a: "ab", b: "x" },
      { a: "{👍", b: 1 },
      { c: ["x", "y"], d: 4 },
    ];
    const others = [
      { a: "ab" },
      { a: "abcd", b: 1 },
      { c: [] },
      { c: ["x", "x"] },
      { c: ["x"], d: 3 },
      { c: ["x"], d: 6 },
      { a: "ab", b: 0 },
      { c: ["x"], e: 1 },
      [],
    ];
    expect(fitting.map((one) => ours.fits(one))).toEqual([true, true, true]);
    expect(others.map((one) => ours.fits(one))).toEqual(others.map(() => false));
    expect(others.map((one) => ours.errors(one).length > 0)).toEqual(others.map(() => true));
  });

  it("are found by exactly the schema that they were made of", () => {
    const before: Schema = { type: "object", properties: { a: { type: "string" } } };
    const file = prepare(before, "body");
    const after: Schema = { type: "object", properties: { a: { type: "number" } } };
    expect([schemaCheck(before, "body", file).fits({ a: "x" }), schemaCheck(after, "body", file).fits({ a: "x" })]).toEqual([true, false]);
    expect(schemaCheck({ type: "string" }, "body", join(folder, "nothing-here.js")).fits("x")).toBe(true);
  });

  it("leave out a schema that needs code of ajv's", () => {
    expect(includes({ enum: [{ a: 1 }] }, "body")).toBe(false);
    expect(includes({ enum: ["a"] }, "body")).toBe(true);
  });
});

describe("plain schemas of a document", () => {
  it("are judged without ajv as ajv judges, defaults filled in alike", () => {
    let plain = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 3, maxLength: 6 }), (shape, values) => {
        const shut = shapeFor.document(shape);
        const fits = plainCheck(shut);
        if (fits === undefined) return;
        plain += 1;
        expect(schemaTrouble(structuredClone(shape)), JSON.stringify(shape)).toBeUndefined();
        const theirs = schemaCheck(structuredClone(shape), "document");
        for (const given of values) {
          const [one, other] = [structuredClone(given), structuredClone(given)];
          const fitted = fits(one);
          expect(fitted, `${JSON.stringify(shape)} on ${JSON.stringify(given)}`).toBe(theirs.errors(other).length === 0);
          if (fitted) expect(one).toEqual(other);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(plain).toBeGreaterThan(300);
  });

  it("are none where ajv refuses them or knows a keyword that is not read here", () => {
    const left: unknown[] = [
      { type: "object", properties: { a: { minimum: 1 } } },
      { type: "string", format: "unheard-of" },
      { type: "string", format: "constructor" },
      { type: "string", pattern: "(" },
      { type: "string", minLength: "1" },
      { type: "string", secret: "yes" },
      { typ: "string" },
      { type: "strin" },
      { type: [] },
      { type: "string", enum: [] },
      { enum: [{ a: 1 }] },
      { type: "array", items: [{ type: "string" }] },
      { type: "array", uniqueItems: true },
      { type: "string", properties: {} },
      { type: "object", required: "a" },
      { type: "object", properties: { a: true } },
      { type: "string", default: "of the root" },
      { type: "object", properties: { toString: { type: "boolean", default: false } } },
      { anyOf: [{ type: "string" }] },
    ];
    expect(left.filter((schema) => plainCheck(schema as Schema) !== undefined)).toEqual([]);
  });

  it("are the ordinary section: judging one loads no ajv", () => {
    const program = `
      const { schemaCheck } = await import(${JSON.stringify(new URL("../../dist/base/schema/schema-check.js", import.meta.url).href)});
      const { createRequire } = await import("node:module");
      const { fits, errors } = schemaCheck({ type: "object", properties: { url: { type: "string", format: "url" }, tries: { type: "integer", default: 3 } } }, "document");
      const value = { url: "https://example.com" };
      const loaded = () => Object.keys(createRequire(import.meta.url).cache ?? {}).some((file) => file.includes("ajv"));
      console.log(JSON.stringify([fits(value), value.tries, loaded(), fits({ url: 1 }), loaded(), errors({ url: 1 }).length, loaded()]));`;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    expect(JSON.parse(said)).toEqual([true, 3, false, false, false, 1, true]);
  });
});

describe("a schema", () => {
  it("is read for a document with all that is wrong, for a caller with the first thing", () => {
    const schema: Schema = { type: "object", required: ["a", "b"], properties: { a: { type: "string" }, b: { type: "string" } } };
    expect([schemaCheck(schema, "document").errors({}).length, schemaCheck(schema, "body").errors({}).length]).toEqual([2, 1]);
  });

  it("is refused in a document where it names no type, no known format or no known keyword; a caller's is read more widely", () => {
    for (const schema of [
      { type: "object", properties: { a: { minimum: 1 } } },
      { type: "string", format: "unheard-of" },
      { typ: "string" },
      { type: "strin" },
    ])
      expect(schemaTrouble(schema as Schema), JSON.stringify(schema)).toBeDefined();
    expect(schemaCheck({ type: "string", format: "unheard-of" }, "body").fits("x")).toBe(true);
    expect(schemaCheck({ minimum: 1 }, "body").fits(0)).toBe(false);
  });
});
