/*
 * The check of a plain schema, without ajv. Most plugins bring a section of a few typed keys with defaults; loading ajv and compiling those costs
 * more than loading the plugins. A schema with any other keyword is left to ajv, which also refuses invalid schemas and explains why a value is
 * invalid.
 */
import type { Schema } from "@svc/sdk";
import { FORMATS } from "./formats.ts";
import { type Fits, lengthOf } from "./prepared.ts";

/** One keyword at work on a value of the type that it is for. */
type Keyword<T> = (value: T) => boolean;
type Fields = Record<string, unknown>;

/** Keywords without constraints, with the type of their value. */
const NOTES: Readonly<Record<string, "string" | "boolean">> = {
  description: "string",
  title: "string",
  secret: "boolean",
  masked: "boolean",
  restart: "boolean",
  unread: "boolean",
};

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isFields(value),
};

const STRINGS: Readonly<Record<string, (limit: unknown) => Keyword<string> | undefined>> = {
  minLength: (limit) => (isNumber(limit) ? (text) => lengthOf(text) >= limit : undefined),
  maxLength: (limit) => (isNumber(limit) ? (text) => lengthOf(text) <= limit : undefined),
  pattern: (source) => {
    const pattern = patternOf(source);
    return pattern && ((text) => pattern.test(text));
  },
  format: (name) => (typeof name === "string" && Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined),
};

const NUMBERS: Readonly<Record<string, (limit: unknown) => Keyword<number> | undefined>> = {
  minimum: (limit) => (isNumber(limit) ? (value) => value >= limit : undefined),
  maximum: (limit) => (isNumber(limit) ? (value) => value <= limit : undefined),
  exclusiveMinimum: (limit) => (isNumber(limit) ? (value) => value > limit : undefined),
  exclusiveMaximum: (limit) => (isNumber(limit) ? (value) => value < limit : undefined),
};

const LISTS: Readonly<Record<string, (limit: unknown) => Keyword<readonly unknown[]> | undefined>> = {
  minItems: (limit) => (isNumber(limit) ? (list) => list.length >= limit : undefined),
  maxItems: (limit) => (isNumber(limit) ? (list) => list.length <= limit : undefined),
  items: (schema) => {
    const fits = isFields(schema) ? checkOf(schema) : undefined;
    return fits && ((list) => list.every(fits));
  },
};

/** Returns the check of a document's schema, which fills in defaults as ajv does; undefined if the schema needs ajv. */
export function plainCheck(schema: Schema): Fits | undefined {
  return schema.default === undefined ? checkOf(schema as Fields) : undefined;
}

function checkOf(schema: Fields): Fits | undefined {
  const { type, properties, additionalProperties, required, ...keywords } = schema;
  const types = type === undefined ? [] : [type].flat();
  if (!types.every((one): one is string => typeof one === "string" && Object.hasOwn(TYPES, one)) || (type !== undefined && types.length === 0))
    return undefined;

  const checks: Fits[] = [];
  if (types.length > 0) checks.push((value) => types.some((one) => TYPES[one]?.(value)));
  if (properties !== undefined || additionalProperties !== undefined || required !== undefined) {
    const fields = types.includes("object") ? fieldsCheck(properties ?? {}, additionalProperties ?? true, required ?? []) : undefined;
    if (fields === undefined) return undefined;
    checks.push((value) => !isFields(value) || fields(value));
  }
  for (const [keyword, given] of Object.entries(keywords)) {
    const check = keywordCheck(keyword, given, types);
    if (check === undefined) return undefined;
    if (check !== true) checks.push(check);
  }
  return (value) => checks.every((check) => check(value));
}

/** True for a keyword that constrains nothing here, undefined for one that only ajv knows. */
function keywordCheck(keyword: string, given: unknown, types: readonly string[]): Fits | true | undefined {
  if (given === undefined || keyword === "default") return true;
  if (Object.hasOwn(NOTES, keyword)) return typeof given === NOTES[keyword] ? true : undefined;
  if (keyword === "const") return isScalar(given) ? (value) => value === given : undefined;
  if (keyword === "enum") return Array.isArray(given) && given.length > 0 && given.every(isScalar) ? (value) => given.includes(value) : undefined;
  if (types.includes("string") && Object.hasOwn(STRINGS, keyword)) return onlyOn(TYPES.string, STRINGS[keyword]?.(given));
  if ((types.includes("number") || types.includes("integer")) && Object.hasOwn(NUMBERS, keyword)) return onlyOn(TYPES.number, NUMBERS[keyword]?.(given));
  if (types.includes("array") && Object.hasOwn(LISTS, keyword)) return onlyOn(TYPES.array, LISTS[keyword]?.(given));
  return undefined;
}

const onlyOn = <T>(is: Fits | undefined, check: Keyword<T> | undefined): Fits | undefined => check && ((value) => !is?.(value) || check(value as T));

function fieldsCheck(properties: unknown, additional: unknown, required: unknown): Keyword<Fields> | undefined {
  if (!isFields(properties) || Object.hasOwn(properties, "__proto__")) return undefined;
  if (!Array.isArray(required) || !required.every((key) => typeof key === "string")) return undefined;
  const others = typeof additional === "boolean" ? () => additional : isFields(additional) ? checkOf(additional) : undefined;
  const inner: [string, Fits, unknown][] = [];
  for (const [key, schema] of Object.entries(properties)) {
    const fits = isFields(schema) ? checkOf(schema) : undefined;
    // ajv takes a member that every object inherits for a value that is there, and fills no default in.
    if (fits === undefined || ((schema as Fields).default !== undefined && key in Object.prototype)) return undefined;
    inner.push([key, fits, (schema as Fields).default]);
  }
  if (others === undefined) return undefined;
  const has = (fields: Fields, key: string) => fields[key] !== undefined && Object.hasOwn(fields, key);
  return (fields) => {
    for (const [key, , value] of inner) if (value !== undefined && fields[key] === undefined) fields[key] = structuredClone(value);
    return (
      required.every((key) => has(fields, key)) &&
      inner.every(([key, fits]) => !has(fields, key) || fits(fields[key])) &&
      (additional === true || Object.keys(fields).every((key) => Object.hasOwn(properties, key) || others(fields[key])))
    );
  };
}

function patternOf(source: unknown): RegExp | undefined {
  try {
    return typeof source === "string" ? new RegExp(source, "u") : undefined;
  } catch {
    return undefined;
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isScalar = (value: unknown): boolean => value === null || typeof value === "string" || typeof value === "boolean" || isNumber(value);
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
