import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `POST /reload` (000:L183): takes the configuration file anew. 400 with its path when it is broken; then the old one stays in force. */
export function reloadRoute(kernel: Pick<Kernel, "reload">): HttpRoute {
  return { method: "POST", path: "/reload", guard: "peer", body: { type: "object", additionalProperties: false }, handle: () => kernel.reload() };
}
