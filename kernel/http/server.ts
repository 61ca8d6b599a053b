import { createRequire } from "node:module";
import type { AddressInfo, Socket } from "node:net";
import type * as Fastify from "fastify";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ERRORS, type ErrorCode, fail } from "../base/errors.ts";
import { failureOf } from "./http-failure.ts";
import { sendJson } from "./reply.ts";
import { createSurface, type Surface, type SurfaceOptions } from "./surface.ts";

// Required, not imported: looking for the names of its exports would take half as long as running it.
const { fastify: createFastify } = createRequire(import.meta.url)("fastify") as typeof Fastify;

/** How long a client may take, in milliseconds. */
export interface HttpTimeouts {
  /** To send its headers; default 10 s. */
  readonly headers: number;
  /** To send its whole request; default 30 s. Answers, streams among them, may take as long as they like. */
  readonly request: number;
  /** How often both are looked at; default 2 s. */
  readonly check: number;
}

/** The options of a surface and the socket time limits. */
export interface HttpServerOptions extends SurfaceOptions {
  readonly timeouts?: HttpTimeouts;
}

/** A server with our routes, or just the routes for a server of somebody else (`mount`). */
export interface HttpServer extends Surface {
  /** Opens the port and answers with the real one. Rejects with `EADDRINUSE` and its like. */
  listen(at: { readonly host: string; readonly port: number }): Promise<{ readonly host: string; readonly port: number }>;
  /** Where it listens; undefined when it does not. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Takes no new connection, waits at most `graceMs` for what is under way, then cuts it off. */
  close(options: { readonly graceMs: number }): Promise<void>;
  readonly fastify: FastifyInstance;
}

const TIMEOUTS: HttpTimeouts = { headers: 10_000, request: 30_000, check: 2_000 };
const SWEEP_MS = 20;

/** Nothing is opened before `listen`. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { headers, request, check } = options.timeouts ?? TIMEOUTS;
  const surface = createSurface(options);
  const app = createFastify({
    logger: false,
    requestTimeout: request,
    // A missing Host is refused by the admission, in the common form.
    http: { headersTimeout: headers, connectionsCheckingInterval: check, requireHostHeader: false },
    forceCloseConnections: "idle",
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: refuseConnection,
    frameworkErrors(error, { method, url }, reply: FastifyReply) {
      const { status, body } = failureOf(error, options.log, { method, path: pathOf(url) });
      sendJson(reply.code(status), body);
    },
  });
  // Nothing is dropped unseen: the size of all headers is limited, and their number by the admission.
  app.server.maxHeadersCount = 0;
  app.register(surface.mount);
  // Browsers and connection pools open them ahead; to the server they look busy, and it would wait for their first request.
  const unused = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  app.server.on("request", ({ socket }) => unused.delete(socket));
  // Methods that no route can have: they do not reach the surface.
  app.setNotFoundHandler(({ method, url }, reply) => {
    const { status, body } = failureOf(fail("SVC_HTTP_NOT_FOUND", { method, target: pathOf(url) }), options.log, { method, path: pathOf(url) });
    sendJson(reply.code(status), body);
  });
  let address: { host: string; port: number } | undefined;

  return {
    mount: surface.mount,
    routes: () => surface.routes(),
    requireServable: (route) => surface.requireServable(route),
    changed: () => surface.changed(),
    drain: () => surface.drain(),
    endStreams: () => surface.endStreams(),
    fastify: app,
    get address() {
      return address;
    },
    async listen({ host, port }) {
      await app.listen({ host, port });
      const bound = app.server.address() as AddressInfo;
      address = { host: bound.address, port: bound.port };
      return address;
    },
    async close({ graceMs }) {
      const { server } = app;
      for (const socket of unused) socket.destroy();
      // A connection that was busy when the closing began is idle later, and the server would wait for its keep-alive to run out.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => {
        surface.endStreams();
        server.closeAllConnections();
      }, graceMs);
      try {
        await app.close();
      } finally {
        clearInterval(sweep);
        clearTimeout(cut);
        address = undefined;
      }
    },
  };
}

/** Routes are checked by the surface and serialised by themselves; the framework's two compilers would be a quarter of the files that a start loads. */
function noCompiler(): never {
  throw new Error("a route of this server has a schema for the framework; give it to the surface instead");
}

const pathOf = (url: string): string => url.split("?")[0] ?? "";

const REFUSALS: Readonly<Record<string, readonly [status: string, code: ErrorCode]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "SVC_HTTP_SLOW"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "SVC_HTTP_HEADERS"],
};

/** What could not even be read as HTTP: a word in the common form, then the end of the connection. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, code] = REFUSALS[error.code ?? ""] ?? ["400 Bad Request", "SVC_HTTP_REQUEST"];
  const body = JSON.stringify({ error: ERRORS[code][1], code });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
