import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /channels`: every channel with its state, what its platform can do, and how much waits to be sent. */
export function channelsRoute(kernel: Pick<Kernel, "channels">): HttpRoute {
  return { method: "GET", path: "/channels", guard: "peer", handle: async () => ({ channels: await kernel.channels() }) };
}

/** `POST /channels/:name/test`: asks the platform who we are; answers `{ok: true, detail}`, and 502 with the platform's words when it refuses. */
export function testChannelRoute(kernel: Pick<Kernel, "testChannel">): HttpRoute {
  return {
    method: "POST",
    path: "/channels/:name/test",
    guard: "loopback",
    handle: async ({ params, signal }) => ({ ok: true, detail: await kernel.testChannel(params.name as string, signal) }),
  };
}
