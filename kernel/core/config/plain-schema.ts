import type { Schema } from "@svc/sdk";
import { isRecord } from "./path.ts";

/** The formats a schema may name, each with its test. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

/** How a schema is read. */
export interface Reading {
  /** The formats that are known, others are no plain schema; without any, a format says nothing. */
  readonly formats?: Formats;
  /** Defaults are filled in, in place. */
  readonly defaults: boolean;
}

/** Says whether a value fits. On false nothing is known but that it does not. */
export type Fits = (value: unknown) => boolean;

type Kind = NonNullable<Extract<Schema["type"], string>>;

/** Keywords by the type they speak about; under the empty name those that need none. A schema with any other is not plain. */
const KEYWORDS: Readonly<Record<string, readonly (keyof Schema)[]>> = {
  "": ["type", "description", "default", "enum", "const", "anyOf", "secret", "masked", "restart", "unread"],
  number: ["minimum", "maximum", "exclusiveMinimum"],
  string: ["minLength", "maxLength", "pattern", "format"],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "additionalProperties", "propertyNames"],
};
const TYPE_OF = new Map(Object.entries(KEYWORDS).flatMap(([type, names]) => names.map((name) => [name as string, type])));
const KINDS: ReadonlySet<string> = new Set<Kind>(["string", "number", "integer", "boolean", "object", "array", "null"]);

/**
 * The check of a schema that uses none but plain keywords, each beside its type; undefined for every other. It compiles nothing: for
 * a value that is looked at once, compiling costs a hundred times the looking.
 */
export function plainCheck(schema: Schema, reading: Reading): Fits | undefined {
  // A default of the whole has no place to be filled in.
  return schema.default === undefined && isPlain(schema, reading, undefined, true) ? (value) => fits(schema, value, reading) : undefined;
}

/** `implied`: the type that the value is known to have. `defaults`: they are filled in at this place. */
function isPlain(schema: Schema, reading: Reading, implied: Kind | undefined, defaults: boolean): boolean {
  const { type, properties, items, additionalProperties, propertyNames, anyOf, format, pattern } = schema;
  const types = type === undefined ? (implied === undefined ? [] : [implied]) : typesOf(type);
  const inner = (one: Schema | undefined) => one === undefined || isPlain(one, reading, undefined, defaults);
  return (
    types.every((one) => KINDS.has(one)) &&
    Object.keys(schema).every((keyword) => {
      const about = TYPE_OF.get(keyword);
      return about === "" || types.some((one) => one === about || (one === "integer" && about === "number"));
    }) &&
    (defaults || schema.default === undefined) &&
    [schema.enum ?? [null], [schema.const]].every((values) => values.length > 0 && values.every((value) => typeof value !== "object" || value === null)) &&
    (format === undefined || reading.formats === undefined || Object.hasOwn(reading.formats, format)) &&
    (pattern === undefined || expression(pattern) !== undefined) &&
    // Every object inherits something of these names; what ajv makes of that is its own.
    [...Object.keys(properties ?? {}), ...(schema.required ?? [])].every((name) => !(name in Object.prototype)) &&
    inner(items) &&
    (typeof additionalProperties !== "object" || inner(additionalProperties)) &&
    Object.values(properties ?? {}).every(inner) &&
    (propertyNames === undefined || isPlain(propertyNames, reading, "string", false)) &&
    (anyOf === undefined || (anyOf.length > 0 && anyOf.every((one) => isPlain(one, reading, undefined, false))))
  );
}

function fits(schema: Schema, value: unknown, reading: Reading): boolean {
  const { type, anyOf } = schema;
  if (type !== undefined && !typesOf(type).some((one) => isOf(one, value))) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (schema.const !== undefined && schema.const !== value) return false;
  if (typeof value === "number" && !inRange(schema, value)) return false;
  if (typeof value === "string" && !isText(schema, value, reading)) return false;
  if (Array.isArray(value) && !isList(schema, value, reading)) return false;
  if (isRecord(value) && !isObject(schema, value, reading)) return false;
  return anyOf === undefined || anyOf.some((one) => fits(one, value, reading));
}

function inRange({ minimum, maximum, exclusiveMinimum }: Schema, value: number): boolean {
  return (
    (minimum === undefined || value >= minimum) && (maximum === undefined || value <= maximum) && (exclusiveMinimum === undefined || value > exclusiveMinimum)
  );
}

function isText({ minLength, maxLength, pattern, format }: Schema, value: string, reading: Reading): boolean {
  if (minLength !== undefined || maxLength !== undefined) {
    // Characters, not halves of them.
    const { length } = [...value];
    if (length < (minLength ?? 0) || length > (maxLength ?? length)) return false;
  }
  if (pattern !== undefined && expression(pattern)?.test(value) !== true) return false;
  return format === undefined || reading.formats === undefined || reading.formats[format]?.(value) === true;
}

function isList({ items, minItems, maxItems }: Schema, value: readonly unknown[], reading: Reading): boolean {
  if (value.length < (minItems ?? 0) || value.length > (maxItems ?? value.length)) return false;
  return items === undefined || value.every((one) => fits(items, one, reading));
}

function isObject(schema: Schema, value: Record<string, unknown>, reading: Reading): boolean {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  for (const [key, { default: given }] of Object.entries(properties)) {
    if (reading.defaults && given !== undefined && value[key] === undefined) value[key] = structuredClone(given);
  }
  if (required.some((key) => !Object.hasOwn(value, key) || value[key] === undefined)) return false;
  return Object.keys(value).every((key) => {
    if (propertyNames !== undefined && !fits(propertyNames, key, reading)) return false;
    const inner = value[key];
    if (Object.hasOwn(properties, key)) return inner === undefined || fits(properties[key] as Schema, inner, reading);
    if (typeof additionalProperties === "object") return fits(additionalProperties, inner, reading);
    return additionalProperties !== false;
  });
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

const typesOf = (type: NonNullable<Schema["type"]>): readonly string[] => (typeof type === "string" ? [type] : type);

const expressions = new Map<string, RegExp | undefined>();

/** Undefined for what is no regular expression. */
function expression(pattern: string): RegExp | undefined {
  if (!expressions.has(pattern)) {
    try {
      expressions.set(pattern, new RegExp(pattern, "u"));
    } catch {
      expressions.set(pattern, undefined);
    }
  }
  return expressions.get(pattern);
}
