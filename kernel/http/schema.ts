import type { Schema } from "@svc/sdk";
import type { ErrorObject, ValidateFunction } from "ajv";
import { fail } from "../errors.ts";
import { type Fits, plainCheck } from "../plain-schema.ts";
import { compileStrict } from "../strict-schema.ts";

/**
 * Checks values against the schemas of routes. One that plainly fits is let in at once; any other is shown to ajv, which is loaded
 * with the first one and compiles each schema at its first use: those are answered later.
 */
export interface Checker {
  /** Unknown keys are refused unless the schema says otherwise; a missing body counts as `{}` where an object is expected. Throws 400 with `path` and `field`. */
  body(schema: Schema, value: unknown): Promise<void> | undefined;
  /** Values of a query are text: digits and `true`/`false` count as what the schema asks for. Unknown keys are let through. */
  query(schema: Schema, values: Readonly<Record<string, string>>): Promise<void> | undefined;
}

/** What is known of a schema: how it is read plainly, where it can be, and what ajv made of it, where that was needed. */
interface Known {
  readonly shape: Schema;
  readonly fits: Fits | undefined;
  compiled?: ValidateFunction;
}

export function createChecker(): Checker {
  const bodies = new WeakMap<Schema, Known>();
  const queries = new WeakMap<Schema, Known>();

  /** Refuses at once where the schema is compiled already. */
  function check(
    cache: WeakMap<Schema, Known>,
    where: "body" | "query",
    schema: Schema,
    shapeOf: (schema: Schema) => Schema,
    value: unknown,
  ): Promise<void> | undefined {
    let known = cache.get(schema);
    if (known === undefined) {
      const shape = shapeOf(schema);
      cache.set(schema, (known = { shape, fits: plainCheck(shape, { defaults: false }) }));
    }
    if (known.fits?.(value)) return undefined;
    if (known.compiled === undefined) return compile(known).then((fresh) => judge(fresh, where, value));
    judge(known.compiled, where, value);
    return undefined;
  }

  return {
    body: (schema, value) => check(bodies, "body", schema, closed, value),
    query(schema, values) {
      const typed = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, typedAs(schema.properties?.[name]?.type, text)]));
      return check(queries, "query", schema, open, typed);
    },
  };
}

async function compile(known: Known): Promise<ValidateFunction> {
  known.compiled = await compileStrict(known.shape);
  return known.compiled;
}

function judge(check: ValidateFunction, where: "body" | "query", value: unknown): void {
  if (!check(value)) throw refusal(where, check.errors?.[0]);
}

const open = (schema: Schema): Schema => ({ ...schema, additionalProperties: true });

/** The same schema with every object that lists its properties shut against others. */
function closed(schema: Schema): Schema {
  const { properties, items, ...rest } = schema;
  if (properties === undefined && items === undefined)
    return schema.type === "object" &&
      schema.additionalProperties === undefined &&
      schema.anyOf === undefined &&
      schema.oneOf === undefined &&
      schema.allOf === undefined
      ? { ...schema, additionalProperties: false }
      : { ...schema };
  return {
    ...(properties === undefined ? {} : { additionalProperties: false }),
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)])) }),
    ...(items === undefined ? {} : { items: closed(items) }),
  };
}

function typedAs(type: Schema["type"], text: string): unknown {
  if ((type === "integer" || type === "number") && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function refusal(where: "body" | "query", error: ErrorObject | undefined): Error {
  const inner = error?.params.missingProperty ?? error?.params.additionalProperty ?? error?.params.propertyName;
  const parts = (error?.instancePath ?? "")
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (inner !== undefined) parts.push(String(inner));
  const path = parts.join(".");
  const reason = error?.keyword === "required" ? "is missing" : error?.keyword === "additionalProperties" ? "is not a known field" : allowed(error);
  const facts = path === "" ? {} : { path, field: parts.at(-1) };
  return fail("SVC_HTTP_INVALID", { subject: path === "" ? `The ${where}` : `'${path}'`, reason, ...facts });
}

function allowed(error: ErrorObject | undefined): string {
  if (error?.keyword === "enum") return `must be one of ${(error.params.allowedValues as unknown[]).join(", ")}`;
  if (error?.keyword === "minLength" && error.params.limit === 1) return "must not be empty";
  return error?.message ?? "is not valid";
}
