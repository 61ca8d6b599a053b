import { channelError, type FetchAnswer, type GuardedFetch } from "@svc/sdk";
import { answeredError, isLimit, unreachableError } from "./failure.ts";

/** Credential of a call: the same token until it is renewed. */
export interface Credential {
  /** Names the token in settings and says nothing of it. */
  readonly name: string;
  /** The value for `authorization`. `renew`: the last one was refused. */
  bearer(signal: AbortSignal, options?: { readonly renew?: boolean; readonly now?: number }): Promise<string>;
  /** The token was refused, also after a renewal. */
  refused(reason: string): void;
}

/** A call of the API. */
export interface ApiCall {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Its parts encoded: `at` does it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly as: Credential;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

/** Answer of a call. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The API of one forge. Errors are those of `channelError`, with `answered`, the status. */
export interface Api {
  /** Scheme, host and port. Tokens go nowhere else. */
  readonly origin: string;
  /** Where people read it, without a slash at the end. */
  readonly home: string;
  /** Throws for every answer but 2xx and those in `also`. */
  call(call: ApiCall, also?: readonly number[]): Promise<ApiAnswer>;
  /** The pages of a list, each with at most 100 entries. */
  pages(call: ApiCall): AsyncGenerator<readonly unknown[]>;
  /** A file at an address that opens by itself: no token is sent, and it leads at most one host further. */
  file(url: string, maxBytes: number, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type: string }>;
}

/** The version of the API that this code was written against. */
const VERSION = "2022-11-28";
const JSON_TYPE = "application/vnd.github+json";
/** Lists of comments can hold a hundred of the longest ones. */
const ANSWER_BYTES = 32 * 1_048_576;
const CALL_MS = 30_000;
const PAGE = 100;
/** A list of more pages goes round in circles. */
const MOST_PAGES = 1_000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** Parts of a path, encoded. Throws `permanent` for one that is empty or leads up. */
export function at(...parts: readonly (string | number)[]): string {
  return parts
    .map((part) => {
      // An address would take them for the way up.
      if (/^\.{0,2}$/.test(String(part))) throw channelError("permanent", `'${part}' is no name of anything at the forge`);
      return `/${encodeURIComponent(part)}`;
    })
    .join("");
}

/** The path of a repository, with what follows. */
export function inRepository(path: string, ...parts: readonly (string | number)[]): string {
  const [owner = "", name = ""] = path.split("/");
  return at("repos", owner, name, ...parts);
}

/** The client of the API at `root`, an address of the configuration. */
export function createApi({ fetch }: { readonly fetch: GuardedFetch }, root: string): Api {
  const base = root.replace(/\/+$/, "");
  const { origin, hostname } = new URL(base);
  const home = hostname === "api.github.com" ? "https://github.com" : origin;
  /** Refusals for too many calls in a row, by credential. */
  const limits = new Map<string, number>();

  async function send(
    url: string,
    { method = "GET", body, accept = JSON_TYPE, signal }: Omit<ApiCall, "path" | "as">,
    authorization: string,
  ): Promise<FetchAnswer> {
    signal.throwIfAborted();
    const request = {
      method,
      headers: {
        authorization,
        accept,
        "user-agent": "svc",
        "x-github-api-version": VERSION,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
      maxBytes: ANSWER_BYTES,
      timeoutMs: CALL_MS,
      redirect: "manual" as const,
      trustedOrigins: [origin],
    };
    const ask = async (address: string) => {
      try {
        return await fetch(address, request);
      } catch (error) {
        signal.throwIfAborted();
        throw unreachableError(origin, method !== "GET", error);
      }
    };
    const answer = await ask(url);
    const target = redirectOf(answer, url);
    if (target === undefined) return answer;
    // A repository that was renamed, say; 301 and 302 would make another call of what writes.
    if (target.origin !== origin || (method !== "GET" && answer.status < 307)) throw elsewhere(origin, "a call of its API");
    return ask(target.href);
  }

  /** With the token that counts now; one that was refused is renewed once. */
  async function authorized(url: string, call: Omit<ApiCall, "path">): Promise<FetchAnswer> {
    const bearer = await call.as.bearer(call.signal);
    const first = await send(url, call, bearer);
    if (first.status !== 401) return first;
    const date = Date.parse(first.headers.date ?? "");
    const renewed = await call.as.bearer(call.signal, { renew: true, ...(Number.isNaN(date) ? {} : { now: date }) });
    const again = renewed === bearer ? first : await send(url, call, renewed);
    if (again.status === 401) call.as.refused(`${origin} refuses ${call.as.name}`);
    return again;
  }

  async function judged(url: string, call: Omit<ApiCall, "path">, also: readonly number[] = []): Promise<ApiAnswer> {
    const answer = await authorized(url, call);
    const { status, headers } = answer;
    const { name } = call.as;
    const writes = (call.method ?? "GET") !== "GET";
    const body = answer.truncated ? undefined : parsed(answer.text());
    if ((status < 200 || status >= 300) && !also.includes(status)) {
      const refused = { status, headers, body };
      if (isLimit(refused)) limits.set(name, (limits.get(name) ?? 0) + 1);
      throw answeredError(origin, writes, refused, limits.get(name) ?? 0);
    }
    limits.delete(name);
    if (answer.truncated) throw channelError("permanent", `${origin} sent more than ${ANSWER_BYTES / 1_048_576} MB in answer to one call`);
    // A proxy's page with status 200 is no answer of the API.
    if (body === undefined && status !== 204 && status < 300)
      throw unreachableError(origin, writes, new Error("it answered something other than JSON; is channels.forge_b.apiRoot right?"));
    return { status, headers, body };
  }

  return {
    origin,
    home,
    call: ({ path, query = {}, ...call }, also) => judged(base + path + searchOf(query), call, also),
    async *pages({ path, query = {}, ...call }) {
      let url: string | undefined = base + path + searchOf({ per_page: PAGE, ...query });
      for (let count = 0; url !== undefined && count < MOST_PAGES; count += 1) {
        const { body, headers }: ApiAnswer = await judged(url, call);
        const list = Array.isArray(body) ? body : (body as { repositories?: unknown })?.repositories;
        if (!Array.isArray(list)) throw unreachableError(origin, false, new Error("it answered something other than a list"));
        yield list;
        url = linkOf(headers.link, "next", origin);
      }
    },
    async file(url, maxBytes, signal) {
      let address = url;
      for (let hops = 0; ; hops += 1) {
        const answer = await fetch(address, {
          headers: { accept: "image/*", "user-agent": "svc" },
          signal,
          maxBytes,
          timeoutMs: CALL_MS,
          redirect: "manual",
          trustedOrigins: [origin, new URL(home).origin],
        }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw unreachableError(origin, false, error);
        });
        const target = redirectOf(answer, address);
        if (target === undefined) return fileOf(answer, maxBytes);
        if (hops > 0) throw elsewhere(origin, "a picture");
        address = target.href;
      }
    },
  };
}

function fileOf({ status, truncated, headers, body }: FetchAnswer, maxBytes: number): { readonly data: Uint8Array; readonly type: string } {
  if (status !== 200) throw channelError(status >= 500 ? "retry" : "permanent", `a picture could not be had: ${status}`);
  if (truncated) throw channelError("permanent", `a picture is larger than ${maxBytes} bytes`);
  return { data: body, type: (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "" };
}

const elsewhere = (origin: string, what: string) =>
  channelError("permanent", `${origin} leads ${what} elsewhere, which is not followed; check channels.forge_b.apiRoot`);

const searchOf = (query: Readonly<Record<string, string | number | undefined>>): string => {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]])),
  );
  return search.size === 0 ? "" : `?${search}`;
};

function redirectOf({ status, headers: { location } }: FetchAnswer, from: string): URL | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  return URL.canParse(location, from) ? new URL(location, from) : undefined;
}

/** Another page of a list. Throws where it is not on this forge: the token must not go there. */
export function linkOf(link: string | undefined, relation: "next" | "last", origin: string): string | undefined {
  for (const part of (link ?? "").split(/,\s*(?=<)/)) {
    const [, address, facts = ""] = /^\s*<([^<>]*)>(.*)$/s.exec(part) ?? [];
    if (address === undefined || !new RegExp(`;\\s*rel="?${relation}"?\\s*(;|$)`).test(facts)) continue;
    if (URL.canParse(address) && new URL(address).origin === origin) return address;
    throw elsewhere(origin, "the next page of a list");
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
