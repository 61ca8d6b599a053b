import type { HttpRoute } from "@svc/sdk";
import type { KernelPort } from "../../core/boot/kernel-port.ts";

/** `GET /channels`: every channel with its state, what its platform can do, and how much waits to be sent. */
export function channelsRoute(port: KernelPort): HttpRoute {
  return { method: "GET", path: "/channels", guard: "peer", handle: async () => ({ channels: await port.channels() }) };
}

/** `POST /channels/:name/test`: asks the platform who we are; answers `{ok: true, detail}`, and 502 with the platform's words when it refuses. */
export function testChannelRoute(port: KernelPort): HttpRoute {
  return {
    method: "POST",
    path: "/channels/:name/test",
    guard: "loopback",
    handle: async ({ params, signal }) => ({ ok: true, detail: await port.testChannel(params.name as string, signal) }),
  };
}
