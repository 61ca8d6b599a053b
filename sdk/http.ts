import type { Schema } from "./config.ts";
import type { CallingTask } from "./delegation.ts";

/**
 * Who may call a route. `open`: anyone who passes admission. `loopback`: this machine only, no bearer helps.
 * `peer`: this machine, or a peer's bearer. `scope:<family>:<name>`: a token with that scope, which some manifest declares
 * (`DeclaredScope`); `:param` as the name is taken from the path.
 * `signed`: the handler verifies a signature over `request.raw` itself.
 */
export type Guard = "open" | "loopback" | "peer" | "signed" | `scope:${string}`;

/** An HTTP route. Errors thrown with a `status` become that status; the body of every error is `{error, code?, path?, field?}`. */
export interface HttpRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/things/:id`. */
  readonly path: string;
  readonly guard: Guard;
  /** Summary in one line: `GET /openapi.json` and `svc api` show it. */
  readonly summary?: string;
  /** The server it belongs to: `daemon` unless it names one that a plugin provides, such as `acme`. */
  readonly server?: string;
  readonly body?: Schema;
  readonly query?: Schema;
  /** Keep the raw bytes and take any content type: for signatures. */
  readonly raw?: boolean;
  /**
   * Bytes of a body, at most 26,214,400 (25 MB), for any caller: a webhook's payload from outside is larger than the default limit of unknown callers
   * (65,536; 1,048,576 for known ones). Larger bodies share 104,857,600 bytes of buffers until they are answered; beyond, 503.
   */
  readonly maxBytes?: number;
  /**
   * For decisions of people: a request without a token is refused with `SVC_HTTP_PEOPLE` (403) when it comes from a program that the daemon itself
   * has started, such as an agent's engine and its commands. Not a security boundary: a program that hides its origin is not recognised, and without
   * `/proc` none is.
   */
  readonly forPeople?: true;
  /**
   * Runs after the guard and before the body is read: throw errors that depend on path, query and caller alone (an unknown id is 404 even where the
   * body is broken too). `body` and `raw` are unset.
   */
  before?(request: HttpRequest): void | Promise<void>;
  /** Handles the request. The return value is sent as JSON with status 200, undefined as 204, unless the handler used `reply`. */
  handle(request: HttpRequest, reply: HttpReply): unknown;
}

/** A request that passed admission and guard, its body checked against the route's schema. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  /** Raw bytes of the body, on `raw` routes. */
  readonly raw?: Uint8Array;
  readonly caller: Caller;
  /**
   * Whether a guard would admit the caller to this server: for filtering lists by what a caller may see. False for an unknown guard, and for one with
   * a parameter. Unset in requests that tests make; refused with `SVC_ISOLATION_REFUSED` in an isolated plugin.
   */
  may?(guard: Guard): boolean;
  /** Aborts when the client went away. */
  readonly signal: AbortSignal;
}

/** Caller of a request, as the guards have established it. */
export interface Caller {
  readonly address: string;
  /** The caller is on this machine: judged by the socket, never by a header. */
  readonly local: boolean;
  /** The scoped token's id and scopes, where one was given. */
  readonly token?: { readonly id: string; readonly name: string; readonly scopes: readonly string[] };
  readonly peer?: string;
  /**
   * The running task of an agent on whose behalf a local program calls: the program was started below the task, or names it (`x-svc-task`), and the
   * task runs.
   */
  readonly task?: CallingTask;
}

/** Answers a request other than by the handler's return value, which is sent as JSON. */
export interface HttpReply {
  status(code: number): HttpReply;
  header(name: string, value: string): HttpReply;
  /** Send bytes or text with a content type instead of JSON. */
  send(body: string | Uint8Array, type: string): void;
  /**
   * Turn the answer into a server-sent stream; headers go out at once. With `deferred` they wait for the first frame: until
   * then a thrown error is still answered with its own status. Throws 503 when too many streams are open.
   */
  stream(options?: { readonly deferred?: boolean }): EventStream;
}

/** A stream of server-sent events to one client. */
export interface EventStream {
  /**
   * False when the client is gone or too slow and was dropped. A slow client of a `POST` is not dropped: it misses events, gets their number in an
   * event named `omitted`, and always gets the last one before `end`. With an `id`, a client that reconnects sends the last one it got as the header
   * `last-event-id`.
   */
  event(name: string, data: unknown, id?: string): boolean;
  comment(text: string): boolean;
  end(): void;
  readonly closed: boolean;
}

/**
 * A further server of the daemon, on a port of its own: it serves the routes that name it, behind the same admission and guards
 * as the daemon's. A route whose server no plugin provides is not served.
 */
export interface ProvidedServer {
  /** Name to which `HttpRoute.server` refers. */
  readonly name: string;
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Scopes of loopback callers without a token. Default: no scopes. */
  readonly localScopes?: readonly string[];
  /** On every answer, unless its handler sets the same name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Handle by which the plugin opens and closes its server. */
export interface ServerHandle {
  /**
   * Opens the port, in the plugin's `start`. Throws `SVC_SERVER_PORT` with address and reason when it is taken. Resolves with undefined where the
   * kernel is embedded and opens no port; then the embedding program may mount the routes.
   */
  listen(): Promise<{ readonly host: string; readonly port: number } | undefined>;
  /** Ends streams, waits 2 s for requests in progress, closes; call it in the plugin's `stop`. Runs automatically when the plugin ends without it. */
  close(): Promise<void>;
}

/**
 * Identity that a bearer proves. `family`: the bearer exists for scopes of this family alone (the part before the first colon); for a route that
 * requires any other scope it is unknown (401) and not merely insufficient (403).
 */
export type Identity =
  | { readonly kind: "token"; readonly id: string; readonly name: string; readonly scopes: readonly string[]; readonly family?: string }
  | { readonly kind: "peer"; readonly name: string };

/**
 * An authority's answer for a ticket: a bearer that stands for another one, such as one that may appear in an address, in place of a token that may
 * not. All authorities verify the other bearer, at once and as long as a stream is open: the ticket ends with it.
 */
export interface Ticket {
  readonly kind: "ticket";
  /** The bearer behind it, which must not be a ticket itself. */
  readonly bearer: string;
  /** All scopes of the ticket, limited to those that the underlying bearer grants. */
  readonly scopes: readonly string[];
}

/**
 * Verifies bearers; several may be provided and each is called until one knows the bearer. Called on every request and, for open streams, again every
 * second and after each `changed`: a revocation takes effect at once. Compare digests in constant time. Throwing counts as "unknown" (closed). A
 * ticket is verified once a request, and not again: a single-use one ends with its answer.
 */
export interface Authority {
  readonly name: string;
  verify(bearer: string): Promise<Identity | Ticket | undefined>;
}
