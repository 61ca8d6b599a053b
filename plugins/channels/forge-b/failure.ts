import { channelError, codeOf, reasonOf, type SvcError } from "@svc/sdk";

/** Upper limit of a wait in milliseconds, whatever a header says. */
const LONGEST_REST_MS = 3_600_000;
const FIRST_REST_MS = 60_000;
const LONGEST_UNNAMED_MS = 900_000;
const WORDS = 300;
/** There was no connection, so nothing arrived. */
const NEVER_ARRIVED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)\b/;
/** Refused here, before anything was sent. */
const NEVER_SENT = new Set(["SVC_FETCH_URL", "SVC_FETCH_BLOCKED", "SVC_FETCH_ISOLATED", "SVC_FETCH_REQUEST"]);

/** An answer of the API that is no success. */
export interface Refused {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** True for an answer that asks to come back later: too many calls, at once or in an hour. */
export function isLimit({ status, headers, body }: Refused): boolean {
  if (status === 429) return true;
  // In maintenance: the call did not get in.
  if (status === 503) return headers["retry-after"] !== undefined;
  if (status !== 403) return false;
  return headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0" || /secondary rate limit|abuse detection/i.test(wordsOf(body));
}

/** Returns the wait in milliseconds: by the header, until the limit resets, or longer with each refusal in a row. */
export function restOf({ headers }: Refused, limitsInARow: number, now = Date.now()): number {
  const retry = headers["retry-after"]?.trim() ?? "";
  const date = headers.date === undefined ? Number.NaN : Date.parse(headers.date);
  // The time of reset is the forge's own: it is held against the forge's clock.
  const there = Number.isNaN(date) ? now : date;
  let ms = /^\d+$/.test(retry) ? Number(retry) * 1_000 : Date.parse(retry) - there;
  if (!Number.isFinite(ms) && headers["x-ratelimit-remaining"] === "0") ms = Number(headers["x-ratelimit-reset"]) * 1_000 - there;
  if (!Number.isFinite(ms) || ms < 0) return Math.min(FIRST_REST_MS * 2 ** Math.max(0, limitsInARow - 1), LONGEST_UNNAMED_MS);
  return Math.min(Math.max(ms, 1_000), LONGEST_REST_MS);
}

/** The error for an answer that is a refusal. `writes`: a server that broke may have done it before. */
export function answeredError(origin: string, writes: boolean, refused: Refused, limitsInARow: number): SvcError & { readonly answered?: number } {
  const { status, body } = refused;
  const text = `${origin} answered ${status}${said(body)}`;
  const facts = (error: SvcError) => Object.assign(error, { answered: status });
  if (isLimit(refused)) return facts(channelError("retry", text, restOf(refused, limitsInARow)));
  // A token that counts again sends what waits.
  if (status === 401) return facts(channelError("retry", `${text}: the credentials are not (or no longer) valid`));
  if (status >= 500 || status === 408) return facts(channelError(writes ? "unknown" : "retry", text));
  return facts(channelError("permanent", text));
}

/** The error for a call without an answer. */
export function unreachableError(origin: string, writes: boolean, error: unknown): SvcError {
  const reason = reasonOf(error);
  if (NEVER_SENT.has(codeOf(error) ?? "")) return channelError("permanent", reason);
  const mayHaveArrived = writes && !NEVER_ARRIVED.test(reason);
  return channelError(mayHaveArrived ? "unknown" : "retry", reason.includes(new URL(origin).host) ? reason : `${origin}: ${reason}`);
}

/** The status that the forge answered, where the error comes from an answer. */
export const answeredStatus = (error: unknown): number | undefined => (error as { answered?: number } | undefined)?.answered;

const wordsOf = (body: unknown): string => {
  const message = (body as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : "";
};

/** Returns the forge's message with its listed reasons, truncated. */
function said(body: unknown): string {
  const errors = (body as { errors?: unknown } | null | undefined)?.errors;
  const more = Array.isArray(errors)
    ? errors.map((error: unknown) => (typeof error === "string" ? error : ((error as { message?: string } | null)?.message ?? ""))).filter((one) => one !== "")
    : [];
  const text = [wordsOf(body), ...more].filter((one) => one !== "").join("; ");
  return text === "" ? "" : `: ${text.slice(0, WORDS)}`;
}
