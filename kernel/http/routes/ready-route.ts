import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/**
 * `GET /ready`: may work be sent here. 200 while it runs and can keep what it takes; 503 while it starts, drains or has lost its store.
 * Open to all; only its own machine hears why not.
 */
export function readyRoute(kernel: Pick<Kernel, "health">): HttpRoute {
  return {
    method: "GET",
    path: "/ready",
    guard: "open",
    handle({ caller }, reply) {
      const { ok, state, problems } = kernel.health();
      if (!ok) reply.status(503).header("retry-after", "5");
      if (!caller.local) return { ready: ok };
      const reasons = state === "running" ? problems : [`the daemon is ${state}`, ...problems];
      return { ready: ok, state, reasons: ok ? [] : reasons };
    },
  };
}

/** `GET /`: a line of text for people who open the address in a browser. */
export function rootRoute(): HttpRoute {
  return {
    method: "GET",
    path: "/",
    guard: "open",
    handle: (_request, reply) =>
      reply.send("svc is running. Its state is at /health, its API in the README; talk to it with: svc daemon send\n", "text/plain; charset=utf-8"),
  };
}
