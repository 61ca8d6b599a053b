import { type FailureKind, type TierFailure, tierFailure } from "@svc/sdk";
import type { ModelAddress } from "./provider-address.ts";

/** Something that a vendor said in place of an answer, with the kind of failure that it is. */
export class VendorError extends Error {
  readonly kind: FailureKind;
  constructor(kind: FailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** So much of a vendor's words is passed on, in characters. */
const LONGEST_REASON = 500;

/** Common part of the vendors' messages about a conversation that is too long. */
const TOO_LONG =
  /context.{0,12}(length|window|size)|context_length_exceeded|exceed_context_size|prompt is too long|input is too long|(maximum|too many)( input| prompt)? tokens|request_too_large/i;

/** The vendors' names for errors inside a stream, where a status is missing. */
const TYPES: Readonly<Record<string, FailureKind>> = {
  overloaded_error: "overloaded",
  rate_limit_error: "rate-limit",
  rate_limit_exceeded: "rate-limit",
  api_error: "server",
  server_error: "server",
  timeout_error: "server",
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "billing",
  insufficient_quota: "billing",
  invalid_request_error: "request",
  not_found_error: "request",
};

/** A vendor's error object, as it stands in an error body or inside of a stream. */
export function vendorError(error: unknown): VendorError {
  const { type, code, message } = fieldsOf(error);
  const name = [code, type].find((each): each is string => typeof each === "string" && Object.hasOwn(TYPES, each));
  const text = typeof message === "string" ? message : typeof error === "string" ? error : "it gave no reason";
  const named = `${String(code)} ${String(type)} ${text}`;
  return new VendorError(TOO_LONG.test(named) ? "context" : name === undefined ? "server" : (TYPES[name] as FailureKind), text);
}

/** Judges an answer with another status than 200. `headers` by lower-case names, `body` as far as it was read. */
export function judgeAnswer(address: ModelAddress, status: number, headers: Readonly<Record<string, unknown>>, body: string, now: number): TierFailure {
  const { provider } = address;
  const error = errorIn(body);
  const reason = tidy(address, error?.message ?? "it gave no reason that can be read");
  const after = retryAfter(headers, now);
  const facts = after === undefined ? {} : { retryAfterMs: after };
  const subject = `The provider '${provider}'`;
  if (error?.kind === "context" || status === 413)
    return tierFailure("context", `${subject} finds the conversation too long for the model (status ${status}): ${reason}`);
  // Omit the API's message about a wrong key, which may repeat it.
  if (status === 401 || status === 403) return tierFailure("auth", `${subject} refused the API key (status ${status}); check providers.${provider}.apiKey.`);
  if (status === 402 || error?.kind === "billing") return tierFailure("billing", `${subject} refuses the account (status ${status}): ${reason}`);
  if (status === 429) return tierFailure("rate-limit", `${subject} limits the rate of requests (status 429): ${reason}`, facts);
  if (status === 529 || status === 503) return tierFailure("overloaded", `${subject} is overloaded (status ${status}); try again later.`, facts);
  if (status >= 500) return tierFailure("server", `${subject} failed (status ${status}): ${reason}`, facts);
  if (status >= 300 && status < 400)
    return tierFailure(
      "request",
      `${subject} sends requests elsewhere (status ${status}), which is not followed; set providers.${provider}.endpoint to the final address.`,
    );
  return tierFailure("request", `${subject} refused the request (status ${status}): ${reason}`);
}

/** Judges what was thrown while a call was made or its answer read. `said`: something of the answer was passed on already. */
export function judgeError(address: ModelAddress, error: unknown, said: boolean): TierFailure {
  const { provider } = address;
  const reason = tidy(address, (error as Error).message);
  if (!(error instanceof VendorError)) {
    if (said) return tierFailure("cut", `The answer of the provider '${provider}' broke off in the middle; ask again.`);
    return tierFailure("network", `The provider '${provider}' could not be reached: ${reason}`);
  }
  if (error.kind === "protocol") return tierFailure("protocol", `The answer of the provider '${provider}' cannot be read: ${reason}`);
  if (said) return tierFailure("cut", `The answer of the provider '${provider}' broke off in the middle (${reason}); ask again.`);
  if (error.kind === "auth") return judgeAnswer(address, 401, {}, "", 0);
  return tierFailure(error.kind, `The provider '${provider}' gave up: ${reason}`);
}

/** Returns the retry delay that a vendor asks for, in milliseconds: from seconds, milliseconds or a date. */
function retryAfter(headers: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const said = headers["retry-after"];
  if (typeof said !== "string") return undefined;
  const wait = /^\s*\d+(\.\d+)?\s*$/.test(said) ? Number(said) * 1000 : Date.parse(said) - now;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** A proxy in the way answers pages: of those nothing is passed on. */
function errorIn(body: string): VendorError | undefined {
  try {
    const { error } = fieldsOf(JSON.parse(body));
    return error === undefined ? undefined : vendorError(error);
  } catch {
    return undefined;
  }
}

const tidy = ({ key }: ModelAddress, reason: string): string =>
  (key === undefined ? reason : reason.replaceAll(key, "***")).replace(/\s+/g, " ").slice(0, LONGEST_REASON).toWellFormed();

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
