import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/**
 * `POST /restart {by, reason}` (001:L208, OPS-02): 202 with the time at which it begins; 409 with the reason when `by` may not and no
 * window is near; 400 when the configuration could not start again; 501 where the kernel runs inside a program that does not start it anew.
 */
export function restartRoute(kernel: Pick<Kernel, "restart">): HttpRoute {
  return {
    method: "POST",
    path: "/restart",
    guard: "peer",
    body: { type: "object", properties: { by: { type: "string", minLength: 1, maxLength: 200 }, reason: { type: "string", maxLength: 1000 } } },
    async handle({ body }, reply) {
      const at = await kernel.restart((body ?? {}) as { by?: string; reason?: string });
      reply.status(202);
      return { ok: true, at: new Date(at).toISOString() };
    },
  };
}
