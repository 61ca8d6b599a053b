import type { Schema } from "@svc/sdk";
import { type Fields, isFields, same } from "./form-path.ts";

/** The control that a schema gets. `raw`: none fits, it is edited as text. */
export type FieldKind = "text" | "long-text" | "number" | "boolean" | "enum" | "secret" | "list" | "map" | "object" | "union" | "raw";

/** One of the forms that a value may take. */
export interface Branch {
  readonly label: string;
  readonly schema: Schema;
  /** The key that tells the branches apart, and its value here. */
  readonly tag?: readonly [key: string, value: unknown];
}

const LONG = /prompt|description|instructions|summary$|^text$|code|script/i;

/** Returns the kind of control of a schema; `key` distinguishes long texts from short ones. */
export function kindOf(schema: Schema, key = ""): FieldKind {
  if (schema.secret === true) return "secret";
  if (schema.enum !== undefined || schema.const !== undefined) return "enum";
  if (branchesOf(schema).length > 1) return "union";
  const type = typeOf(schema);
  if (type === "string") {
    if ((schema as { readonly multiline?: boolean }).multiline === true) return "long-text";
    return LONG.test(key) && schema.format === undefined && schema.pattern === undefined ? "long-text" : "text";
  }
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array") return schema.items === undefined ? "raw" : "list";
  if (type !== "object") return "raw";
  const named = Object.keys(schema.properties ?? {}).length > 0;
  if (named) return "object";
  return isFields(schema.additionalProperties) ? "map" : "raw";
}

/** The one type of a schema, `null` aside; undefined where there are several or none. */
export function typeOf(schema: Schema): string | undefined {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length === 1) return types[0];
  if (types.length === 0 && schema.properties !== undefined) return "object";
  return types.length === 0 && schema.items !== undefined ? "array" : undefined;
}

/** The forms that a value may take: those of `oneOf` or `anyOf`, or one for each type. One that is always the same has none. */
export function branchesOf(schema: Schema): readonly Branch[] {
  const given = schema.oneOf ?? schema.anyOf;
  if (given === undefined) {
    const types = [schema.type ?? []].flat().filter((type) => type !== "null");
    if (types.length < 2) return [];
    return types.map((type) => ({ label: TYPE_LABELS[type] ?? type, schema: { ...schema, type: type as "string" } }));
  }
  const inner = given.filter((one) => one.type !== "null");
  const shared = { ...(schema.properties === undefined ? {} : { properties: schema.properties }), ...(schema.type === undefined ? {} : { type: schema.type }) };
  // Branches that only say which keys are needed together are no choice of a form.
  if (!inner.every((one) => one.type !== undefined || one.properties !== undefined || one.enum !== undefined || one.const !== undefined || one.items))
    return [];
  const tagged = tagOf(inner);
  return inner.map((one, at) => {
    const whole: Schema = { ...shared, ...one, properties: { ...shared.properties, ...one.properties } };
    const branch = one.properties === undefined && schema.properties === undefined ? one : whole;
    const value = tagged === undefined ? undefined : constantOf(one.properties?.[tagged]);
    if (tagged !== undefined) return { label: String(value), schema: branch, tag: [tagged, value] as const };
    return { label: titleOf(one) ?? TYPE_LABELS[typeOf(one) ?? ""] ?? `${at + 1}`, schema: branch };
  });
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "on or off",
  array: "a list",
  object: "several fields",
};

const titleOf = (schema: Schema): string | undefined => (schema as { title?: string }).title;

/** The key whose one value differs in each of the branches. */
function tagOf(branches: readonly Schema[]): string | undefined {
  const [first] = branches;
  return Object.keys(first?.properties ?? {}).find((key) => {
    const values = branches.map(({ properties }) => constantOf(properties?.[key]));
    return values.every((value) => value !== undefined) && new Set(values).size === values.length;
  });
}

const constantOf = (schema: Schema | undefined): unknown => schema?.const ?? (schema?.enum?.length === 1 ? schema.enum[0] : undefined);

/** Returns the branch of a value: by its tag, else by its type; the first one if neither decides. */
export function branchOf(branches: readonly Branch[], value: unknown): number {
  const tagged = branches.findIndex(({ tag }) => tag !== undefined && isFields(value) && value[tag[0]] === tag[1]);
  if (tagged !== -1 || branches[0]?.tag !== undefined) return Math.max(tagged, 0);
  return Math.max(
    branches.findIndex(({ schema }) => fits(schema, value)),
    0,
  );
}

function fits(schema: Schema, value: unknown): boolean {
  if (value === undefined) return false;
  if (schema.enum !== undefined) return schema.enum.some((one) => same(one, value));
  const type = typeOf(schema);
  if (type === "array") return Array.isArray(value);
  if (type === "object")
    return isFields(value) && Object.keys(value).every((key) => schema.properties?.[key] !== undefined || schema.additionalProperties !== false);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** A value to begin with, when a list or a map gets an entry or a branch is chosen. */
export function emptyOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  const tag = constantOf(schema);
  if (tag !== undefined) return tag;
  const [branch] = branchesOf(schema);
  if (branch !== undefined) return emptyOf(branch.schema);
  const type = typeOf(schema);
  if (type === "object") {
    const needed = (schema.required ?? []).flatMap((key) => (schema.properties?.[key] === undefined ? [] : [[key, emptyOf(schema.properties[key])]]));
    return Object.fromEntries(needed) as Fields;
  }
  if (type === "array") return [];
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return schema.minimum ?? 0;
  return schema.enum?.[0] ?? "";
}

/** A key as people read it: `maxExecutionMinutes` is "Max execution minutes". */
export function labelOf(key: string, schema: Schema = {}): string {
  const title = titleOf(schema);
  if (title !== undefined) return title;
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim();
  return words === "" ? key : words.charAt(0).toUpperCase() + words.slice(1).replace(/\b([A-Z])(?=[a-z])/g, (letter) => letter.toLowerCase());
}

/** The range of a schema as a phrase; empty where it has none. */
export function rangeOf(schema: Schema): string {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } = schema;
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : `more than ${exclusiveMinimum}`);
  if (least !== undefined && maximum !== undefined) return `${least} to ${maximum}`;
  if (least !== undefined) return typeof least === "number" ? `at least ${least}` : least;
  if (maximum !== undefined) return `at most ${maximum}`;
  if (maxLength !== undefined) return `at most ${maxLength} characters`;
  if (minLength !== undefined && minLength > 1) return `at least ${minLength} characters`;
  if (minItems !== undefined && minItems > 0) return `at least ${minItems} ${minItems === 1 ? "entry" : "entries"}`;
  return maxItems === undefined ? "" : `at most ${maxItems} entries`;
}

/** A default as people read it. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === "" || value === null) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(shownValue).join(", ");
  return isFields(value) ? (Object.keys(value).length === 0 ? "none" : JSON.stringify(value)) : String(value);
}

/** Returns the help below a control: the schema's description, range and default. */
export function helpOf(schema: Schema): string {
  const { description = "" } = schema;
  const words = description === "" ? "" : `${description.charAt(0).toUpperCase()}${description.slice(1).replace(/\.$/, "")}.`;
  const range = rangeOf(schema);
  const waits = schema.restart === true ? "A change waits for a restart." : "";
  const unread = schema.unread === true ? "It is checked and kept; this version does not read it." : "";
  const usual = schema.default === undefined || isFields(schema.default) ? "" : `Default ${shownValue(schema.default)}.`;
  return [words, range === "" ? "" : `${range.charAt(0).toUpperCase()}${range.slice(1)}.`, usual, waits, unread].filter(Boolean).join(" ");
}

/** The default in an empty field. */
export const hintOf = (usual: unknown): string | undefined => (usual === undefined || usual === "" || typeof usual === "object" ? undefined : String(usual));
