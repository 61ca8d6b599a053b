import type { GuardedFetch } from "@svc/sdk";
import { refusedError, unreachableError } from "./failure.ts";

/** Values of arguments; other things than text are sent as JSON. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The call changes something at the platform: without an answer it may have been done. */
  readonly writes?: boolean;
  readonly token?: string;
}

/** The Web API with one bot's token. Errors are those of `channelError`, with `refusal` where the platform said why. */
export interface WebApi {
  call<T = Record<string, unknown>>(method: string, args?: Arguments, options?: CallOptions): Promise<T & Answer>;
  /** An address that belongs to the platform: tokens and tickets go nowhere else. */
  owns(address: string): boolean;
  /** Origins that the operator wrote into the configuration. */
  readonly trustedOrigins: readonly string[];
}

/** Common part of all answers. */
export interface Answer {
  readonly response_metadata?: { readonly next_cursor?: string; readonly messages?: readonly string[] };
  /** Scopes of the token, as the platform lists them with each answer. */
  readonly scopes?: readonly string[];
}

/** Where the platform is reached. */
export const PUBLIC_ROOT = "https://slack.com/api/";

/** The platform's own domains, with everything below them. */
const DOMAINS = ["slack.com", "slack-edge.com", "slack-files.com", "slack-gov.com"];
const CALL_MS = 30_000;
/** What is heard of a chat waits for its history: a longer time would leave it deaf. */
const LONGEST_REST_SECONDS = 3_600;
/** A page of history with long messages. */
const ANSWER_BYTES = 16 * 1_048_576;

/** Makes the client of the Web API. One try a call: the kernel and those who read history know when to try again. */
export function createWebApi({ fetch }: { readonly fetch: GuardedFetch }, token: string, apiRoot?: string): WebApi {
  const root = `${(apiRoot ?? PUBLIC_ROOT).replace(/\/+$/, "")}/`;
  const own = apiRoot === undefined ? undefined : new URL(root);
  const trustedOrigins = own === undefined ? [] : [own.origin, own.origin.replace(/^http/, "ws")];
  return {
    trustedOrigins,
    owns(address) {
      if (!URL.canParse(address)) return false;
      const { protocol, host, hostname } = new URL(address);
      if (own !== undefined && host === own.host) return true;
      return /^(?:https|wss):$/.test(protocol) && DOMAINS.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
    },
    async call<T>(method: string, args: Arguments = {}, { signal, writes = false, token: other = token }: CallOptions = {}) {
      const answer = await fetch(`${root}${method}`, {
        method: "POST",
        headers: { authorization: `Bearer ${other}`, "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
        body: formOf(args),
        maxBytes: ANSWER_BYTES,
        timeoutMs: CALL_MS,
        // A redirect would carry the token along.
        redirect: "manual",
        trustedOrigins,
        ...(signal === undefined ? {} : { signal }),
      }).catch((error: unknown) => Promise.reject(unreachableError(method, writes, error)));
      const body = answer.status === 200 ? read(answer.text()) : undefined;
      if (body?.ok === true) {
        const scopes = answer.headers["x-oauth-scopes"];
        return { ...body, ...(scopes === undefined ? {} : { scopes: scopes.split(",").map((scope) => scope.trim()) }) } as T & Answer;
      }
      const seconds = Number(answer.headers["retry-after"]);
      const detail = body?.response_metadata?.messages?.[0] ?? body?.errors?.[0];
      throw refusedError({
        method,
        status: answer.status,
        error: typeof body?.error === "string" ? body.error : "",
        ...(typeof body?.needed === "string" ? { needed: body.needed } : {}),
        ...(typeof detail === "string" ? { detail: detail.slice(0, 200) } : {}),
        ...(answer.headers["retry-after"] !== undefined && Number.isFinite(seconds)
          ? { retryAfterMs: Math.min(Math.max(1, seconds), LONGEST_REST_SECONDS) * 1_000 }
          : {}),
      });
    },
  };
}

interface Body extends Answer {
  readonly ok?: boolean;
  readonly error?: unknown;
  readonly needed?: unknown;
  readonly errors?: readonly unknown[];
}

function read(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return undefined;
  }
}

/** Methods that read take no JSON: everything goes as a form, which all of them take. */
function formOf(args: Arguments): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined) continue;
    form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return form.toString();
}
