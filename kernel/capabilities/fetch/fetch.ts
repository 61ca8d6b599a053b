import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { codeOf, type FetchInit, type FetchStreamInit, type StreamingFetch } from "@svc/sdk";
import { isThisMachine } from "../../base/client-address.ts";
import { fail } from "../../base/errors.ts";
import { createExchange, type Exchange } from "./exchange.ts";
import { type Reached, streamedAnswer, wholeAnswer } from "./fetch-answer.ts";
import { lookupWith, type Resolve, systemResolve } from "./lookup.ts";
import { isPublicAddress } from "./public-address.ts";
import { type Hop, nextHop, redirectTarget } from "./redirect.ts";

/** Options of the fetch of one caller. */
export interface FetchOptions {
  /** The addresses of a host name. Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** No origin is trusted that leads back to this machine, whose services take every caller from here for one of its users. Default false. */
  readonly isolated?: boolean;
}

const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const IDLE_MS = 60_000;
const DEFAULT_HEADERS = { accept: "*/*", "accept-encoding": "gzip, deflate, br", "user-agent": "svc" };
/** Set by the connection itself, as with the global fetch. */
const OWN_HEADERS = /^(?:host|connection|content-length|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;
const REFUSED_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);
/** Methods that may be retried when a kept-alive connection turns out to be closed. */
const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * The guarded fetch. An address is checked twice: as it is written, since no name is looked up for an IP address, and as
 * the name resolves, on each connection, which then goes to the very address that was checked. Redirects are followed here, each
 * hop checked anew. No proxy variable is read. Errors name the host and never a path, a query or a header: they may hold keys.
 *
 * On node:http, not undici: the daemon has loaded the former anyway (undici: 80 ms and 19 MB).
 */
export function createFetch({ resolve = systemResolve, isolated = false }: FetchOptions = {}): StreamingFetch {
  const agents = (lookup: LookupFunction) => {
    const options = { keepAlive: true, timeout: 10_000, lookup };
    return { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
  };
  // Apart, so that a connection to a trusted origin is never found by a guarded request.
  const guarded = agents(lookupWith(resolve, isPublicAddress, "SVC_FETCH_BLOCKED"));
  const mayTrust = (address: string) => !isolated || !isThisMachine(address);
  const trusted = agents(lookupWith(resolve, mayTrust, "SVC_FETCH_ISOLATED"));

  async function follow(first: Hop, init: Pick<FetchInit, "trustedOrigins" | "maxRedirects" | "redirect">, signal: AbortSignal): Promise<Reached> {
    const trustedOrigins = new Set((init.trustedOrigins ?? []).filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).origin));
    const { maxRedirects = MAX_REDIRECTS } = init;
    let hop = first;
    let trust = trustedOrigins.has(hop.url.origin);
    for (let redirects = 0; ; redirects++) {
      requireAllowed(hop.url, trust, mayTrust);
      const response = await send(hop, (trust ? trusted : guarded)[hop.url.protocol as "http:"], signal);
      const target = init.redirect === "manual" ? undefined : targetOf(response, hop.url);
      if (target === undefined) return { hop, response };
      response.destroy();
      if (redirects >= maxRedirects) throw fail("SVC_FETCH_REDIRECT", { host: first.url.host, limit: maxRedirects });
      // The operator trusts one origin; a redirect can neither move that trust nor add any.
      trust &&= target.origin === hop.url.origin;
      hop = nextHop(hop, response.statusCode ?? 0, target);
    }
  }

  /** Connects to the host within `timeoutMs`, and resolves with its answer. */
  async function reach(address: string, init: FetchInit | FetchStreamInit): Promise<{ reached: Reached; exchange: Exchange; host: string }> {
    const first = firstHop(address, init);
    const { timeoutMs = TIMEOUT_MS, signal } = init;
    const { host } = first.url;
    const exchange = createExchange(host, signal);
    try {
      exchange.requireWanted();
      exchange.limit(timeoutMs, () => fail("SVC_FETCH_TIMEOUT", { host, ms: timeoutMs }));
      return { reached: await follow(first, init, exchange.signal), exchange, host };
    } catch (error) {
      exchange.end();
      throw exchange.explain(error);
    }
  }

  async function whole(address: string, init: FetchInit = {}) {
    const { reached, exchange } = await reach(address, init);
    try {
      return await wholeAnswer(reached, init.maxBytes ?? MAX_BYTES);
    } catch (error) {
      throw exchange.explain(error);
    } finally {
      exchange.end();
    }
  }

  async function stream(address: string, init: FetchStreamInit = {}) {
    const { reached, exchange, host } = await reach(address, init);
    const { idleMs = IDLE_MS, maxBytes = Number.POSITIVE_INFINITY } = init;
    try {
      return await streamedAnswer(reached, exchange, { host, idleMs, maxBytes });
    } catch (error) {
      exchange.end();
      throw exchange.explain(error);
    }
  }
  return Object.assign(whole, { stream });
}

function firstHop(address: string, { method: given = "GET", headers = {}, body }: FetchInit): Hop {
  if (!URL.canParse(address)) throw fail("SVC_FETCH_URL", { address: "given", reason: "it is no URL" });
  const url = new URL(address);
  const method = given.toUpperCase();
  const refuse = (reason: string) => fail("SVC_FETCH_REQUEST", { host: url.host, reason });
  if (REFUSED_METHODS.has(method)) throw refuse(`the method ${method} is not allowed`);
  if (body !== undefined && (method === "GET" || method === "HEAD")) throw refuse(`${method} takes no body`);
  const own = Object.entries(headers).flatMap(([name, value]) => (OWN_HEADERS.test(name.toLowerCase()) ? [] : [[name.toLowerCase(), value] as const]));
  const implied =
    body === undefined
      ? {}
      : { "content-length": String(Buffer.byteLength(body)), ...(typeof body === "string" && { "content-type": "text/plain;charset=UTF-8" }) };
  return { url, method, headers: { ...DEFAULT_HEADERS, ...implied, ...Object.fromEntries(own) }, body };
}

function targetOf(response: IncomingMessage, from: URL): URL | undefined {
  try {
    return redirectTarget(response.statusCode ?? 0, response.headers.location, from);
  } catch {
    response.destroy();
    throw fail("SVC_FETCH_URL", { address: from.origin, reason: "it redirects to something other than a URL" });
  }
}

function requireAllowed(url: URL, trust: boolean, mayTrust: (address: string) => boolean): void {
  const address = `${url.protocol}//${url.host}`;
  if (url.protocol !== "http:" && url.protocol !== "https:") throw fail("SVC_FETCH_URL", { address, reason: "only http and https are fetched" });
  if (url.username !== "" || url.password !== "") throw fail("SVC_FETCH_URL", { address, reason: "it holds credentials; send a header instead" });
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  if (!trust && isIP(literal) !== 0 && !isPublicAddress(literal)) throw fail("SVC_FETCH_BLOCKED", { host: url.host });
  if (trust && isIP(literal) !== 0 && !mayTrust(literal)) throw fail("SVC_FETCH_ISOLATED", { host: url.host });
}

async function send(hop: Hop, agent: HttpAgent, signal: AbortSignal): Promise<IncomingMessage> {
  for (let fresh = false; ; fresh = true) {
    try {
      return await sendOnce(hop, agent, signal);
    } catch (error) {
      if (fresh || !(error as { stale?: boolean }).stale || !REPEATABLE.has(hop.method)) throw error;
    }
  }
}

function sendOnce({ url, method, headers, body }: Hop, agent: HttpAgent, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    let request: ReturnType<typeof open>;
    try {
      request = open(url, { method, headers, agent, signal });
    } catch (error) {
      return reject(fail("SVC_FETCH_REQUEST", { host: url.host, reason: codeOf(error) ?? "it is malformed" }));
    }
    request.on("response", resolve);
    request.on("error", (error: NodeJS.ErrnoException) => reject(Object.assign(error, { stale: request.reusedSocket && error.code === "ECONNRESET" })));
    request.end(body);
  });
}
