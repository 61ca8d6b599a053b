import { type FailureKind, type TierFailure, tierFailure } from "../failure.ts";

/** A vendor's refusal, as its program reports it. */
export interface Refused {
  /** Status of the vendor's HTTP answer; 0 where the program does not report it. */
  readonly status: number;
  readonly message: string;
  /** Something of the answer was passed on already. */
  readonly said?: boolean;
}

/** Common part of the vendors' messages about a conversation that is too long. */
const TOO_LONG =
  /context.{0,12}(length|window|size)|context_length_exceeded|(prompt|input) is too long|(maximum|too many)( input| prompt)? tokens|token count.{0,30}exceeds|maximum number of tokens|request_too_large/i;
const UNREACHABLE =
  /ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|connection (failed|error|refused|reset)|fetch failed|stream disconnected|network error|socket hang up|^terminated$/i;

/** Classifies a vendor's refusal into the failure kinds shared by all engines, with the retry delay that its message names, if any. */
export function vendorFailure(refused: Refused): TierFailure {
  const kind = kindOf(refused);
  const retryAfterMs = retryAfterIn(refused.message);
  const waits = retryAfterMs !== undefined && ["rate-limit", "overloaded", "server"].includes(kind);
  return tierFailure(kind, refused.message, waits ? { retryAfterMs } : {});
}

function kindOf({ status, message, said = false }: Refused): FailureKind {
  if (status === 413 || TOO_LONG.test(message)) return "context";
  if (status === 401 || status === 403) return "auth";
  if (status === 402 || /credit balance|insufficient_quota|billing/i.test(message)) return "billing";
  if (status === 429) return "rate-limit";
  if (status === 503 || status === 529) return "overloaded";
  if (UNREACHABLE.test(message)) return said ? "cut" : "network";
  if (status >= 500) return "server";
  return status >= 400 ? "request" : "engine";
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** "try again in 11.5s", "retry after 30 seconds": in milliseconds. */
function retryAfterIn(message: string): number | undefined {
  const [, amount, word = ""] =
    /\b(?:try again|retry|wait)(?: in| after)? (\d+(?:\.\d+)?) ?(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?)\b/i.exec(message) ?? [];
  const unit = /^(ms|milli)/i.test(word) ? "ms" : (word[0] ?? "").toLowerCase();
  return amount === undefined ? undefined : Math.round(Number(amount) * (UNITS[unit] as number));
}
