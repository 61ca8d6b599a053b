import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";
import { FORMATS } from "./formats.ts";

/** Says whether a value fits a schema, with its defaults filled in where the schema is read for them. */
export type Fits = (value: unknown) => boolean;

/** Helpers that generated code needs at run time. */
export interface CheckHelpers {
  readonly formats: typeof FORMATS;
  length: typeof lengthOf;
}

/** Factories of the checks of a module, by the key of the schema: an unused check is not compiled. */
type CheckMakers = Readonly<Record<string, () => Fits>>;

/** The default export of a module of prepared checks. */
export type PreparedChecks = (helpers: CheckHelpers) => CheckMakers;

/** Characters of a text, not halves of them. */
export function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const HELPERS: CheckHelpers = { formats: FORMATS, length: lengthOf };

/** Returns the key of a prepared check: a schema that has changed since the build has another key, and is compiled on first use. */
export const keyOf = (reading: string, shape: Schema): string => `${reading} ${createHash("sha256").update(JSON.stringify(shape)).digest("base64url")}`;

const require = createRequire(import.meta.url);
const modules = new Map<string, CheckMakers>();

/**
 * Returns the check that the build compiled from exactly this schema, from `module`: a file, or a name in the `imports` of this package. Undefined if
 * the module, as before the first build, or the check does not exist.
 */
export function preparedCheck(module: string, reading: string, shape: Schema): Fits | undefined {
  let checks = modules.get(module);
  if (checks === undefined) modules.set(module, (checks = read(module)));
  return checks[keyOf(reading, shape)]?.();
}

function read(module: string): CheckMakers {
  try {
    return (require(module) as { readonly default: PreparedChecks }).default(HELPERS);
  } catch (error) {
    if ((error as { code?: unknown }).code === "MODULE_NOT_FOUND") return {};
    throw error;
  }
}
