import { randomBytes } from "node:crypto";
import type { Log } from "@svc/sdk";
import { fail } from "../base/errors.ts";

/** Answer to a caller about an error. */
export interface Failure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string; readonly code?: string; readonly path?: string; readonly field?: string };
}

interface Known {
  readonly message?: string;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly path?: unknown;
  readonly field?: unknown;
  readonly allow?: unknown;
  readonly retryAfterMs?: unknown;
}

const RETRY_SECONDS = 5;

/**
 * Turns an error into a response. One that carries a `status` is passed on; any other becomes a 500 that contains only a reference, under which the
 * log has the whole error.
 */
export function failureOf(error: unknown, log: Log, where: { readonly method: string; readonly path: string; readonly owner?: string | undefined }): Failure {
  const known = (typeof error === "object" && error !== null ? error : {}) as Known;
  const status = statusOf(known);
  if (status === undefined) {
    const reference = randomBytes(6).toString("hex");
    log.error({ ...where, reference, err: error }, "a request failed");
    return failureOf(fail("SVC_HTTP_INTERNAL", { reference }), log, where);
  }
  const text = (name: "code" | "path" | "field") => (typeof known[name] === "string" ? { [name]: known[name] } : {});
  return {
    status,
    headers: headersOf(status, known),
    body: { error: known.message ?? "The request failed.", ...text("code"), ...text("path"), ...text("field") },
  };
}

/** `statusCode` is how the web framework marks a caller's mistakes. */
function statusOf({ status, statusCode }: Known): number | undefined {
  if (isStatus(status, 599)) return status;
  return isStatus(statusCode, 499) ? statusCode : undefined;
}

const isStatus = (value: unknown, last: number): value is number => Number.isInteger(value) && (value as number) >= 400 && (value as number) <= last;

function headersOf(status: number, { allow, retryAfterMs }: Known): Record<string, string> {
  if (status === 401) return { "www-authenticate": "Bearer" };
  if (status === 405 && typeof allow === "string") return { allow };
  if (typeof retryAfterMs === "number") return { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
  return status === 503 || status === 507 ? { "retry-after": String(RETRY_SECONDS) } : {};
}
