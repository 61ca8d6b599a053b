import type { Schema } from "@svc/sdk";
import { isRecord } from "../base/config-path.ts";
import { fail } from "../base/errors.ts";
import { type SchemaError, schemaCheck, shapeFor } from "../base/schema/schema-check.ts";

/** The checks of the kernel's own routes, compiled by the build. */
const PREPARED = "#checks/http";

/** Unknown keys are refused unless the schema says otherwise. Throws 400 with `path` and `field`. */
export function requireBody(schema: Schema, value: unknown): void {
  const check = schemaCheck(schema, "body", PREPARED);
  if (!check.fits(value)) throw refusal("body", check.errors(value)[0], whatElse(schema, value));
}

/**
 * Validates a query. Its values are text: digits and `true`/`false` are converted to the schema's type. Unknown keys are ignored. Throws 400 with
 * `path` and `field`.
 */
export function requireQuery(schema: Schema, values: Readonly<Record<string, string>>): void {
  const typed = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, typedAs(schema.properties?.[name]?.type, text)]));
  const check = schemaCheck(schema, "query", PREPARED);
  if (!check.fits(typed)) throw refusal("query", check.errors(typed)[0], undefined);
}

/** The missing and the unknown key of an object that has both: most likely a misspelling. */
function whatElse(schema: Schema, value: unknown): string | undefined {
  const { required = [], properties = {}, additionalProperties } = shapeFor.body(schema);
  if (!isRecord(value) || additionalProperties !== false) return undefined;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  if (missing.length === 0 || unknown.length === 0) return undefined;
  const listed = (names: readonly string[], one: string, more: string) => `${names.map((name) => `'${name}'`).join(", ")} ${names.length === 1 ? one : more}`;
  return `${listed(missing, "is missing", "are missing")}, ${listed(unknown, "is not a known field", "are not known fields")}`;
}

function typedAs(type: Schema["type"], text: string): unknown {
  if ((type === "integer" || type === "number") && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function refusal(where: "body" | "query", error: SchemaError | undefined, whole: string | undefined): Error {
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

function allowed(error: SchemaError | undefined): string {
  if (error?.keyword === "enum") return `must be one of ${(error.params.allowedValues as unknown[]).join(", ")}`;
  if (error?.keyword === "minLength" && error.params.limit === 1) return "must not be empty";
  return error?.message ?? "is not valid";
}
