import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ERRORS, type ErrorCode, fail } from "../base/errors.ts";
import { noteRefusedConnection, openFilesLimit } from "../base/open-files.ts";
import { createSurface, type Surface, type SurfaceOptions } from "./surface.ts";

/** Timeouts of a client, in milliseconds. */
export interface HttpTimeouts {
  /** To send its headers; default 10 s. */
  readonly headers: number;
  /** To send its whole request; default 30 s. Answers, streams among them, may take as long as they like. */
  readonly request: number;
  /** Interval at which both are checked; default 2 s. */
  readonly check: number;
}

/** The options of a surface and the socket time limits. */
export interface HttpServerOptions extends SurfaceOptions {
  readonly timeouts?: HttpTimeouts;
}

/** A server with our routes, or only the request handler for another server (`handle`). */
export interface HttpServer extends Surface {
  /** Opens the port and answers with the real one. Rejects with `EADDRINUSE` and its like. */
  listen(at: { readonly host: string; readonly port: number }): Promise<{ readonly host: string; readonly port: number }>;
  /** Where it listens; undefined when it does not. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Accepts no new connection, waits at most `graceMs` for requests in progress, then closes them. */
  close(options: { readonly graceMs: number }): Promise<void>;
  /** The server of node:http behind it. */
  readonly server: Server;
}

const TIMEOUTS: HttpTimeouts = { headers: 10_000, request: 30_000, check: 2_000 };
/** Longer than the 60 s for which proxies commonly keep a connection: so the proxy is the one that closes it. */
const KEEP_ALIVE_MS = 72_000;
const SWEEP_MS = 20;
/** Descriptors kept free of connections: for files, for programs and for connections to others. */
const KEPT_FREE = 256;

/** Creates the server; `listen` opens its port. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { headers, request, check } = options.timeouts ?? TIMEOUTS;
  const surface = createSurface(options);
  const server = createServer({
    requestTimeout: request,
    headersTimeout: headers,
    connectionsCheckingInterval: check,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A missing Host is refused by the admission, in the common form.
    requireHostHeader: false,
  });
  // 0: Node drops no header silently; the size of all headers is limited, and admission limits their number.
  server.maxHeadersCount = 0;
  let closing = false;
  // Browsers and connection pools open them ahead; to the server they look busy, and it would wait for their first request.
  const unused = new Set<Socket>();
  let room: DescriptorRoom | undefined;
  server.on("connection", (socket: Socket) => {
    if (room !== undefined && descriptorOf(socket) > room.highest) return refuseForFiles(socket, room.limit, options);
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  const take = (asked: IncomingMessage, response: ServerResponse, proceed?: () => void) => {
    unused.delete(asked.socket);
    if (closing) response.setHeader("connection", "close");
    void surface.handle(asked, response, "", proceed);
  };
  server.on("request", (asked, response) => take(asked, response));
  // A client that sends `Expect: 100-continue` is answered after admission, guard and `before`: a refused body is never sent.
  server.on("checkContinue", (asked, response) => take(asked, response, () => response.writeContinue()));
  server.on("clientError", refuseConnection);
  let address: { host: string; port: number } | undefined;

  return {
    handle: (asked, response, prefix, proceed) => surface.handle(asked, response, prefix, proceed),
    routes: () => surface.routes(),
    requireServable: (route) => surface.requireServable(route),
    changed: () => surface.changed(),
    drain: () => surface.drain(),
    endStreams: () => surface.endStreams(),
    server,
    get address() {
      return address;
    },
    async listen({ host, port }) {
      // Rejects with the error, where there is one in place of the event.
      const listening = once(server, "listening");
      server.listen({ host, port });
      await listening;
      room = roomOf(server);
      const bound = server.address() as AddressInfo;
      address = { host: bound.address, port: bound.port };
      return address;
    },
    async close({ graceMs }) {
      closing = true;
      surface.drain();
      for (const socket of unused) socket.destroy();
      if (!server.listening) return;
      // A connection that was busy when the closing began is idle later, and the server would wait for its keep-alive to run out.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => {
        surface.endStreams();
        server.closeAllConnections();
      }, graceMs);
      try {
        await new Promise((resolve) => server.close(resolve));
      } finally {
        clearInterval(sweep);
        clearTimeout(cut);
        address = undefined;
      }
    },
  };
}

const REFUSALS: Readonly<Record<string, readonly [status: string, code: ErrorCode]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "SVC_HTTP_SLOW"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "SVC_HTTP_HEADERS"],
};

/** The number of the descriptor behind a socket or server, which Node keeps on its handle; -1 where it has none. */
function descriptorOf(of: Socket | Server): number {
  return (of as unknown as { readonly _handle?: { readonly fd?: number } | null })._handle?.fd ?? -1;
}

/** The limit on open files, and the highest descriptor that a connection may have. */
interface DescriptorRoom {
  readonly limit: number;
  readonly highest: number;
}

/**
 * Part of the descriptors is kept for files: without one no module can be loaded, and Node never tries again to load one that failed. The system gives
 * out the lowest free number, so a connection above `highest` means that all below are in use, by connections or anything else. Undefined where the
 * limit is unknown.
 */
function roomOf(server: Server): DescriptorRoom | undefined {
  const limit = openFilesLimit();
  return limit === undefined ? undefined : { limit, highest: limit - 1 - Math.min(KEPT_FREE, Math.floor((limit - descriptorOf(server)) / 2)) };
}

/** Answers a connection for which no descriptor is left, and closes it at once. */
function refuseForFiles(socket: Socket, limit: number, { headers, log }: HttpServerOptions): void {
  const { message, code } = fail("SVC_HTTP_CONNECTIONS", { limit });
  if (noteRefusedConnection(message)) log.warn(message);
  // The client may be gone already.
  socket.on("error", () => {});
  endWith(socket, "503 Service Unavailable", { error: message, code }, { ...headers?.(), "retry-after": "1" });
  socket.destroySoon();
}

/** Malformed HTTP: send a JSON error, then close the connection. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, code] = REFUSALS[error.code ?? ""] ?? ["400 Bad Request", "SVC_HTTP_REQUEST"];
  endWith(socket, status, { error: ERRORS[code][1], code });
}

/** Writes a JSON answer to a socket on which no request is handled, and ends it. */
function endWith(
  socket: Socket,
  status: string,
  answer: { readonly error: string; readonly code: string },
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(answer);
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n${more.join("")}\r\n${body}`,
  );
}
