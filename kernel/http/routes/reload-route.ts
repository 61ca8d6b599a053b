import type { HttpRoute } from "@svc/sdk";
import type { KernelPort } from "../../core/boot/kernel-port.ts";

/** `POST /reload` (000:L183): takes the configuration file anew. 400 with its path when it is broken; then the old one stays in force. */
export function reloadRoute(port: KernelPort): HttpRoute {
  return { method: "POST", path: "/reload", guard: "peer", body: { type: "object", additionalProperties: false }, handle: () => port.reload() };
}
