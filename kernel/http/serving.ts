import type { Socket } from "node:net";
import { requireMeant } from "../base/instance.ts";
import { INSTANCE } from "../base/instance-mark.ts";
import type { HttpDeps, HttpServing } from "../core/boot/http-port.ts";
import { createOwnServer } from "./own-server.ts";
import { createServers } from "./plugin-servers.ts";
import { reachOf } from "./reach.ts";
import type { SurfaceOptions } from "./surface.ts";

/** Grace period of requests in progress when the kernel's own server closes. */
const GRACE_MS = 2_000;

/** Owners of local connections. */
export interface SocketOwners {
  readonly isIsolated: SurfaceOptions["isIsolated"];
  /** Whether a daemon on that data folder has started it. */
  isStartedBy(dataFolder: string, socket: Socket): Promise<boolean>;
  /** Resolves with the task for which the program was started; undefined at once where no program works for one. */
  taskBehind(dataFolder: string, socket: Socket): Promise<string | undefined> | undefined;
}

/** The HTTP room as the core sees it: its implementation is loaded with the first server. */
export function openServing(deps: HttpDeps, { isIsolated, isStartedBy, taskBehind }: SocketOwners): HttpServing {
  const { kernel, listen, instance, routes, authorities, scopes } = deps;
  const log = deps.log.child("http");
  const reach = reachOf(deps.config, deps.folder);
  const isChild = (socket: Socket) => isStartedBy(deps.folder, socket);
  const plugins = createServers({ listen, reach, routes, authorities, scopes, isIsolated, isChild, log });
  const own = createOwnServer({
    kernel,
    routes,
    find: plugins.find,
    options: {
      authorities,
      scopes,
      isIsolated,
      isChild,
      taskBehind: (socket: Socket) => taskBehind(deps.folder, socket),
      taskOf: async (claimed: string) => (await kernel?.caller(claimed)) ?? {},
      ...reach.served(() => reach.bind().host),
      admit: (headers) => requireMeant(headers, instance()),
      headers: () => {
        const id = instance();
        return id === undefined ? {} : { [INSTANCE]: id };
      },
      log,
    },
  });
  return {
    async prepare() {
      reach.open();
      if (listen) await own.ensure();
    },
    listen: async () => (await own.ensure()).listen(reach.bind()),
    get address() {
      return own.current?.address;
    },
    get servers() {
      return plugins.addresses();
    },
    changed() {
      own.current?.changed();
      plugins.changed();
    },
    provide: plugins.provide,
    requireServable: (route) => (route.server === undefined ? own.current : plugins.find(route.server))?.requireServable(route),
    serveFile: async (served, request, reply) => (await import("./static-files.ts")).serveFile(served, request, reply),
    mount: async (server) => (await import("./routes-plugin.ts")).routesPlugin(await own.named(server)),
    handler: own.handler,
    close: async () => own.take()?.close({ graceMs: GRACE_MS }),
    forget: reach.close,
  };
}
