import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestOptions, request as requestPlain, type Server, type ServerResponse } from "node:http";
import { request as requestSecure } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectSecure, rootCertificates } from "node:tls";
import { onAbort } from "../time.ts";

/** The only address that an engine reaches through a relay, and the headers that the relay adds to its requests. */
export interface Vendor {
  /** The address of the vendor's API, as the engine would be given it. */
  readonly base: string;
  /** Beginnings of paths that the engine needs. Everything else is refused. */
  readonly paths: readonly string[];
  /** Replaced in each request, lower case: so the engine holds no key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that are taken out, lower case, such as the placeholder of a key. */
  readonly without: readonly string[];
  /** An HTTP proxy on the way to a secure address, with its credentials where it wants them. */
  readonly proxy?: string;
  /** Certificates that are trusted beside the system's, as PEM. */
  readonly ca?: string;
}

/** A relay that listens on a Unix socket. */
export interface Relay {
  readonly socket: string;
  close(): Promise<void>;
}

/** Of one connection only, so not for the next one. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"];

/**
 * Listens on `socket` and passes requests on to the vendor, streamed both ways. No other address can be named: not by the path, not by
 * `Host`, not by CONNECT. Rejects when the socket cannot be made.
 */
export async function openRelay(socket: string, vendor: Vendor): Promise<Relay> {
  const server = serverFor((request, response) => void pass(request, response, vendor));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  return { socket, close: () => closed(server) };
}

/** A relay on loopback: a caller that presents its token may use it, and learns nothing of the vendor's key. */
export interface LoopbackRelay {
  readonly port: number;
  /** Random token that an engine presents in place of the key, in the same manner. Valid until `retire` or `close`. */
  readonly token: string;
  /** Refuses new requests; requests in progress complete. */
  retire(): void;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** As `openRelay`, on a free port of this machine, for engines that are in no network of their own. Keeps no process alive. */
export async function openLoopbackRelay(vendor: Vendor): Promise<LoopbackRelay> {
  const token = `svc-relay-${randomBytes(24).toString("hex")}`;
  let retired = false;
  const server = serverFor((request, response) => {
    if (!retired && presents(request, token)) return void pass(request, response, vendor);
    response.writeHead(401, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ type: "error", error: { type: "relay", message: "this relay serves the engines of its daemon only" } }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    token,
    retire() {
      retired = true;
      // Also closes the connections that carry no exchange now.
      server.close();
    },
    close: () => closed(server),
  };
}

/** Where engines put their key. */
function presents({ headers }: IncomingMessage, token: string): boolean {
  const given = [headers.authorization?.replace(/^Bearer /i, ""), headers["x-api-key"], headers["x-goog-api-key"]];
  const expected = Buffer.from(token);
  return given.some((value) => {
    const bytes = Buffer.from(typeof value === "string" ? value : "");
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}

function serverFor(handle: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const server = createServer(handle);
  // The server has let go of the connection here: what happens to it is ours, and one that stays half open would keep `close` waiting.
  const refuse = (_request: IncomingMessage, stream: Duplex) => {
    const over = () => void stream.destroy();
    stream.on("error", over).end("HTTP/1.1 403 Forbidden\r\n\r\n", over);
  };
  server.on("connect", refuse);
  server.on("upgrade", refuse);
  // An answer may be silent for as long as the vendor thinks.
  server.requestTimeout = 0;
  return server;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function pass(request: IncomingMessage, response: ServerResponse, vendor: Vendor): Promise<void> {
  const refuse = (status: number, message: string) => {
    if (response.headersSent) return void response.destroy();
    response.writeHead(status, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ type: "error", error: { type: "relay", message } }));
  };
  const path = pathOf(request.url ?? "");
  if (path === undefined || !vendor.paths.some((allowed) => path === allowed || path.startsWith(`${allowed}/`) || path.startsWith(`${allowed}?`)))
    return refuse(403, "this path is not passed on");
  const base = new URL(vendor.base);
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !vendor.without.includes(name)));
  // The engine may be gone at any moment, also while the way to the vendor is being made.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    const route = await routeTo(base, vendor, gone.signal);
    const onward = (base.protocol === "https:" ? requestSecure : requestPlain)({
      ...route,
      method: request.method,
      path: base.pathname.replace(/\/$/, "") + path,
      headers: { ...headers, ...vendor.headers, host: base.host },
    });
    onward.on("error", (error) => refuse(502, `the vendor cannot be reached: ${error.message}`));
    onward.on("response", (answer) => {
      const { statusCode: status = 0 } = answer;
      // A parser takes it, `writeHead` throws for it, and an error here would end the daemon.
      if (status < 200) {
        answer.resume();
        return refuse(502, `the vendor answered with the status ${status}, which HTTP does not have`);
      }
      const kept = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.includes(name));
      response.writeHead(status, Object.fromEntries(kept));
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    onAbort(gone.signal, () => void onward.destroy());
    request.on("error", () => onward.destroy());
    request.pipe(onward);
  } catch (error) {
    refuse(502, `the vendor cannot be reached: ${(error as Error).message}`);
  }
}

/** `//other/x` and `/../x` could be read as another address by a proxy. */
const pathOf = (url: string): string | undefined => (/^\/(?!\/)[^\s\\#]*$/.test(url) && !/(^|\/)(\.|%2e){1,2}(\/|$|\?)/i.test(url) ? url : undefined);

/** Directly, or by a tunnel through the proxy where the address is a secure one. */
async function routeTo(base: URL, { proxy, ca }: Vendor, gone: AbortSignal): Promise<RequestOptions> {
  const port = base.port || (base.protocol === "https:" ? 443 : 80);
  const host = base.hostname.replace(/^\[|\]$/g, "");
  const trust = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
  if (proxy === undefined || base.protocol === "http:") return { host, port, ...trust };
  const through = new URL(proxy);
  const credentials = `${decodeURIComponent(through.username)}:${decodeURIComponent(through.password)}`;
  const sign: Record<string, string> = through.username === "" ? {} : { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
  const target = `${base.hostname}:${port}`;
  return await new Promise((resolve, reject) => {
    const asking = requestPlain({ host: through.hostname, port: through.port || 80, method: "CONNECT", path: target, headers: { host: target, ...sign } });
    const stop = onAbort(gone, () => void asking.destroy(new Error("the engine is gone")));
    asking.on("error", reject);
    asking.on("connect", (answer, tunnel) => {
      stop();
      if (answer.statusCode !== 200) {
        // A proxy keeps it open for another question.
        tunnel.destroy();
        return reject(new Error(`the proxy answered ${answer.statusCode}`));
      }
      // No agent: one would make connections of its own.
      resolve({ createConnection: () => connectSecure({ socket: tunnel, servername: host, ...trust }) });
    });
    asking.end();
  });
}
