import type { WorkflowField } from "@svc/sdk";
import { fail } from "./run-errors.ts";

/** The longest input or output, in characters of JSON. */
export const VALUE_CHARS = 1_000_000;

type Type = WorkflowField["type"];

const FITS: Readonly<Record<Type, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === "boolean",
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: (value) => Array.isArray(value),
};

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * The input that a run starts with: defaults filled in, fields that the trigger does not name kept. Throws `SVC_WORKFLOW_INPUT`
 * with the first `field` that is wrong, and `SVC_WORKFLOW_SIZE`.
 */
export function checkInput(id: string, schema: Readonly<Record<string, WorkflowField>>, given: unknown = {}): Record<string, unknown> {
  const refuse = (field: string, reason: string) => fail("SVC_WORKFLOW_INPUT", { id, field, reason });
  if (!FITS.object(given)) throw refuse("payload", "must be an object");
  const input: Record<string, unknown> = { ...(given as object) };
  for (const [name, field] of Object.entries(schema)) {
    const { type, enum: allowed, required = false } = field;
    const there = Object.hasOwn(input, name) && input[name] !== undefined && !(input[name] === null && !required);
    if (!there) {
      if (field.default !== undefined) input[name] = structuredClone(field.default);
      else if (required) throw refuse(name, "is required");
      continue;
    }
    const value = input[name];
    if (!FITS[type](value)) throw refuse(name, `must be ${type === "integer" || type === "array" || type === "object" ? "an" : "a"} ${type}`);
    if (allowed !== undefined && !allowed.some((one) => same(one, value)))
      throw refuse(name, `must be one of ${allowed.map((one) => JSON.stringify(one)).join(", ")}`);
  }
  if (JSON.stringify(input).length > VALUE_CHARS) throw fail("SVC_WORKFLOW_SIZE", { id });
  return input;
}
