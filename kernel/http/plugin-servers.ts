import type { Authority, ProvidedServer, ScopeTable, ServerHandle } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { RootLog } from "../base/log.ts";
import type { ServerAddress } from "../core/boot/http-port.ts";
import type { routesOf } from "../core/host/live.ts";
import { onDispose, type Scope } from "../core/host/scope.ts";
import type { HttpServer } from "./index.ts";
import type { Reach } from "./reach.ts";
import type { SurfaceOptions } from "./surface.ts";

/** The servers that plugins provide, beside the daemon's own. */
export interface Servers {
  provide(scope: Scope, server: ProvidedServer): ServerHandle;
  /** Undefined when no running plugin provides it. */
  find(name: string): HttpServer | undefined;
  /** Addresses of the listening servers. */
  addresses(): readonly ServerAddress[];
  /** Routes or authorities are others than before. */
  changed(): void;
}

/** Dependencies of the servers of plugins. */
export interface ServersDeps {
  /** Ports may be opened; else the servers are only there to be mounted. */
  readonly listen: boolean;
  readonly reach: Pick<Reach, "served">;
  routes(): ReturnType<typeof routesOf>;
  authorities(): readonly Authority[];
  readonly scopes: ScopeTable;
  readonly isIsolated: SurfaceOptions["isIsolated"];
  readonly isChild: SurfaceOptions["isChild"];
  readonly log: RootLog;
}

/** The kernel's own server. */
const DAEMON = "daemon";
/** Grace period of requests in progress when such a server closes, in milliseconds. */
export const GRACE_MS = 2_000;
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there; end it or choose another port",
  EADDRNOTAVAIL: "this machine does not have that address",
  EACCES: "this user may not open that port; choose one above 1023",
};

/** Creates the error of a port that cannot be opened, with the next step. */
export function portRefused(server: string, { host, port }: Pick<ProvidedServer, "host" | "port">, error: unknown): Error {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return fail("SVC_SERVER_PORT", { server, address: `${host}:${port}`, reason: REASONS[code] ?? message });
}

/** Creates the servers that plugins provide; each opens its port when its plugin starts it. */
export function createServers({ listen, reach, routes, authorities, scopes, isIsolated, isChild, log }: ServersDeps): Servers {
  const provided = new Map<string, ProvidedServer>();
  // One that only is mounted stays while its plugin is set up anew: the application that carries it cannot mount it twice.
  const made = new Map<string, HttpServer>();

  async function make(name: string): Promise<HttpServer> {
    const { createHttpServer } = await import("./index.ts");
    return createHttpServer({
      name,
      routes: () => (provided.has(name) ? routes() : []),
      authorities,
      scopes,
      isIsolated,
      isChild,
      localScopes: () => provided.get(name)?.localScopes ?? [],
      headers: () => provided.get(name)?.headers ?? {},
      ...reach.served(() => provided.get(name)?.host ?? ""),
      log: log.child(name),
    });
  }

  return {
    provide(scope, server) {
      const { name, host, port } = server;
      if (name === DAEMON) throw fail("SVC_PLUGIN_NAME_TAKEN", { plugin: scope.id, kind: "server", name, owner: "the kernel" });
      const handle: ServerHandle = {
        async listen() {
          provided.set(name, server);
          const http = made.get(name) ?? (await make(name));
          // The plugin was stopped meanwhile and cannot close the port: close it here.
          if (provided.get(name) !== server) return undefined;
          made.set(name, http);
          http.changed();
          if (!listen) return undefined;
          try {
            return await http.listen({ host, port });
          } catch (error) {
            throw portRefused(name, { host, port }, error);
          }
        },
        async close() {
          if (provided.get(name) !== server) return;
          provided.delete(name);
          const http = made.get(name);
          http?.changed();
          if (!listen) return;
          made.delete(name);
          await http?.close({ graceMs: GRACE_MS });
        },
      };
      onDispose(scope, () => void handle.close());
      return handle;
    },
    find: (name) => (provided.has(name) ? made.get(name) : undefined),
    addresses: () => [...made].flatMap(([name, { address }]) => (address === undefined ? [] : [{ name, ...address }])),
    changed() {
      for (const http of made.values()) http.changed();
    },
  };
}
