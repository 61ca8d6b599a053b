import { channelError, codeOf, reasonOf, type SvcError } from "@svc/sdk";

/** No forge means a longer rest than this, in milliseconds. */
const LONGEST_REST_MS = 3_600_000;
const WORDS = 300;
/** The connection was never there, so nothing arrived. */
const NEVER_ARRIVED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)\b/;
/** Refused before anything was sent. */
const NEVER_SENT = new Set(["SVC_FETCH_URL", "SVC_FETCH_BLOCKED", "SVC_FETCH_ISOLATED", "SVC_FETCH_REQUEST"]);

/** The error for an answer of the forge that is a refusal. */
export function answeredError(origin: string, method: string, status: number, headers: Readonly<Record<string, string>>, body: unknown): SvcError {
  const text = `${origin} answered ${status}${said(body)}`;
  const facts = (error: SvcError) => Object.assign(error, { status });
  if (status === 429) return facts(channelError("retry", text, restOf(headers)));
  // A token that counts again sends what waits.
  if (status === 401) return facts(channelError("retry", `${text}: the token is not (or no longer) valid`));
  if (status === 403 && headers["retry-after"] !== undefined) return facts(channelError("retry", text, restOf(headers)));
  if (status === 503 && headers["retry-after"] !== undefined) return facts(channelError("retry", text, restOf(headers)));
  if (status >= 500 || status === 408) return facts(channelError(method === "GET" ? "retry" : "unknown", text));
  return facts(channelError("permanent", text));
}

/** The error for a call that got no answer. */
export function unreachableError(origin: string, method: string, error: unknown): SvcError {
  const code = codeOf(error) ?? "";
  const reason = reasonOf(error);
  if (code === "SVC_FETCH_REDIRECT")
    return channelError("permanent", `${origin} redirects a call of its API; put the forge's final address into channels.forge_a.host`);
  if (NEVER_SENT.has(code)) return channelError("permanent", reason);
  const arrived = method !== "GET" && !NEVER_ARRIVED.test(reason);
  return channelError(arrived ? "unknown" : "retry", reason.includes(new URL(origin).host) ? reason : `${origin}: ${reason}`);
}

/** Returns the retry delay that the forge asks for, in milliseconds; undefined if it names no sensible one. */
export function restOf(headers: Readonly<Record<string, string>>, now = Date.now()): number | undefined {
  const retry = headers["retry-after"]?.trim();
  const reset = Number(headers["ratelimit-reset"] ?? Number.NaN);
  let ms = Number.NaN;
  if (retry !== undefined) ms = /^\d+(?:\.\d+)?$/.test(retry) ? Number(retry) * 1_000 : Date.parse(retry) - now;
  if (!Number.isFinite(ms) && Number.isFinite(reset)) ms = reset * 1_000 - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, LONGEST_REST_MS) : undefined;
}

/** Returns the forge's message, truncated. */
function said(body: unknown): string {
  if (typeof body !== "object" || body === null) return "";
  const { message, error_description: description, error } = body as Record<string, unknown>;
  const words = message ?? description ?? error;
  if (words === undefined) return "";
  return `: ${(typeof words === "string" ? words : JSON.stringify(words)).slice(0, WORDS)}`;
}
