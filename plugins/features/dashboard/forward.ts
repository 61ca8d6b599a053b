import { type HttpReply, type HttpRequest, type HttpRoute, readEventStream } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { FarDashboard } from "./far-dashboard.ts";

/** Forwarded request: to one origin that the operator has configured, without following redirects. */
export interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
}

/** Answer to a forwarded request. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends requests: by the guarded fetch of a plugin, or that of a command. Rejects without an answer. */
export type Send = (url: string, sent: Sent) => Promise<Got>;

/** Forwarded request headers. The page's own token is for this server and stays here. */
const TAKEN = ["accept", "content-type", "x-requested-with", "if-match", "if-none-match", "idempotency-key", "last-event-id"] as const;
/** Forwarded answer headers. */
const GIVEN = ["etag", "content-disposition", "location", "retry-after", "allow", "last-modified"] as const;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** Paths that may be forwarded: data only, and not through that daemon to a third one. */
const ASKABLE = /^(api\/(?!via\/|ticket$|sign-)|workflows\/[^/]+\/run$)/;
/** Paths that require the right to change settings, even for reading: settings, who wants to be let into a channel, and labels of projects on no board. */
const ADMINISTRATION = /^api\/(?:admin|channels|board-labels)(\/|$)/i;
/** Parts of a path before the one that is forwarded: `/api/via/<daemon>/`. */
const VIA = 4;
const MAX_BYTES = 26_214_400;
/** The longest event that is read of a stream: more is no event of ours. */
const MOST_CHARS = 4_194_304;
/** What is data to a browser. Anything else is bytes: a page or a script of that daemon would be one of ours, with our reader's rights. */
const DATA = /^\s*(?:application\/(?:[\w.+-]+\+)?json|application\/x-ndjson|text\/plain)\s*(?:;|$)/i;
/** Of an answer that is opened by itself all the same: it runs nothing and loads nothing. */
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'; sandbox";

/**
 * `/api/via/<daemon>/<path>`: forwards to the same path of another daemon's dashboard, with our token for it (`dashboardToken`). A name that is not
 * configured is 400 and nothing is sent (AUTH-21). The status of the answer is forwarded; but 502 if that dashboard refuses our token, since the
 * caller cannot change that.
 */
export function forwardRoutes(find: (name: string) => FarDashboard | undefined, send: Send): HttpRoute[] {
  return METHODS.map((method) => ({
    server: "dashboard",
    method,
    path: "/api/via/:daemon/*",
    guard: method === "GET" ? "scope:dashboard:read" : "scope:dashboard:write",
    // There the caller is this daemon, with the operator's token: nothing would keep a program of an agent from what is for people.
    forPeople: true,
    raw: true,
    maxBytes: MAX_BYTES,
    before({ params: { daemon = "", "*": path = "" }, may }) {
      if (find(daemon) === undefined) throw fail("SVC_DASHBOARD_DAEMON_UNKNOWN", { daemon });
      if (!ASKABLE.test(path) || path.split(/[/\\]/).some((part) => part === "." || part === ".."))
        throw fail("SVC_DASHBOARD_NOT_FOUND", { method, target: `/${path}` });
      // Our token for that daemon may do what this caller may not (AUTH-09).
      if (ADMINISTRATION.test(path) && may?.("scope:dashboard:write") !== true) throw fail("SVC_DASHBOARD_FORBIDDEN");
    },
    handle(request, reply) {
      const { daemon = "" } = request.params;
      const far = find(daemon);
      if (far === undefined) throw fail("SVC_DASHBOARD_DAEMON_UNKNOWN", { daemon });
      return forward(far, `/${request.path.split("/").slice(VIA).join("/")}`, request, reply, send);
    },
  }));
}

/**
 * Sends a request to another dashboard and hands its answer back, streams frame by frame. `path` is encoded, as it was sent: the id of a card holds a
 * slash. `bearer` in place of the configured token.
 */
export async function forward(
  far: FarDashboard,
  path: string,
  { method, query, headers, raw, signal }: Pick<HttpRequest, "method" | "query" | "headers" | "raw" | "signal">,
  reply: HttpReply,
  send: Send,
  bearer: string | undefined = far.token,
): Promise<void> {
  const search = new URLSearchParams(query).toString();
  const url = `${far.url}${path.split("/").map(encodedAnew).join("/")}${search === "" ? "" : `?${search}`}`;
  const taken = Object.fromEntries(TAKEN.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])));
  let got: Got;
  try {
    got = await send(url, {
      method,
      headers: { ...taken, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) },
      ...(raw === undefined || raw.length === 0 ? {} : { body: raw }),
      signal,
    });
  } catch (error) {
    if (signal.aborted) return;
    throw fail("SVC_DASHBOARD_NO_DAEMON", { url: far.url, reason: reasonOf(error), cause: error });
  }
  const { status, headers: given, body } = got;
  if (status === 401 && bearer === far.token) throw fail("SVC_DASHBOARD_REFUSED_THERE", { url: far.url, name: far.name });
  for (const name of GIVEN) if (given[name] !== undefined) reply.header(name, given[name]);
  reply.header("content-security-policy", NO_PAGE);
  const type = given["content-type"] ?? "";
  if (/^text\/event-stream\b/.test(type)) {
    const stream = reply.stream();
    try {
      for await (const { event, data, id } of readEventStream(body, { maxChars: MOST_CHARS })) if (!stream.event(event, parsed(data), id)) return;
    } catch {
      // The far end broke off: so does ours, and the page opens it anew.
    }
    stream.end();
    return;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw fail("SVC_DASHBOARD_NO_DAEMON", { url: far.url, reason: `its answer is longer than ${MAX_BYTES} bytes` });
    chunks.push(chunk);
  }
  reply.status(status).send(Buffer.concat(chunks), DATA.test(type) ? type : "application/octet-stream");
}

/** Data of an event: JSON, else text. */
function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

/** The same part, with nothing in it that an address could be read in another way by, such as a backslash. */
const encodedAnew = (part: string): string => encodeURIComponent(decodeURIComponent(part));

/** Whether the connection was refused: the request has reached no program. */
export function isRefused(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if ((cause as { code?: unknown }).code === "ECONNREFUSED") return true;
  return false;
}

/** Why a daemon does not answer, for people (FAULT-70): what the system calls it, what that means, what to do. */
export function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (code === "ECONNREFUSED") return "nothing listens there (ECONNREFUSED): start it with svc daemon start, and see that dashboard.enabled is true there";
    if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `its name is not known here (${code}): see daemonUrl or daemons in the section dashboard`;
    if (code === "ETIMEDOUT" || code === "EHOSTUNREACH" || code === "ENETUNREACH" || code === "ECONNRESET") return `there is no way to it (${code})`;
  }
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}
