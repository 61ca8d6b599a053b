import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /health` (000:L184): is the daemon alive. Open to all; only its own machine hears more than yes or no. */
export function healthRoute(kernel: Pick<Kernel, "health">): HttpRoute {
  return {
    method: "GET",
    path: "/health",
    guard: "open",
    handle({ caller }) {
      const health = kernel.health();
      return caller.local ? health : { ok: health.ok, state: health.state };
    },
  };
}
