import { channelError, codeOf, reasonOf, type SvcError } from "@svc/sdk";

/** Error answer of the platform. */
export interface Refusal {
  readonly method: string;
  readonly status: number;
  /** The platform's error code; empty for an answer that is not from the Web API. */
  readonly error: string;
  readonly needed?: string;
  readonly retryAfterMs?: number;
  readonly detail?: string;
}

/** The refusal in an error of a call, where the platform gave one. */
export const refusalIn = (error: unknown): Refusal | undefined => (error as { refusal?: Refusal } | undefined)?.refusal;

/** True where the platform refused with one of these. */
export const isRefused = (error: unknown, ...names: readonly string[]): boolean => names.includes(refusalIn(error)?.error ?? "");

const TOKEN_ERRORS = new Set(["invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "no_permission", "not_allowed_token_type"]);
const PASSING = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org",
  "external_service_migration_in_progress",
]);
const MARKUP = new Set([
  "invalid_blocks",
  "invalid_blocks_format",
  "invalid_block_format",
  "msg_blocks_too_long",
  "markdown_text_conflict",
  "invalid_metadata_format",
  "metadata_too_large",
]);
/** Where the platform names no time. */
const REST_MS = 30_000;
/** There was no connection, so nothing arrived. */
const NEVER_ARRIVED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)\b/;
const NEVER_SENT = new Set(["SVC_FETCH_URL", "SVC_FETCH_BLOCKED", "SVC_FETCH_ISOLATED", "SVC_FETCH_REQUEST"]);

/** The workspace itself is refused: its token is wrong, revoked, or of another kind. */
export const isLockedOut = (error: unknown): boolean => TOKEN_ERRORS.has(refusalIn(error)?.error ?? "");

/** Message for the operator about a refusal. */
export function wordsOf({ method, status, error, needed, detail }: Refusal): string {
  if (error === "") return `${method}: the platform answered with status ${status}`;
  if (error === "missing_scope")
    return `${method}: the app lacks the scope ${needed ?? "for it"}: add it on the app's page OAuth & Permissions, and install the app again`;
  if (error === "not_allowed_token_type")
    return `${method}: a token of another kind is needed: botToken is the one that begins with xoxb-, appToken with xapp-`;
  if (error === "not_in_channel") return `${method}: the bot is not in this channel; invite it there`;
  if (TOKEN_ERRORS.has(error)) return `${method}: the platform refuses the token (${error})`;
  return `${method}: ${error}${detail === undefined ? "" : ` (${detail})`}`;
}

/** The error of a call that the platform refused: it carries what the kernel needs to go on. */
export function refusedError(refusal: Refusal): SvcError {
  const { status, error, retryAfterMs } = refusal;
  const words = wordsOf(refusal);
  const made =
    status === 429 || error === "ratelimited" || error === "rate_limited"
      ? channelError("retry", words, retryAfterMs ?? REST_MS)
      : // A token or a scope can be mended while the message waits.
        status >= 500 || PASSING.has(error) || TOKEN_ERRORS.has(error) || error === "missing_scope" || (error === "" && status !== 404)
        ? channelError("retry", words)
        : channelError(MARKUP.has(error) ? "format" : "permanent", words);
  return Object.assign(made, { refusal });
}

/** The error of a call without an answer. `writes`: it may have been done. */
export function unreachableError(method: string, writes: boolean, error: unknown): SvcError {
  const code = codeOf(error) ?? "";
  const reason = reasonOf(error);
  if (NEVER_SENT.has(code)) return channelError("permanent", `${method}: ${reason}`);
  return channelError(writes && !NEVER_ARRIVED.test(reason) ? "unknown" : "retry", `${method}: ${reason}`);
}
