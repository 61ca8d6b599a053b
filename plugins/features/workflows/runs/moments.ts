import { svcError } from "@svc/sdk";
import { durationMs } from "../engine/duration.ts";

/** Milliseconds of an evaluated duration. Throws `EXPR_TYPE` for anything else, and above 400 days. */
export function spanOf(value: unknown): number {
  const ms = typeof value === "string" ? durationMs(value.trim()) : undefined;
  if (ms !== undefined) return ms;
  throw svcError("EXPR_TYPE", `${shown(value)} is no duration of at most 400 days; write 250ms, 10s, 5m, 2h, 3d or PT5M.`);
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;
const OFFSET = /(Z|[+-]\d{2}:?\d{2})$/;

/** The Unix milliseconds of an evaluated moment: a number, or ISO 8601, UTC where it names no offset. Throws `EXPR_TYPE`. */
export function momentOf(value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  const text = typeof value === "string" ? value.trim() : "";
  const at = MOMENT.test(text) ? Date.parse(text.includes("T") && !OFFSET.test(text) ? `${text}Z` : text) : Number.NaN;
  if (Number.isNaN(at)) throw svcError("EXPR_TYPE", `${shown(value)} is no moment; write it as 2026-05-01T10:00:00Z.`);
  return at;
}

const shown = (value: unknown) => String(JSON.stringify(value)).slice(0, 100);
