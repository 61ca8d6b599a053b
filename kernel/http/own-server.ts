import { fail } from "../base/errors.ts";
import type { RequestHandler } from "../core/boot/http-port.ts";
import type { HttpServer, HttpServerOptions } from "./index.ts";
import type { OwnedRoute } from "./router.ts";
import type { RoutesKernel } from "./routes/index.ts";

/** The kernel's HTTP API. The HTTP room is imported only when a port is opened or the routes are mounted. */
export interface OwnServer {
  readonly current: HttpServer | undefined;
  ensure(): Promise<HttpServer>;
  /** Returns this server, or the one of that name that a running plugin provides. Throws `SVC_SERVER_UNKNOWN`. */
  named(server: string): Promise<HttpServer>;
  handler(server: string): Promise<RequestHandler>;
  /** Answers with the one that has to be closed. */
  take(): HttpServer | undefined;
}

/** Dependencies of the daemon's own server. */
export interface OwnServerDeps {
  readonly kernel: RoutesKernel | undefined;
  readonly options: Omit<HttpServerOptions, "name" | "routes">;
  readonly routes: HttpServerOptions["routes"];
  readonly find: (server: string) => HttpServer | undefined;
}

/** Creates the daemon's own server; it is built on first use and listens on request. */
export function createOwnServer({ kernel, options, routes, find }: OwnServerDeps): OwnServer {
  let current: HttpServer | undefined;

  async function ensure(): Promise<HttpServer> {
    const { createHttpServer, kernelRoutes, openapiRoute } = await import("./index.ts");
    if (kernel === undefined) throw fail("SVC_KERNEL_STOPPED");
    if (current === undefined) {
      const answers = () => import("./routes/answers.ts");
      const all = () => [...own, ...routes()];
      const own: readonly OwnedRoute[] = [...kernelRoutes(kernel), openapiRoute(kernel, () => all())].map((route) => ({ ...route, owner: "kernel", answers }));
      current = createHttpServer({ ...options, name: "daemon", routes: all });
    }
    return current;
  }

  async function named(server: string): Promise<HttpServer> {
    const found = server === "daemon" ? await ensure() : find(server);
    if (found === undefined) throw fail("SVC_SERVER_UNKNOWN", { server });
    return found;
  }

  return {
    get current() {
      return current;
    },
    ensure,
    named,
    async handler(server) {
      const found = await named(server);
      return (request, response) => {
        // Koa presets 404; the handler sets its own status.
        response.statusCode = 200;
        void found.handle(request, response);
      };
    },
    take() {
      const taken = current;
      current = undefined;
      return taken;
    },
  };
}
