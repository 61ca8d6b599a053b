import { type SvcError, svcError } from "@svc/sdk";

/**
 * Every error the kernel raises: code to [HTTP status, message]. `{name}` is filled from the facts. Codes are never reused;
 * `test/house/errors.test.ts` holds this table and `kernel/README.md` together.
 */
export const ERRORS = {
  SVC_STORE_CONFLICT: [409, "The stored state of {collection} '{key}' has changed meanwhile; read it again and repeat."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** Makes the error of a code, its message filled from `facts`; the facts are its properties too. */
export function fail(code: ErrorCode, facts: Record<string, unknown> = {}): SvcError {
  const [status, template] = ERRORS[code];
  const message = template.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? ""));
  return svcError(code, message, { status, ...facts });
}
