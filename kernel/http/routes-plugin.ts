import type { CarryingApp, RoutesPlugin } from "../core/boot/http-port.ts";
import type { Surface } from "./surface.ts";

/** A surface as a plugin of fastify: below the prefix with which it is registered, behind the application's own routes. */
export const routesPlugin =
  (surface: Pick<Surface, "handle" | "drain">): RoutesPlugin =>
  (app: CarryingApp, _options, done) => {
    app.addHook("preClose", (next) => {
      surface.drain();
      next();
    });
    // Before the body is read: authorization needs only the headers.
    app.addHook("onRequest", (request, reply) => {
      const { raw } = reply.hijack();
      const headers = reply.getHeaders();
      for (const name in headers) raw.setHeader(name, headers[name] as string);
      void surface.handle(request.raw, raw, app.prefix);
    });
    app.all("/*", () => undefined);
    done();
  };
