import { channelError, codeOf, type FetchAnswer, type GuardedFetch, reasonOf } from "@svc/sdk";
import { answeredError, unreachableError } from "./failure.ts";

/** A call of the API. */
export interface ApiCall {
  readonly method?: "GET" | "POST" | "PUT";
  /** Below `/api/v4`, its parts encoded: `at` does it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Answer of a call. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** The API of one forge. All errors are those of `channelError`, with the `status` that was answered. */
export interface Api {
  /** Scheme, host and port. Tokens go nowhere else. */
  readonly origin: string;
  /** Where people read it, without a slash at the end. */
  readonly home: string;
  /** Throws for every answer but 2xx and those in `accept`. */
  call(call: ApiCall & { readonly accept?: readonly number[] }): Promise<ApiAnswer>;
  /** The pages of a list, each with at most 100 entries. */
  pages(call: Omit<ApiCall, "method" | "body">): AsyncGenerator<readonly unknown[]>;
  /** A file, over at most one redirect; a foreign host gets no token. */
  file(call: Pick<ApiCall, "path" | "token" | "signal">, maxBytes: number): Promise<{ readonly data: Uint8Array; readonly type: string }>;
}

/** Lists of notes can hold a hundred of the longest ones. */
const ANSWER_BYTES = 32 * 1_048_576;
const CALL_MS = 30_000;
const PAGE = 100;
/** A list that has more pages than this goes round in circles. */
const MOST_PAGES = 1_000;

/** Parts of a path, encoded: `at("projects", "grp/tool", "issues", 7)`. */
export function at(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}

/** The client of the forge at `host`, an address of the configuration. */
export function createApi({ fetch }: { readonly fetch: GuardedFetch }, host: string): Api {
  const home = host.replace(/\/+$/, "");
  const { origin } = new URL(home);
  const base = `${home}/api/v4`;

  async function send(url: string, { method = "GET", body, token, signal }: Omit<ApiCall, "path">, maxBytes: number): Promise<FetchAnswer> {
    signal.throwIfAborted();
    try {
      return await fetch(url, {
        method,
        headers: { "private-token": token, accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        maxBytes,
        timeoutMs: CALL_MS,
        // A project that was renamed is found by one redirect. What writes is never sent on: it would arrive as something else.
        maxRedirects: method === "GET" ? 1 : 0,
        trustedOrigins: [origin],
      });
    } catch (error) {
      signal.throwIfAborted();
      throw unreachableError(origin, method, error);
    }
  }

  function requireOwn(answer: FetchAnswer): void {
    if (new URL(answer.url).origin === origin) return;
    throw channelError("permanent", `${origin} redirected a call of its API to another host, which is not followed; check channels.forge_a.host`);
  }

  async function call(given: ApiCall & { readonly accept?: readonly number[] }): Promise<ApiAnswer> {
    const { path, query = {}, accept = [], method = "GET" } = given;
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]])),
    );
    return judged(await send(`${base}${path}${search.size === 0 ? "" : `?${search}`}`, given, ANSWER_BYTES), method, accept);
  }

  function judged(answer: FetchAnswer, method: string, accept: readonly number[]): ApiAnswer {
    requireOwn(answer);
    const { status, headers } = answer;
    const body = answer.truncated ? undefined : parsed(answer.text());
    if ((status < 200 || status >= 300) && !accept.includes(status)) throw answeredError(origin, method, status, headers, body);
    if (answer.truncated) throw channelError("permanent", `${origin} sent more than ${ANSWER_BYTES / 1_048_576} MB in answer to one call`);
    // A login page or a proxy's own page with status 200 is no answer of the API.
    if (body === undefined && status !== 204 && status < 300) throw unreachableError(origin, method, new Error("it answered something other than JSON"));
    return { status, headers, body };
  }

  return {
    origin,
    home,
    call,
    async *pages({ path, query = {}, token, signal }) {
      let answer = await call({ path, query: { per_page: PAGE, ...query }, token, signal });
      for (let count = 1; ; count += 1) {
        if (!Array.isArray(answer.body)) throw unreachableError(origin, "GET", new Error("it answered something other than a list"));
        yield answer.body;
        const next = nextOf(answer.headers.link, origin);
        if (next === undefined || count >= MOST_PAGES) return;
        answer = judged(await send(next, { token, signal }, ANSWER_BYTES), "GET", []);
      }
    },
    async file({ path, token, signal }, maxBytes) {
      const answer = await send(`${base}${path}`, { token, signal }, maxBytes);
      const { status, headers, url, truncated, body } = answer;
      if (status !== 200) throw answeredError(new URL(url).origin, "GET", status, headers, undefined);
      if (truncated) throw channelError("permanent", `a file is larger than ${maxBytes} bytes`);
      const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
      if (type === "text/html") throw channelError("permanent", "the forge answered with a page in place of a file: the token may not read it");
      return { data: body, type };
    },
  };
}

/** The next page of a list. Throws where it is not on this forge: the token must not go there. */
function nextOf(link: string | undefined, origin: string): string | undefined {
  for (const part of (link ?? "").split(",")) {
    const [, address, facts = ""] = /^\s*<([^<>]*)>(.*)$/s.exec(part) ?? [];
    if (address === undefined || !/;\s*rel="?next"?\s*(;|$)/.test(facts)) continue;
    if (URL.canParse(address) && new URL(address).origin === origin) return address;
    throw channelError(
      "permanent",
      `${origin} names another host for the next page of a list, which is not asked; check channels.forge_a.host and the forge's external address`,
    );
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

/** Returns an error's text for the log. */
export const wordsOf = (error: unknown): string => (codeOf(error) === "SVC_CHANNEL_SEND" ? reasonOf(error) : "an unexpected error");
