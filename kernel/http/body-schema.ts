import type { Schema } from "@svc/sdk";
import type { ErrorObject, ValidateFunction } from "ajv";
import { fail } from "../base/errors.ts";
import { isRecord } from "../core/config/path.ts";
import { type Fits, plainCheck } from "../core/config/plain-schema.ts";
import { closed } from "../core/config/schema-at.ts";
import { compileStrict } from "../core/config/strict-schema.ts";

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

/** Makes a checker that compiles each schema once, when a request needs it. */
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
    const { shape } = known;
    if (known.compiled === undefined) return compile(known).then((fresh) => judge(fresh, where, shape, value));
    judge(known.compiled, where, shape, value);
    return undefined;
  }

  return {
    body: (schema, value) => check(bodies, "body", schema, shut, value),
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

function judge(check: ValidateFunction, where: "body" | "query", shape: Schema, value: unknown): void {
  if (!check(value)) throw refusal(where, check.errors?.[0], whatElse(shape, value));
}

/** The missing and the unknown key of an object that has both: most likely a misspelling. */
function whatElse({ required = [], properties = {}, additionalProperties }: Schema, value: unknown): string | undefined {
  if (!isRecord(value) || additionalProperties !== false) return undefined;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  if (missing.length === 0 || unknown.length === 0) return undefined;
  const listed = (names: readonly string[], one: string, more: string) => `${names.map((name) => `'${name}'`).join(", ")} ${names.length === 1 ? one : more}`;
  return `${listed(missing, "is missing", "are missing")}, ${listed(unknown, "is not a known field", "are not known fields")}`;
}

/** An object that lists its properties takes no others; one that lists none takes anything. */
const shut = (schema: Schema): Schema => closed(schema, "open");
const open = (schema: Schema): Schema => ({ ...schema, additionalProperties: true });

function typedAs(type: Schema["type"], text: string): unknown {
  if ((type === "integer" || type === "number") && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function refusal(where: "body" | "query", error: ErrorObject | undefined, whole: string | undefined): Error {
  const inner = error?.params.missingProperty ?? error?.params.additionalProperty ?? error?.params.propertyName;
  const parts = (error?.instancePath ?? "")
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (inner !== undefined) parts.push(String(inner));
  const path = parts.join(".");
  const reason = error?.keyword === "required" ? "is missing" : error?.keyword === "additionalProperties" ? "is not a known field" : allowed(error);
  const facts = path === "" ? {} : { path, field: parts.at(-1) };
  if (whole !== undefined && parts.length === 1)
    return fail("SVC_HTTP_INVALID", { subject: whole.slice(0, whole.indexOf(" ")), reason: whole.slice(whole.indexOf(" ") + 1), ...facts });
  return fail("SVC_HTTP_INVALID", { subject: path === "" ? `The ${where}` : `'${path}'`, reason, ...facts });
}

function allowed(error: ErrorObject | undefined): string {
  if (error?.keyword === "enum") return `must be one of ${(error.params.allowedValues as unknown[]).join(", ")}`;
  if (error?.keyword === "minLength" && error.params.limit === 1) return "must not be empty";
  return error?.message ?? "is not valid";
}
