import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Log, SvcError } from "@svc/sdk";
import { canonicalAddress, peerOf } from "../base/client-address.ts";
import { type ErrorCode, fail } from "../base/errors.ts";

/** Reason to refuse a request before routing; `status` is the answer's. */
export type Refusal = SvcError;

/** Checks a request by its target, Host and Origin, before routing. Undefined: it may pass. */
export type Admission = (request: IncomingMessage) => Refusal | undefined;

/** Hosts, origins and proxies that a server accepts. Called for each request, so that a reload takes effect at once. */
export interface AdmissionOptions {
  /** Host names of this server, beside loopback and the addresses it is bound to. Called for each request; empty entries are ignored. */
  hosts(): readonly string[];
  /** Whole origins of browser pages that may call it, beside its own, such as `https://panel.example`. */
  origins(): readonly string[];
  /**
   * Other machines may use any name for this one. Only where they can do nothing without a bearer or a signature: their browsers
   * have neither to give away, and peers know this machine by names that this configuration does not list. Default false.
   */
  readonly anyNameFromAfar?: boolean;
  readonly log: Log;
}

const LOCAL_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** Addresses that mean "everywhere": a browser reaches this machine by them, so they identify no host. */
const NOWHERE: ReadonlySet<string> = new Set(["", "0.0.0.0", "::", "[::]"]);
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:[\]/@?#]+)(?::\d{1,5})?$/;

/** More header fields than any browser or proxy sends. By default Node silently drops the fields after the first 1,000. */
const MAX_HEADERS = 200;

/** The one gate in front of every server this process opens: against DNS rebinding, foreign pages and odd request targets. */
export function createAdmission(options: AdmissionOptions): Admission {
  return (request) => {
    const code = judge(request, options);
    if (code === undefined) return undefined;
    options.log.debug({ code, address: request.socket.remoteAddress }, "request not admitted");
    return fail(code);
  };
}

function judge(request: IncomingMessage, { hosts, origins, anyNameFromAfar = false }: AdmissionOptions): ErrorCode | undefined {
  const { url = "", rawHeaders, headers, method, socket } = request;
  if (url.charCodeAt(0) !== 47 || url.charCodeAt(1) === 47 || url.charCodeAt(1) === 92) return "SVC_HTTP_TARGET";
  if (rawHeaders.length > 2 * MAX_HEADERS) return "SVC_HTTP_HEADERS";
  let named = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === "host") named += 1;
  }
  if (named !== 1) return "SVC_HTTP_HOST_COUNT";
  const host = (headers.host ?? "").toLowerCase();
  const name = HOST.exec(host)?.[1];
  if (name === undefined) return "SVC_HTTP_HOST";
  const isOurs = LOCAL_NAMES.has(name) || isBound(name, socket.localAddress) || isListed(name, hosts());
  if (!isOurs && !(anyNameFromAfar && !peerOf(socket).own)) return "SVC_HTTP_HOST";
  const { origin } = headers;
  if (origin !== undefined && !isSame(origin, host) && !origins().some((allowed) => allowed !== "" && allowed.toLowerCase() === origin.toLowerCase()))
    return "SVC_HTTP_ORIGIN";
  if (origin === undefined && method !== "GET" && method !== "HEAD" && headers["sec-fetch-site"] === "cross-site") return "SVC_HTTP_ORIGIN";
  return undefined;
}

/** An IP address as host is accepted if the connection itself came to that address: no name was resolved. */
function isBound(name: string, localAddress: string | undefined): boolean {
  const literal = name.startsWith("[") ? name.slice(1, -1) : name;
  return isIP(literal) !== 0 && localAddress !== undefined && canonicalAddress(localAddress) === canonicalAddress(literal);
}

function isListed(name: string, hosts: readonly string[]): boolean {
  return hosts.some((entry) => {
    const listed = entry.toLowerCase();
    return !NOWHERE.has(listed) && (listed === name || `[${listed}]` === name);
  });
}

function isSame(origin: string, host: string): boolean {
  const lower = origin.toLowerCase();
  return lower === `http://${host}` || lower === `https://${host}`;
}
