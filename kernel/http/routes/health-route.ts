import type { HttpRoute } from "@svc/sdk";
import type { KernelPort } from "../../core/boot/kernel-port.ts";

/** `GET /health` (000:L184): is the daemon alive. Open to all; only its own machine hears more than yes or no. */
export function healthRoute(port: KernelPort): HttpRoute {
  return {
    method: "GET",
    path: "/health",
    guard: "open",
    handle({ caller }) {
      const health = port.health();
      return caller.local ? health : { ok: health.ok, state: health.state };
    },
  };
}
