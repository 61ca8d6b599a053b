import type { Schema } from "../config.ts";

/** Describes why a value is invalid; undefined when it is valid. Contract suites take one, so that an author can pass a full validator. */
export type Validate = (schema: Schema, value: unknown) => string | undefined;

/**
 * A structural check without dependencies: types, enum, const, ranges, lengths, pattern, items, properties, required, unknown keys
 * (refused unless `additionalProperties` says otherwise), propertyNames, anyOf, oneOf, allOf, not. It ignores `format`, `uniqueItems`
 * and `if`; pass a full validator to a contract suite where a schema depends on them.
 */
export const checkSchema: Validate = (schema, value) => check(schema, value, "");

function check(schema: Schema, value: unknown, at: string): string | undefined {
  const bad = (what: string) => `${at || "the value"} ${what}`;
  if (schema.type !== undefined) {
    const types: readonly string[] = typeof schema.type === "string" ? [schema.type] : schema.type;
    if (!types.some((type) => isType(type, value))) return bad(`is not of type ${types.join(" or ")}`);
  }
  if (schema.const !== undefined && !same(schema.const, value)) return bad(`is not ${JSON.stringify(schema.const)}`);
  if (schema.enum && !schema.enum.some((one) => same(one, value))) return bad(`is none of ${JSON.stringify(schema.enum)}`);
  if (typeof value === "number") {
    if (schema.minimum !== undefined && value < schema.minimum) return bad(`is below ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) return bad(`is above ${schema.maximum}`);
    if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return bad(`is not above ${schema.exclusiveMinimum}`);
  }
  if (typeof value === "string") {
    const length = [...value].length;
    if (schema.minLength !== undefined && length < schema.minLength) return bad(`is shorter than ${schema.minLength}`);
    if (schema.maxLength !== undefined && length > schema.maxLength) return bad(`is longer than ${schema.maxLength}`);
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) return bad(`does not match ${schema.pattern}`);
  }
  return (
    (Array.isArray(value) ? checkItems(schema, value, at) : undefined) ??
    (isType("object", value) ? checkObject(schema, value as Record<string, unknown>, at) : undefined) ??
    checkAlternatives(schema, value, at)
  );
}

function checkItems(schema: Schema, value: readonly unknown[], at: string): string | undefined {
  if (schema.minItems !== undefined && value.length < schema.minItems) return `${at || "the value"} has fewer than ${schema.minItems} items`;
  if (schema.maxItems !== undefined && value.length > schema.maxItems) return `${at || "the value"} has more than ${schema.maxItems} items`;
  const { items } = schema;
  return items && first(value.keys(), (index) => check(items, value[index], `${at}[${index}]`));
}

function checkObject(schema: Schema, value: Record<string, unknown>, at: string): string | undefined {
  const path = (key: string) => (at ? `${at}.${key}` : key);
  const missing = schema.required?.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${path(missing)} is missing`;
  const { properties = {}, additionalProperties = schema.properties === undefined && schema.type === undefined, propertyNames } = schema;
  return first(Object.keys(value), (key) => {
    const name = propertyNames && check(propertyNames, key, `the key ${path(key)}`);
    if (name) return name;
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (own) return check(own, value[key], path(key));
    if (additionalProperties === false) return `${path(key)} is not a known key`;
    return typeof additionalProperties === "object" ? check(additionalProperties, value[key], path(key)) : undefined;
  });
}

function checkAlternatives(schema: Schema, value: unknown, at: string): string | undefined {
  const passing = (schemas: readonly Schema[]) => schemas.filter((one) => check(one, value, at) === undefined).length;
  const where = at || "the value";
  if (schema.anyOf && passing(schema.anyOf) === 0) return `${where} fits none of the alternatives`;
  if (schema.oneOf && passing(schema.oneOf) !== 1) return `${where} does not fit exactly one of the alternatives`;
  if (schema.not && check(schema.not, value, at) === undefined) return `${where} is excluded`;
  return schema.allOf && first(schema.allOf, (one) => check(one, value, at));
}

function isType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return Number.isFinite(value);
  return typeof value === type;
}

const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

function first<T>(list: Iterable<T>, judge: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const verdict = judge(one);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}
