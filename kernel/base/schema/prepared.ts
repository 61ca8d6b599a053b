import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";
import { FORMATS } from "./formats.ts";

/** Says whether a value fits a schema, with its defaults filled in where the schema is read for them. */
export type Fits = (value: unknown) => boolean;

/** What code that the build made needs at run time. */
export interface CheckHelpers {
  readonly formats: typeof FORMATS;
  length: typeof lengthOf;
}

/** What makes each check of a module, by the key of its schema: a check that is not asked for is not compiled. */
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

/** What a prepared check is found by: a schema that has changed since the build has another key, and is compiled when it is used. */
export const keyOf = (reading: string, shape: Schema): string => `${reading} ${createHash("sha256").update(JSON.stringify(shape)).digest("base64url")}`;

const require = createRequire(import.meta.url);
const modules = new Map<string, CheckMakers>();

/**
 * The check that the build compiled of exactly this schema, from `module`: a file, or a name in the `imports` of this package. Undefined
 * where there is no such module, as before the first build, or no such check in it.
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
