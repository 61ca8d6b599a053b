/*
 * One request, top to bottom. Each step names the status with which it may end there; every error goes through `failureOf`.
 *
 *   admit      target, Host, Origin; meant for this daemon  400, 403, 421
 *   wall       no isolated plugin                           403
 *   match      the live route table                         400, 404, 405
 *   guard      address or bearer, from the headers alone    401, 403, 429     nothing of the body is read before this
 *   people     no program of ours, where people decide      403
 *   before     the route's own word on path and caller      its own
 *   body       64 KB for the unknown, 1 MB for the known    413, 415, 400
 *   check      query and body against the route's schemas   400
 *   handle     the route                                    its own, else 500 with a reference
 *   answer     JSON, bytes, or a stream of events
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Authority, Log, ScopeTable } from "@svc/sdk";
import { peerOf } from "../base/client-address.ts";
import { fail } from "../base/errors.ts";
import { type Admission, createAdmission } from "./admit.ts";
import { checkJsonType, createLargeBodies, type LargeBodies, parseJson, readBody } from "./body.ts";
import { requireBody, requireQuery } from "./body-schema.ts";
import { ServerSentStream } from "./event-stream.ts";
import { createTrustedProxies, isForwarded, type TrustedProxies } from "./forwarding.ts";
import { type Asker, createGuards, type Guards } from "./guard.ts";
import { failureOf } from "./http-failure.ts";
import { ServedRequest, takeTarget } from "./http-request.ts";
import { LOCAL_HEADER } from "./local-secret.ts";
import { createOpenStreams, type OpenStreams, type StreamLimits, type StreamProof } from "./open-streams.ts";
import { PRIVATE_HEADERS, ServedReply, sendJson } from "./reply.ts";
import { createRouter, type OwnedRoute, type Router } from "./router.ts";
import { type TaskClaims, withTask } from "./task-claim.ts";
import { createThrottle, type ThrottleLimits } from "./throttle.ts";

/** Limits of a body in bytes, before and after the caller is identified. */
export interface BodyLimits {
  readonly unknown: number;
  readonly known: number;
  /** All at once of those that a route's `maxBytes` lets be larger. */
  readonly large: number;
}

/** Options of a surface. The functions are called for each request, so that a reload takes effect at once. */
export interface SurfaceOptions extends TaskClaims {
  /** Name of the server: routes for another one are not served. */
  readonly name: string;
  /**
   * All current routes, in order of precedence. Called at the first request and after `changed`. A route that is malformed, unguarded or a duplicate
   * is logged and not served.
   */
  routes(): readonly OwnedRoute[];
  authorities(): readonly Authority[];
  /** Token scopes that plugins declare. */
  readonly scopes: ScopeTable;
  /** Scopes that callers on loopback have without a token. */
  localScopes?(): readonly string[];
  /** Whether the far end of a connection is a process of an isolated plugin: its requests are refused. */
  isIsolated(socket: Socket): boolean | Promise<boolean>;
  /** Whether the connection is from a program that this daemon started; called for routes that only people may use. */
  isChild(socket: Socket): Promise<boolean>;
  /** Names it is reached by, beside loopback and its own addresses. */
  hosts?(): readonly string[];
  /** Addresses and networks of proxies whose forwarding headers are trusted. Called for each forwarded request; a new list is a new array. */
  trustedProxies?(): readonly string[];
  /** If present, callers on this machine have its rights only with a value of the header `x-svc-local` that this accepts. */
  localProof?(given: unknown): boolean;
  /** Origins of foreign pages that may call it. */
  origins?(): readonly string[];
  /** Called for each request that was admitted, before any other step: throws to refuse it. */
  admit?(headers: IncomingHttpHeaders): void;
  /** On every answer, unless its handler sets the same name. */
  headers?(): Readonly<Record<string, string>>;
  readonly log: Log;
  readonly bodyLimits?: BodyLimits;
  readonly streamLimits?: StreamLimits;
  readonly throttle?: ThrottleLimits;
}

/** A served route. */
export interface ServedRoute {
  readonly method: string;
  readonly path: string;
  readonly guard: string;
  readonly owner: string;
}

/** The routes of a server, independent of the listening socket. */
export interface Surface {
  /**
   * Answers one request, of which only the headers were read; `prefix` precedes our paths, `proceed` tells a waiting client to send its body. Never
   * rejects.
   */
  handle(request: IncomingMessage, response: ServerResponse, prefix?: string, proceed?: () => void): Promise<void>;
  routes(): readonly ServedRoute[];
  /** Throws `SVC_HTTP_ROUTE` for a route of a plugin that could not be served: malformed, unguarded, or one of the kernel's own. */
  requireServable(route: OwnedRoute): void;
  /** Call when routes or authorities have changed: rebuilds the route table, and re-authorizes open streams (as happens every second). */
  changed(): void;
  /** End the streams whose handler has finished, and let no new one outlive its handler. */
  drain(): void;
  /** End every stream. */
  endStreams(): void;
}

interface Call {
  readonly route: OwnedRoute;
  readonly served: ServedRequest;
  readonly proof: StreamProof | undefined;
  readonly proceed?: () => void;
}

const NO_PROXIES: readonly string[] = [];
const NO_BYTES = Buffer.alloc(0);

/** Headers that describe an answer which the handler then failed to send: an error must be neither decoded nor cached as that answer. */
const DESCRIBING = ["content-encoding", "content-range", "accept-ranges", "etag", "last-modified", "cache-control", "expires"];

const STREAM_HEADERS: Readonly<Record<string, string>> = { ...PRIVATE_HEADERS, "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };

/** Bytes of a request body: from callers without proof, from known ones, and for routes that declare large bodies. */
export const BODY_LIMITS: BodyLimits = { unknown: 65_536, known: 1_048_576, large: 104_857_600 };
/** Open event streams for each bearer and in all, and the bytes that may wait for a slow reader. */
export const STREAM_LIMITS: StreamLimits = { perBearer: 64, total: 512, maxWaiting: 1_048_576 };

/** Creates the request handler of one server; it opens no port. */
export const createSurface = (options: SurfaceOptions): Surface => new RouteSurface(options);

class RouteSurface implements Surface {
  readonly #options: SurfaceOptions;
  readonly #bodyLimits: BodyLimits;
  readonly #streamLimits: StreamLimits;
  readonly #admission: Admission;
  readonly #guards: Guards;
  /** Streams of watching callers do not count against the limit of those that run work. */
  readonly #watched: OpenStreams;
  readonly #worked: OpenStreams;
  readonly #large: LargeBodies;
  #router: Router | undefined;
  #networks: readonly string[] = NO_PROXIES;
  #proxies: TrustedProxies = createTrustedProxies(NO_PROXIES);

  constructor(options: SurfaceOptions) {
    const {
      hosts = () => [],
      origins = () => [],
      localScopes,
      authorities,
      scopes,
      log,
      throttle,
      bodyLimits = BODY_LIMITS,
      streamLimits = STREAM_LIMITS,
    } = options;
    this.#options = options;
    this.#bodyLimits = bodyLimits;
    this.#streamLimits = streamLimits;
    this.#admission = createAdmission({ hosts, origins, anyNameFromAfar: true, log });
    this.#guards = createGuards({ scopes, authorities, ...(localScopes === undefined ? {} : { localScopes }), throttle: createThrottle(throttle) });
    this.#watched = createOpenStreams(streamLimits, this.#guards.identify);
    this.#worked = createOpenStreams(streamLimits, this.#guards.identify);
    this.#large = createLargeBodies(bodyLimits.large);
  }

  async handle(request: IncomingMessage, response: ServerResponse, prefix = "", proceed?: () => void): Promise<void> {
    const { method = "GET", url = "/" } = request;
    let owner: string | undefined;
    try {
      setHeaders(response, this.#options.headers?.() ?? {});
      const call = await this.#enter(request, response, prefix);
      owner = call.route.owner;
      await this.#serve(request, response, proceed === undefined ? call : { ...call, proceed });
    } catch (error) {
      const { status, headers, body } = failureOf(error, this.#options.log, { method, path: url.split("?")[0] ?? "", owner });
      if (response.headersSent) {
        // The error of a handler that fails after its answer is logged; a truncated answer must not look complete.
        if (!response.writableEnded) response.destroy();
        return;
      }
      for (const name of DESCRIBING) response.removeHeader(name);
      // Bytes of a refused body may still arrive: they will not be read.
      if (!request.complete) response.setHeader("connection", "close");
      setHeaders(response, headers);
      response.statusCode = status;
      sendJson(response, body);
    }
  }

  routes(): readonly ServedRoute[] {
    return this.#table().entries.map(({ route }) => ({ method: route.method, path: route.path, guard: route.guard, owner: route.owner ?? "kernel" }));
  }

  requireServable(route: OwnedRoute): void {
    const kernels = this.#here().filter(({ owner }) => owner === "kernel");
    createRouter([...kernels, route], this.#options.scopes, (refused, error) => {
      if (refused === route) throw error;
    });
  }

  changed(): void {
    this.#router = undefined;
    for (const pool of this.#pools()) void pool.recheck();
  }

  drain(): void {
    for (const pool of this.#pools()) pool.drain();
  }

  endStreams(): void {
    for (const pool of this.#pools()) pool.endAll();
  }

  #pools(): readonly OpenStreams[] {
    return [this.#watched, this.#worked];
  }

  #here(): OwnedRoute[] {
    return this.#options.routes().filter((route) => (route.server ?? "daemon") === this.#options.name);
  }

  /** The route table of this moment. */
  #table(): Router {
    this.#router ??= createRouter(this.#here(), this.#options.scopes, ({ owner = "kernel" }, error) =>
      this.#options.log.error({ plugin: owner, err: error }, "a route is not served"),
    );
    return this.#router;
  }

  /** Everything that needs no body: admission, routing, and the guard. */
  async #enter(raw: IncomingMessage, response: ServerResponse, prefix: string): Promise<Call> {
    const refusal = this.#admission(raw);
    if (refusal !== undefined) throw refusal;
    const isolated = this.#options.isIsolated(raw.socket);
    if (isolated !== false && (await isolated)) throw fail("SVC_HTTP_ISOLATED");
    this.#options.admit?.(raw.headers);
    const target = takeTarget(raw, prefix);
    const method = raw.method ?? "GET";
    const found = this.#table().find(method, target.path);
    if (found === undefined) throw fail("SVC_HTTP_NOT_FOUND", { method, target: target.path });
    const { entry, params } = found;
    const asker = { ...this.#callerOf(raw), method, headers: raw.headers, params, queryToken: target.token };
    const judged = this.#guards.judge(entry.rule, asker);
    const { caller: passed, proof } = judged instanceof Promise ? await judged : judged;
    const working = withTask(passed, raw, this.#options);
    const caller = working instanceof Promise ? await working : working;
    if (entry.route.forPeople && caller.token === undefined && (await this.#options.isChild(raw.socket))) throw fail("SVC_HTTP_PEOPLE");
    const served = new ServedRequest(raw, response, target, params, caller, (guard) => this.#guards.would(guard, asker, caller));
    if (entry.route.before !== undefined) await entry.route.before(served);
    return { route: entry.route, served, proof };
  }

  /** Identifies the caller: the far end of the connection, or the client that a trusted proxy names. */
  #callerOf(request: IncomingMessage): Pick<Asker, "peer" | "local" | "unproven"> {
    const { localProof, trustedProxies = () => NO_PROXIES } = this.#options;
    const { socket, headers } = request;
    const peer = peerOf(socket);
    const { [LOCAL_HEADER]: given } = headers;
    // Read here only; handlers and plugins do not see it.
    if (given !== undefined) delete headers[LOCAL_HEADER];
    if (!isForwarded(request)) {
      const unproven = peer.own && localProof?.(given) === false;
      return { peer, local: peer.own && !unproven, unproven };
    }
    if (trustedProxies() !== this.#networks) this.#proxies = createTrustedProxies((this.#networks = trustedProxies()));
    return { peer: this.#proxies.clientOf(peer, headers), local: false, unproven: false };
  }

  /** A large body holds its share of the budget until the answer has been sent. */
  async #serve(request: IncomingMessage, response: ServerResponse, call: Call): Promise<void> {
    if (call.route.method === "GET") return await this.#answer(response, call);
    const { hasBody, limit, usual } = this.#expectBody(request, call);
    if (!hasBody || limit <= usual) {
      setBody(call, hasBody ? await readBody(request, limit) : NO_BYTES);
      return await this.#answer(response, call);
    }
    const { bytes, release } = await this.#large.read(request, limit);
    try {
      setBody(call, bytes);
      await this.#answer(response, call);
    } finally {
      release();
    }
  }

  async #answer(response: ServerResponse, { route, served, proof }: Call): Promise<void> {
    if (route.query !== undefined) requireQuery(route.query, served.query);
    let opened: { outlive(): void } | undefined;
    const answer = new ServedReply(response, (deferred) => {
      const works = route.method !== "GET";
      const pool = works ? this.#worked : this.#watched;
      pool.reserve(proof);
      const stream = new ServerSentStream(response, headersOf(response), deferred, this.#streamLimits.maxWaiting, works);
      opened = pool.add(stream, proof);
      return stream;
    });
    try {
      const value = await route.handle(served, answer);
      if (!answer.used) answer.answer(value);
    } catch (error) {
      const stream = answer.failed();
      if (stream === undefined) throw error;
      // The status has been sent already: the last frame reports the error.
      stream.event("error", failureOf(error, this.#options.log, { method: route.method, path: served.path, owner: route.owner }).body);
      stream.end();
    }
    if (answer.streaming) opened?.outlive();
  }

  /** Checks the headers of a body and lets the client send it; answers with the bytes this route takes, and those any route takes. */
  #expectBody(raw: IncomingMessage, { route, served, proceed }: Call): { readonly hasBody: boolean; readonly limit: number; readonly usual: number } {
    const hasBody = raw.headers["transfer-encoding"] !== undefined || (raw.headers["content-length"] ?? "0") !== "0";
    if (hasBody && raw.readableEnded) throw fail("SVC_HTTP_BODY_READ");
    if (hasBody && route.raw !== true) checkJsonType(raw);
    const { local, token, peer } = served.caller;
    const isKnown = local || token !== undefined || peer !== undefined;
    const usual = isKnown ? this.#bodyLimits.known : this.#bodyLimits.unknown;
    const { maxBytes: limit = usual } = route;
    if (hasBody && Number(raw.headers["content-length"] ?? 0) <= limit) proceed?.();
    return { hasBody, limit, usual };
  }
}

/** Checks a body against its route and gives it to the handler. */
function setBody({ route, served }: Pick<Call, "route" | "served">, bytes: Buffer): void {
  if (route.raw === true) {
    served.raw = bytes;
    return;
  }
  if (bytes.length > 0) served.body = parseJson(bytes);
  else if (route.body !== undefined) served.body = {};
  if (route.body !== undefined) requireBody(route.body, served.body);
}

function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] as string);
}

/** Returns the headers set by the handler and the carrying application, in the form of a stream. */
function headersOf(response: ServerResponse): Readonly<Record<string, string>> {
  const own = response.getHeaders() as Record<string, string>;
  for (const _ in own) return { ...STREAM_HEADERS, ...own, "content-type": STREAM_HEADERS["content-type"] as string };
  return STREAM_HEADERS;
}
