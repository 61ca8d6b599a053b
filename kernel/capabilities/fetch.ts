import { lookup as systemLookup } from "node:dns/promises";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { FetchAnswer, FetchInit, GuardedFetch, SvcError } from "@svc/sdk";
import { type ErrorCode, fail } from "../errors.ts";
import { isThisMachine } from "../http/address.ts";
import { decoded } from "./decoded.ts";
import { isPublicAddress } from "./public-address.ts";
import { type Hop, nextHop, redirectTarget } from "./redirect.ts";

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface FetchOptions {
  /** The addresses of a host name. Default: the system's resolver. */
  readonly resolve?: (hostname: string) => Promise<readonly Address[]>;
  /** For whom no origin is trusted that leads back to this machine: its services take whoever calls from here for one of its users. Default false. */
  readonly isolated?: boolean;
}

const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const DEFAULT_HEADERS = { accept: "*/*", "accept-encoding": "gzip, deflate, br", "user-agent": "svc" };
/** Set by the connection itself, as with the global fetch. */
const OWN_HEADERS = /^(?:host|connection|content-length|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;
const REFUSED_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);
/** May be sent again when a kept connection turns out to be closed. */
const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * The capability `fetch`. An address is checked twice: as it is written, since no name is looked up for an IP address, and as
 * the name resolves, on each connection, which then goes to the very address that was checked. Redirects are followed here, each
 * hop checked anew. No proxy variable is read. Errors name the host and never a path, a query or a header: they may hold keys.
 *
 * On node:http, not undici: this way nothing is loaded that the daemon has not loaded anyway (undici: 80 ms and 19 MB).
 */
export function createFetch({ resolve = (hostname) => systemLookup(hostname, { all: true }), isolated = false }: FetchOptions = {}): GuardedFetch {
  const agents = (lookup: LookupFunction) => {
    const options = { keepAlive: true, timeout: 10_000, lookup };
    return { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
  };
  // Apart, so that a connection to a trusted origin is never found by a guarded request.
  const guarded = agents(lookupWith(resolve, isPublicAddress, "SVC_FETCH_BLOCKED"));
  const mayTrust = (address: string) => !isolated || !isThisMachine(address);
  const trusted = agents(lookupWith(resolve, mayTrust, "SVC_FETCH_ISOLATED"));

  async function follow(first: Hop, init: FetchInit, signal: AbortSignal): Promise<FetchAnswer> {
    const trustedOrigins = new Set((init.trustedOrigins ?? []).filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).origin));
    const { maxRedirects = MAX_REDIRECTS, maxBytes = MAX_BYTES } = init;
    let hop = first;
    let trust = trustedOrigins.has(hop.url.origin);
    for (let redirects = 0; ; redirects++) {
      requireAllowed(hop.url, trust, mayTrust);
      const response = await send(hop, (trust ? trusted : guarded)[hop.url.protocol as "http:"], signal);
      const target = targetOf(response, hop.url);
      if (target === undefined) return answer(hop, response, maxBytes);
      response.destroy();
      if (redirects >= maxRedirects) throw fail("SVC_FETCH_REDIRECT", { host: first.url.host, limit: maxRedirects });
      // Trust is the operator's word for one origin; a redirect cannot carry it to another, or bring it.
      trust &&= target.origin === hop.url.origin;
      hop = nextHop(hop, response.statusCode ?? 0, target);
    }
  }

  return async (address, init = {}) => {
    const first = firstHop(address, init);
    const { timeoutMs = TIMEOUT_MS, signal } = init;
    const { host } = first.url;
    const controller = new AbortController();
    let given: SvcError | undefined;
    const giveUp = (error: SvcError) => {
      given ??= error;
      controller.abort();
    };
    const abort = () => giveUp(fail("SVC_FETCH_ABORTED", { host }));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => giveUp(fail("SVC_FETCH_TIMEOUT", { host, ms: timeoutMs })), Math.min(timeoutMs, LONGEST_TIMER_MS));
    try {
      if (given !== undefined) throw given;
      return await follow(first, init, controller.signal);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (given !== undefined) throw given;
      throw code?.startsWith("SVC_") ? error : fail("SVC_FETCH_FAILED", { host, reason: code ?? "the connection broke" });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  };
}

/** The resolver of a connection: what it answers is what is connected to, so nothing can change between the check and the use. */
function lookupWith(resolve: (hostname: string) => Promise<readonly Address[]>, allowed: (address: string) => boolean, refusal: ErrorCode): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first, ...rest] = addresses.filter(({ address }) => allowed(address));
        if (first === undefined) callback(fail(refusal, { host: hostname }), "", 0);
        else if (options.all) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, "", 0),
    );
  };
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
    throw fail("SVC_FETCH_URL", { address: from.origin, reason: "it redirects to what is no URL" });
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
      return reject(fail("SVC_FETCH_REQUEST", { host: url.host, reason: (error as NodeJS.ErrnoException).code ?? "it is malformed" }));
    }
    request.on("response", resolve);
    request.on("error", (error: NodeJS.ErrnoException) => reject(Object.assign(error, { stale: request.reusedSocket && error.code === "ECONNRESET" })));
    request.end(body);
  });
}

async function answer({ url, method }: Hop, response: IncomingMessage, maxBytes: number): Promise<FetchAnswer> {
  const { statusCode: status = 0, statusMessage: statusText = "", headers } = response;
  const empty = method === "HEAD" || status === 204 || status === 304;
  const { body, truncated } = await readAtMost(empty ? response : await decoded(response), maxBytes);
  url.hash = "";
  return {
    status,
    statusText,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")])),
    body,
    truncated,
    url: url.href,
    // A decoder that expects more keeps a character cut in half to itself.
    text: () => new TextDecoder().decode(body, { stream: truncated }),
  };
}

/** Stops reading one byte after the limit. */
async function readAtMost(source: AsyncIterable<Buffer>, maxBytes: number): Promise<{ body: Uint8Array; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > maxBytes) break;
  }
  const whole = Buffer.concat(chunks, total);
  return { body: whole.subarray(0, maxBytes), truncated: total > maxBytes };
}
