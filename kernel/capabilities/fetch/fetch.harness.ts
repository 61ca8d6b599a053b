import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FetchInit } from "@svc/sdk";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { createFetch } from "./fetch.ts";
import type { ResolvedAddress } from "./lookup.ts";

export const MEGABYTE = 1_048_576;
export const canary = "canary-7d21";

/** The server on loopback that the fetches of a test file go to. */
export interface FarServer {
  readonly server: Server;
  readonly origin: string;
  readonly port: number;
  /** How many connections it was given in this test. */
  connections: number;
  /** What it answers in this test: "reached", unless it is set. */
  handle: (request: IncomingMessage, response: ServerResponse) => unknown;
}

/** Starts it for the file that calls this, and begins each test with no connection and the usual answer. */
export function farServer(): FarServer {
  const server = createServer((request, response) => far.handle(request, response));
  const port = () => (server.address() as AddressInfo).port;
  const far: FarServer = {
    server,
    get origin() {
      return `http://127.0.0.1:${port()}`;
    },
    get port() {
      return port();
    },
    connections: 0,
    handle: () => {},
  };
  beforeAll(async () => {
    server.on("connection", () => {
      far.connections += 1;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    server.closeAllConnections();
    far.connections = 0;
    far.handle = (_, response) => response.end("reached");
  });
  return far;
}

export const fetch = createFetch();
export const trusting =
  (far: FarServer) =>
  (path: string, init: FetchInit = {}) =>
    fetch(far.origin + path, { trustedOrigins: [far.origin], ...init });
/** A fetch for which each name has these addresses. */
export const named = (...addresses: readonly string[]) =>
  createFetch({ resolve: async () => addresses.map((address): ResolvedAddress => ({ address, family: address.includes(":") ? 6 : 4 })) });
