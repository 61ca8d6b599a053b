import { expect, it } from "vitest";
import type { FormField } from "../engine/types.ts";
import { buttonField, judgeForm, readField } from "./form.ts";

const FIELDS: readonly FormField[] = [
  { name: "title", kind: "text", required: true, minLength: 2, maxLength: 8, pattern: "^[a-z]+$" },
  { name: "body", kind: "long-text" },
  { name: "count", kind: "number", min: 1, max: 9, integer: true },
  { name: "ok", kind: "boolean" },
  { name: "colour", kind: "select", options: ["red", { value: "blue", label: "Deep blue" }] },
  { name: "tags", kind: "multi-select", options: ["a", "b", "c"], min: 1, max: 2 },
  { name: "day", kind: "date", min: "2026-01-01", max: "2026-12-31" },
];

/** The field and code of the refusal, or what was taken. */
const judge = (values: Record<string, unknown>, fields = FIELDS) => {
  try {
    return judgeForm(fields, values);
  } catch (error) {
    const { status, field, code } = error as { status: number; field: string; code: string };
    expect(status).toBe(400);
    return `${field}: ${code}`;
  }
};

it("WF-08 takes a whole form of all seven kinds", () => {
  const values = { title: "abc", body: "two\nlines", count: 9, ok: false, colour: "blue", tags: ["c", "a"], day: "2026-02-28" };
  expect(judge(values)).toEqual(values);
});

it.each<[string, Record<string, unknown>, string]>([
  ["nothing", {}, "title: required"],
  ["an empty text", { title: "" }, "title: required"],
  ["null", { title: null }, "title: required"],
  ["a number as text", { title: 7 }, "title: type"],
  ["a line break in a text", { title: "ab\ncd" }, "title: type"],
  ["a line separator in a text", { title: "ab\u2028cd" }, "title: type"],
  ["a short text", { title: "a" }, "title: range"],
  ["a long text", { title: "abcdefghi" }, "title: range"],
  ["text of another pattern", { title: "ABC" }, "title: pattern"],
  ["a long text over its limit", { title: "abc", body: "x".repeat(20_001) }, "body: range"],
  ["NaN", { title: "abc", count: Number.NaN }, "count: type"],
  ["infinity", { title: "abc", count: Number.POSITIVE_INFINITY }, "count: type"],
  ["a number in text", { title: "abc", count: "3" }, "count: type"],
  ["half a number", { title: "abc", count: 1.5 }, "count: type"],
  ["a small number", { title: "abc", count: 0 }, "count: range"],
  ["a large number", { title: "abc", count: 10 }, "count: range"],
  ["a yes in text", { title: "abc", ok: "true" }, "ok: type"],
  ["a colour that is not offered", { title: "abc", colour: "green" }, "colour: option"],
  ["an option's label", { title: "abc", colour: "Deep blue" }, "colour: option"],
  ["a name of the language", { title: "abc", colour: "constructor" }, "colour: option"],
  ["a list for one option", { title: "abc", colour: ["red"] }, "colour: type"],
  ["one option for a list", { title: "abc", tags: "a" }, "tags: type"],
  ["a foreign option in a list", { title: "abc", tags: ["a", "z"] }, "tags: option"],
  ["an option twice", { title: "abc", tags: ["a", "a"] }, "tags: option"],
  ["too few options", { title: "abc", tags: [] }, "tags: range"],
  ["too many options", { title: "abc", tags: ["a", "b", "c"] }, "tags: range"],
  ["a day that is none", { title: "abc", day: "2026-02-30" }, "day: date"],
  ["a time", { title: "abc", day: "2026-02-03T00:00:00Z" }, "day: date"],
  ["a day too early", { title: "abc", day: "2025-12-31" }, "day: range"],
  ["a day too late", { title: "abc", day: "2027-01-01" }, "day: range"],
  ["a field that the form has not", { title: "abc", other: 1 }, "other: unknown"],
  ["the prototype", JSON.parse('{"title":"abc","__proto__":{"x":1}}'), "__proto__: unknown"],
  ["two mistakes: the first in the form's order counts", { zz: 1, day: "x", count: "y", title: "abc" }, "count: type"],
])("WF-08 refuses %s and names the field", (_name, values, refusal) => {
  expect(judge(values)).toBe(refusal);
});

it("fills in defaults, judges them too, and leaves out what was not given", () => {
  const fields: readonly FormField[] = [
    { name: "n", kind: "number", default: 3, required: true },
    { name: "t", kind: "text" },
  ];
  expect(judge({ t: "" }, fields)).toEqual({ n: 3 });
  expect(judge({ n: 0 }, fields)).toEqual({ n: 0 });
  expect(judge({}, [{ name: "n", kind: "number", default: "x" }])).toBe("n: type");
  expect(judge({ ok: false }, [{ name: "ok", kind: "boolean", required: true }])).toEqual({ ok: false });
  expect(judge({ tags: [] }, [{ name: "tags", kind: "multi-select", options: ["a"], required: true }])).toBe("tags: required");
});

it("a pattern that costs other engines hours ends at once, one that cannot be read refuses by name", () => {
  const evil: readonly FormField[] = [{ name: "t", kind: "long-text", pattern: "^(a+)+$" }];
  expect(judge({ t: `${"a".repeat(15_000)}!` }, evil)).toBe("t: pattern");
  expect(judge({ t: "x" }, [{ name: "t", kind: "text", pattern: "(?=x)" }])).toBe("t: pattern");
});

it("reads what people type on a command line and in a chat", () => {
  const field = (name: string) => FIELDS.find((one) => one.name === name) as FormField;
  expect(["7", " -1.5e3 ", "NaN", "0x10", "1,000", ""].map((text) => readField(field("count"), text))).toEqual([7, -1500, "NaN", "0x10", "1,000", ""]);
  expect(["yes", "FALSE", "maybe"].map((text) => readField(field("ok"), text))).toEqual([true, false, "maybe"]);
  expect(["a", "a, b", ""].map((text) => readField(field("tags"), text))).toEqual([["a"], ["a", "b"], []]);
  expect(readField(field("title"), " a ")).toBe(" a ");
});

it("asks with buttons where one select alone must be given", () => {
  const decision: FormField = { name: "decision", kind: "select", options: ["approve", "reject"], required: true };
  expect(buttonField([decision, { name: "comment", kind: "long-text" }])).toBe(decision);
  expect(buttonField([decision, { name: "why", kind: "text", required: true }])).toBeUndefined();
  expect(buttonField([decision, { name: "why", kind: "text", required: true, default: "none" }])).toBe(decision);
  expect(buttonField([{ ...decision, options: ["1", "2", "3", "4", "5", "6", "7", "8"] }])).toBeUndefined();
  expect(buttonField([])).toBeUndefined();
});
