import { expect, it } from "vitest";
import { type Input, parseShorthand, schemaOf, typedValues, withDefaults } from "./inputs.ts";

const code = (wanted: string, words: string) => expect.objectContaining({ code: wanted, message: expect.stringContaining(words) });
const inputs: Input[] = [
  { name: "city", type: "string", required: true },
  { name: "days", type: "number", required: true, defaultValue: 3 },
  { name: "rain", type: "boolean", required: false },
];

it("ACT-09 reads the shorthand city:string!,n:number", () => {
  expect(parseShorthand("city:string!,n:number")).toEqual([
    { name: "city", type: "string", required: true },
    { name: "n", type: "number", required: false },
  ]);
  expect(parseShorthand(" a , b ! , c : boolean ! ")).toEqual([
    { name: "a", type: "string", required: false },
    { name: "b", type: "string", required: true },
    { name: "c", type: "boolean", required: true },
  ]);
  expect(parseShorthand("")).toEqual([]);
});

it.each(["a:text", "a b", "1a", "a:string?", "a,,b", "a:", "__pro to__"])("ACT-09 refuses the shorthand %j", (shorthand) => {
  expect(() => parseShorthand(shorthand)).toThrow(code("SVC_OPERATOR_ACTION_INVALID", "name:type"));
});

it("ACT-09 refuses a missing required input, which a default satisfies", () => {
  expect(() => typedValues(inputs, {})).toThrow(code("SVC_ACTION_INPUT", "'city' is required"));
  const values = typedValues(inputs, { city: "Ulm" });
  expect(values).toEqual({ city: "Ulm" });
  expect([...withDefaults(inputs, values)]).toEqual([
    ["city", "Ulm"],
    ["days", 3],
  ]);
});

it.each([
  ["days", "5", 5],
  ["days", " -1.5e3 ", -1500],
  ["days", 0, 0],
  ["rain", "false", false],
  ["rain", "true", true],
  ["rain", true, true],
  ["city", "5", "5"],
])("ACT-09 takes %s=%j as %j", (name, given, value) => {
  expect(typedValues(inputs, { city: "Ulm", [name]: given })[name]).toBe(value);
});

it.each([
  ["days", "abc"],
  ["days", ""],
  ["days", "0x10"],
  ["days", "Infinity"],
  ["days", Number.NaN],
  ["days", true],
  ["rain", "yes"],
  ["rain", 1],
  ["city", 5],
  ["city", null],
  ["city", "a\0b"],
  ["city", "half \ud83d"],
  ["city", "x".repeat(100_001)],
  ["other", 1],
  ["__proto__", "x"],
])("ACT-09 refuses %s=%j", (name, given) => {
  const body = JSON.parse(JSON.stringify({ city: "Ulm" }));
  Object.defineProperty(body, name, { value: given, enumerable: true });
  expect(() => typedValues(inputs, body)).toThrow(code("SVC_ACTION_INPUT", `'${name}'`));
});

it("describes the inputs as a closed schema for agents", () => {
  expect(schemaOf(inputs)).toMatchObject({
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number", default: 3 }, rain: { type: "boolean" } },
    required: ["city"],
    additionalProperties: false,
  });
});
