import { channelError, codeOf, reasonOf, type SvcError } from "@svc/sdk";

/** An answer of the API that is no success. */
export interface Refused {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const WORDS = 300;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 3_600_000;
/** There was no connection, so nothing arrived. */
const NEVER_ARRIVED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)\b/;
/** Refused here, before anything was sent. */
const NEVER_SENT = new Set(["SVC_FETCH_URL", "SVC_FETCH_BLOCKED", "SVC_FETCH_ISOLATED", "SVC_FETCH_REQUEST"]);
/** "Invalid Form Body": the words of a message are not as the platform wants them. */
const BAD_FORM = 50_035;

/** An error that comes from an answer: with its status and the platform's own number. */
export interface Answered extends SvcError {
  readonly answered?: number;
  readonly platformCode?: number;
}

/** The error for an answer that is a refusal. `writes`: a server that broke may have done it before. */
export function answeredError(writes: boolean, refused: Refused): Answered {
  const { status, body } = refused;
  const { code, message = "" } = (body ?? {}) as { code?: unknown; message?: unknown };
  const text = `the platform answered ${status}${message === "" ? "" : `: ${String(message).slice(0, WORDS)}`}${detailsOf(body)}`;
  const facts = (error: SvcError) => Object.assign(error, { answered: status, ...(typeof code === "number" ? { platformCode: code } : {}) });
  if (status === 429) return facts(channelError("retry", text, restOf(refused)));
  // A token can be mended while the message waits.
  if (status === 401) return facts(channelError("retry", `${text}; check channels.guildchat.token`));
  // A gateway of the platform in front of the API refuses before anything is done, and says so with these.
  if (status === 502 || status === 503 || status === 408) return facts(channelError("retry", text));
  if (status >= 500) return facts(channelError(writes ? "unknown" : "retry", text));
  if (status === 400 && code === BAD_FORM) return facts(channelError("format", text));
  return facts(channelError("permanent", text));
}

/** Returns the wait in milliseconds: the longer one of header and body. */
export function restOf({ headers, body }: Pick<Refused, "headers" | "body">): number {
  const told = [headers["retry-after"], headers["x-ratelimit-reset-after"], (body as { retry_after?: unknown } | undefined)?.retry_after];
  const seconds = Math.max(...told.map(Number).filter((value) => Number.isFinite(value) && value >= 0));
  return Number.isFinite(seconds) ? Math.min(Math.ceil(seconds * 1_000), LONGEST_REST_MS) : FIRST_REST_MS;
}

/** The error for a call without an answer. */
export function unreachableError(writes: boolean, error: unknown): SvcError {
  const reason = reasonOf(error);
  if (NEVER_SENT.has(codeOf(error) ?? "")) return channelError("permanent", reason);
  return channelError(writes && !NEVER_ARRIVED.test(reason) ? "unknown" : "retry", reason);
}

/** The status that the platform answered, where the error comes from an answer. */
export const answeredStatus = (error: unknown): number | undefined => (error as Partial<Answered> | undefined)?.answered;
/** The platform's number of a refusal. */
export const platformCode = (error: unknown): number | undefined => (error as Partial<Answered> | undefined)?.platformCode;

/** Without the permission to read the history, and of a note of the platform, the platform takes no reply. */
const NO_REPLY = 160_002;
/** Whether the message was refused for what it replies to. */
export const isReplyRefused = (error: unknown): boolean =>
  platformCode(error) === NO_REPLY || (platformCode(error) === BAD_FORM && reasonOf(error).includes("message_reference"));

/** Names the wrong field of a form, in the platform's words. */
function detailsOf(body: unknown): string {
  const errors = (body as { errors?: unknown } | undefined)?.errors;
  return errors === undefined ? "" : ` (${JSON.stringify(errors).slice(0, WORDS)})`;
}
