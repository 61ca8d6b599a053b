import type { ChannelFailure } from "./channel.ts";

/** An error that callers can act on: distinguished by `code`, never by class. */
export interface SvcError extends Error {
  /** `SVC_<NOUN>_<WHAT>`. */
  readonly code: string;
  /** The HTTP status it becomes, where it reaches a caller. */
  readonly status?: number;
  /** The configuration path concerned. */
  readonly path?: string;
  readonly field?: string;
}

/** Makes an error that carries a code. The message names the plugin, setting or file, and the next step. */
export function svcError(
  code: string,
  message: string,
  facts: { status?: number; path?: string; field?: string; cause?: unknown; [fact: string]: unknown } = {},
): SvcError {
  const { cause, ...rest } = facts;
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code, ...rest }) as SvcError;
}

/**
 * Makes errors of a plugin's own table, which has them all in one place: code to [HTTP status, message]. `{name}` in a message is filled from
 * the facts, which the error carries too.
 */
export function errorTable<T extends Readonly<Record<string, readonly [status: number, message: string]>>>(
  errors: T,
): (code: keyof T & string, facts?: Readonly<Record<string, unknown>>) => SvcError {
  return (code, facts = {}) => {
    const [status, template] = errors[code] as T[keyof T & string];
    const message = template.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? ""));
    return svcError(code, message, { ...facts, status });
  };
}

/** Returns the code of an error: one of ours (`SVC_...`) or of the system (`ENOENT`). Undefined if it has none; never throws. */
export function codeOf(error: unknown): string | undefined {
  try {
    const code = (error as { code?: unknown } | null | undefined)?.code;
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The message of an error, or the text of whatever else was thrown; never throws. */
export function reasonOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "something without words";
  }
}

/** Creates the error that a channel's `send` or `edit` throws, so that the kernel knows how to continue. */
export function channelError(failure: ChannelFailure, message: string, retryAfterMs?: number): SvcError {
  return svcError("SVC_CHANNEL_SEND", message, { failure, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}
