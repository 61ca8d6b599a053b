import type { IncomingMessage, ServerResponse } from "node:http";
import type { Authority, HttpReply, HttpRequest, HttpRoute, ProvidedServer, ScopeTable, ServerHandle } from "@svc/sdk";
import type { ServedFolder } from "../../base/file-root.ts";
import type { RootLog } from "../../base/log.ts";
import type { routesOf } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { Kernel } from "./kernel-api.ts";

/** A request of any server on node:http: its own, Express's, Koa's. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** The used part of a fastify application (5.x) that carries the routes of a kernel. */
export interface CarryingApp {
  readonly prefix: string;
  all(path: string, handler: () => undefined): unknown;
  addHook(name: "preClose", hook: (done: () => void) => void): unknown;
  addHook(name: "onRequest", hook: (request: { readonly raw: IncomingMessage }, reply: CarryingReply) => void): unknown;
}

/** An answer of such an application, as far as its hooks have made one. */
export interface CarryingReply {
  readonly raw: ServerResponse;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): CarryingReply;
}

/** For `app.register` of fastify. */
export type RoutesPlugin = (app: CarryingApp, options: object, done: () => void) => void;

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a provided server listens. */
export interface ServerAddress extends Address {
  readonly name: string;
}

/** Dependencies of the HTTP servers of a kernel; functions are called when their answer matters. */
export interface HttpDeps {
  /** The kernel whose routes its own server serves; undefined where it serves none. */
  readonly kernel: Kernel | undefined;
  /** Ports may be opened; else the servers are only there to be mounted. */
  readonly listen: boolean;
  readonly config: () => Readonly<Record<string, unknown>>;
  /** Takes the file of the local secret. */
  readonly folder: string;
  /** The identity of the data folder, once it is known. */
  readonly instance: () => string | undefined;
  readonly routes: () => ReturnType<typeof routesOf>;
  readonly authorities: () => readonly Authority[];
  /** Scopes that plugins declare and bearers can hold. */
  readonly scopes: ScopeTable;
  readonly log: RootLog;
}

/** The HTTP servers of a kernel: its own, and those that plugins provide. */
export interface HttpServing {
  /** Makes a new local secret, where the configuration wants one, and the kernel's own server, where ports may be opened. */
  prepare(): Promise<void>;
  /** Opens the port of the kernel's own server. */
  listen(): Promise<Address>;
  readonly address: Address | undefined;
  /** The servers of plugins that listen now. */
  readonly servers: readonly ServerAddress[];
  /** The routes or authorities of plugins are others than before. */
  changed(): void;
  provide(scope: Scope, server: ProvidedServer): ServerHandle;
  /** Throws for a route that the server it names cannot serve. */
  requireServable(route: HttpRoute): void;
  /** Answers `GET` or `HEAD` with one file of a folder. */
  serveFile(served: ServedFolder, request: HttpRequest, reply: HttpReply): Promise<void>;
  /** The kernel's own server, or the one of that name, as a fastify plugin. Throws `SVC_SERVER_UNKNOWN`. */
  mount(server: string): Promise<RoutesPlugin>;
  handler(server: string): Promise<RequestHandler>;
  /** Closes the kernel's own server; those of plugins end with their plugins. */
  close(): Promise<void>;
  /** Removes the local secret: last, when no server is left. */
  forget(): void;
}

/** The room that speaks HTTP. */
export interface HttpPart {
  /** Loads the servers' code, which is otherwise loaded with the first server. */
  load(): Promise<unknown>;
  open(deps: HttpDeps): HttpServing;
}
