import { runInNewContext } from "node:vm";
import type { Schema } from "@svc/sdk";
import { modelError } from "./model-error.ts";

const MAX_SCHEMA_CHARS = 65_536;
/** Schemas come from callers, and a pattern can be made to run for ever. */
const CHECK_MS = 1000;

/**
 * Compiles a foreign schema to a check, which returns the error as a text for people, or undefined. It ends within a second. Throws
 * `SVC_MODEL_SCHEMA` for an unusable schema. Not cached: each schema is compiled in a validator of its own.
 */
export async function compileSchema(schema: Schema): Promise<(value: unknown) => string | undefined> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const unusable = (reason: string) => modelError("SVC_MODEL_SCHEMA", { reason });
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) throw unusable(`it is longer than ${MAX_SCHEMA_CHARS} characters`);
  const { $schema: _, $async: __, ...plain } = schema as Record<string, unknown>;
  const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(plain);
  } catch (error) {
    throw unusable((error as Error).message);
  }
  return (value) => {
    try {
      // Node can end synchronous code only where it runs with a time limit.
      if (runInNewContext("check()", { check: () => validate(value) }, { timeout: CHECK_MS }) === true) return undefined;
    } catch {
      return "it could not be checked against the schema in time";
    }
    return ajv.errorsText(validate.errors, { dataVar: "the answer" });
  };
}
