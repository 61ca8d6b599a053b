import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /health` (000:L184): whether the daemon is alive. Public; only callers on this machine get more than yes or no. */
export function healthRoute(kernel: Pick<Kernel, "health">): HttpRoute {
  return {
    method: "GET",
    path: "/health",
    summary: "Is the daemon alive; on its own machine, what runs and what is wrong",
    guard: "open",
    handle({ caller }) {
      const health = kernel.health();
      return caller.local ? health : { ok: health.ok, state: health.state };
    },
  };
}

/**
 * `GET /ready`: whether the daemon accepts work. 200 while it runs and can store what it accepts; 503 while it starts, drains or has lost its store.
 * Public; only callers on this machine get the reason.
 */
export function readyRoute(kernel: Pick<Kernel, "health">): HttpRoute {
  return {
    method: "GET",
    path: "/ready",
    summary: "May work be sent here",
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
    summary: "A line for people who open the address in a browser",
    guard: "open",
    handle: (_request, reply) =>
      reply.send("svc is running. Its state is at /health, its API in the README; talk to it with: svc daemon send\n", "text/plain; charset=utf-8"),
  };
}

/** `POST /reload` (000:L183): takes the configuration file anew. 400 with its path when it is broken; then the old one stays in force. */
export function reloadRoute(kernel: Pick<Kernel, "reload">): HttpRoute {
  return {
    method: "POST",
    path: "/reload",
    summary: "Takes the configuration file anew",
    guard: "peer",
    body: { type: "object", additionalProperties: false },
    handle: () => kernel.reload(),
  };
}

/**
 * `POST /restart {by, reason}` (001:L208, OPS-02): 202 with the time at which it begins; 409 with the reason when `by` may not and no
 * window is near; 400 when the configuration could not start again; 501 where the kernel runs inside a program that does not start it anew.
 */
export function restartRoute(kernel: Pick<Kernel, "restart">): HttpRoute {
  return {
    method: "POST",
    path: "/restart",
    summary: "Restarts the daemon, now or in the next window",
    guard: "peer",
    body: { type: "object", properties: { by: { type: "string", minLength: 1, maxLength: 200 }, reason: { type: "string", maxLength: 1000 } } },
    async handle({ body }, reply) {
      const at = await kernel.restart((body ?? {}) as { by?: string; reason?: string });
      reply.status(202);
      return { ok: true, at: new Date(at).toISOString() };
    },
  };
}
