import type { Schema } from "@svc/sdk";
import { type ConfigPath, isRecord } from "../config-path.ts";
import { nearest } from "../nearest.ts";
import { cronTrouble } from "./formats.ts";
import { patternTrouble } from "./safe-pattern.ts";
import type { SchemaError } from "./schema-check.ts";

/** One error below the validated value, in a sentence for the author of the document. */
export interface Finding {
  readonly path: ConfigPath;
  readonly message: string;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object { ... }",
  array: "a list [ ... ]",
  null: "null",
};

/** Turns ajv's errors about `value` into findings. Values are repeated only where they are numbers or true and false: anything else might be a secret. */
export function explain(errors: readonly SchemaError[], value: unknown): readonly Finding[] {
  const findings = telling(errors).map((error) => {
    const path = pathOf(error, value);
    return { path, message: messageOf(error) };
  });
  const seen = new Set<string>();
  return findings.filter(({ path, message }) => {
    const key = JSON.stringify([path, message]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Reduces the errors of a choice between branches to the helpful ones: those of the one branch that was meant, or that none fits. */
function telling(errors: readonly SchemaError[]): readonly SchemaError[] {
  const hidden: ((error: SchemaError) => boolean)[] = [];
  for (const choice of errors) {
    if (choice.keyword !== "anyOf" && choice.keyword !== "oneOf") continue;
    const options = (choice.schema as Schema[]).map((option, index) => ({ option, prefix: `${choice.schemaPath}/${index}/` }));
    const meant = options.filter(({ option }) => fits(option.type, choice.data));
    const kept = meant.length === 1 ? meant[0]?.prefix : undefined;
    const below = (error: SchemaError) => error.schemaPath.startsWith(`${choice.schemaPath}/`) && error.instancePath.startsWith(choice.instancePath);
    const helped = kept !== undefined && errors.some((error) => error.schemaPath.startsWith(kept));
    hidden.push((error) => (error === choice ? helped : below(error) && !(helped && error.schemaPath.startsWith(kept))));
  }
  // Errors of an `if` and of a property name repeat their neighbours.
  return errors.filter((error) => error.keyword !== "if" && error.propertyName === undefined && !hidden.some((hides) => hides(error)));
}

function fits(type: Schema["type"], data: unknown): boolean {
  const kind = Array.isArray(data) ? "array" : data === null ? "null" : typeof data;
  return (typeof type === "string" ? [type] : (type ?? [])).some((one) => one === kind || (one === "integer" && kind === "number"));
}

function pathOf(error: SchemaError, value: unknown): ConfigPath {
  const path: (string | number)[] = [];
  let at = value;
  for (const part of error.instancePath.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(at) ? Number(key) : key);
    at = isRecord(at) || Array.isArray(at) ? (at as Record<string, unknown>)[key] : undefined;
  }
  const { missingProperty, additionalProperty, propertyName } = error.params as Record<string, string | undefined>;
  const further = missingProperty ?? additionalProperty ?? propertyName;
  return further === undefined ? path : [...path, further];
}

function messageOf(error: SchemaError): string {
  const schema = (error.parentSchema ?? {}) as Schema;
  const { data, params } = error;
  switch (error.keyword) {
    case "additionalProperties":
      return unknownKey(params.additionalProperty as string, Object.keys(schema.properties ?? {}));
    case "required": {
      const about = schema.properties?.[params.missingProperty as string]?.description;
      return `is required${about === undefined ? "" : ` (${about})`}`;
    }
    case "propertyNames":
      return `is no valid name here${schema.propertyNames?.pattern === undefined ? "" : `; it must match ${schema.propertyNames.pattern}`}`;
    case "type":
      return `must be ${[schema.type ?? []].flat().map(word).join(" or ")}, ${isPlain(data) && schema.secret !== true ? `is ${data}` : `not ${word(kindOf(data))}`}`;
    case "enum":
      return `must be one of ${(schema.enum ?? []).map(String).join(", ")}`;
    case "const":
      return `must be ${String(schema.const)}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return `must be ${rangeOf(schema)}, is ${String(data)}`;
    case "minLength":
      return data === "" ? "must not be empty" : `must have at least ${schema.minLength} characters`;
    case "maxLength":
      return `must have at most ${schema.maxLength} characters`;
    case "minItems":
      return `must have at least ${counted(schema.minItems)}`;
    case "maxItems":
      return `must have at most ${counted(schema.maxItems)}`;
    case "uniqueItems":
      return `lists the same entry twice, as number ${Number(params.j) + 1} and ${Number(params.i) + 1}`;
    case "pattern":
      return data === "" ? "must not be empty" : `must match ${schema.pattern}${schema.description === undefined ? "" : ` (${schema.description})`}`;
    case "format":
      return formatMessage(schema.format ?? "", String(data));
    case "anyOf":
    case "oneOf":
      return `must be ${[...new Set((error.schema as Schema[]).flatMap((option) => option.type ?? []))].map(word).join(" or ") || "in one of the documented forms"}`;
    default:
      return error.message ?? "is not valid here";
  }
}

/** For a key that no schema knows. */
export function unknownKey(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near !== undefined) return `is not a known setting; did you mean '${near}'?`;
  return `is not a known setting${known.length > 0 && known.length <= 12 ? `; known here: ${known.join(", ")}` : ""}`;
}

function formatMessage(format: string, data: string): string {
  if (data === "") return "must not be empty";
  if (format === "regex") return `is no usable regular expression: ${patternTrouble(data)}`;
  if (format === "address") return "must be host:port, such as 127.0.0.1:18800";
  if (format === "url") return "must be an address such as https://host.example/path";
  if (format === "line") return "must be one line without control characters and marks that turn the order of text";
  if (format === "cron") return `is no schedule: ${cronTrouble(data)}`;
  if (format === "timezone") return "must be a time zone such as UTC or Europe/Berlin";
  return `must be a valid ${format}`;
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return `from ${minimum} to ${maximum}`;
  const low = minimum !== undefined ? `at least ${minimum}` : exclusiveMinimum !== undefined ? `more than ${exclusiveMinimum}` : undefined;
  return [low, maximum === undefined ? undefined : `at most ${maximum}`].filter((part) => part !== undefined).join(" and ");
}

const word = (type: string): string => TYPES[type] ?? type;
const counted = (entries: number | undefined): string => `${entries} ${entries === 1 ? "entry" : "entries"}`;
const isPlain = (data: unknown): data is number | boolean => typeof data === "number" || typeof data === "boolean";
const kindOf = (data: unknown): string => (data === null ? "null" : Array.isArray(data) ? "array" : typeof data);
