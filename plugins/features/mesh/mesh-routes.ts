import { type HttpRoute, type Peers, type PluginContext, svcError } from "@svc/sdk";
import type { HealthBook } from "./peer-health.ts";
import type { FoundDaemon } from "./record-book.ts";
import { requirePeer } from "./task-route.ts";

const MOST_ANNOUNCED = 2_000;
const MOST_SUMMARY = 280;

/** `POST /mesh/announce` (000:L310): one event for this daemon and those that follow it; it wakes only agents that subscribe to it. */
export function announceRoutes({ events, agents }: Pick<PluginContext, "events" | "agents">): readonly HttpRoute[] {
  const route: Pick<HttpRoute, "method" | "body" | "handle"> = {
    method: "POST",
    body: {
      type: "object",
      required: ["text"],
      properties: { text: { type: "string", minLength: 1 }, by: { type: "string", minLength: 1, maxLength: 200 } },
    },
    handle({ body }) {
      const { text, by } = body as { text: string; by?: string };
      if ([...text].length > MOST_ANNOUNCED)
        throw svcError("SVC_MESH_ANNOUNCE", `'text' may have ${MOST_ANNOUNCED} characters.`, { status: 400, field: "text" });
      const agentId = by !== undefined && agents.get(by) !== undefined ? by : undefined;
      const words = by === undefined || agentId !== undefined ? text : `${by}: ${text}`;
      const summary = [...words].slice(0, MOST_SUMMARY).join("");
      const { id } = events.publish({ kind: "announce", type: "announce", summary, text, ...(agentId === undefined ? {} : { agentId }) });
      return { ok: true, id };
    },
  };
  return [
    { ...route, path: "/mesh/announce", guard: "peer" },
    // For people in a browser.
    { ...route, server: "dashboard", path: "/api/admin/mesh/announce", guard: "scope:dashboard:write", forPeople: true },
  ];
}

/** `GET /mesh/node`, for peers: under which id this daemon publishes. */
export const nodeRoute = (node: PluginContext["node"]): HttpRoute => ({
  method: "GET",
  path: "/mesh/node",
  guard: "peer",
  handle: () => ({ id: node.id, name: node.name }),
});

/**
 * `GET /mesh/peers` and `POST /mesh/peers/:name/test`, for this machine, and the same on the dashboard's server for people. `found` are daemons
 * that announce themselves and are no peers: they are shown, and nothing else.
 */
export function peerRoutes(peers: Peers, health: HealthBook, found: () => readonly FoundDaemon[]): readonly HttpRoute[] {
  const isPeer = (one: FoundDaemon) => peers.list().some(({ name, url }) => name === one.name && url.replace(/\/+$/, "") === one.url);
  const list = () => ({
    peers: peers.list().map((peer) => ({ ...peer, ...health.of(peer.name) })),
    found: found().filter((one) => !isPeer(one)),
  });
  const test: HttpRoute["handle"] = ({ params }) => {
    requirePeer(peers, params["name"] as string);
    return health.check(params["name"] as string);
  };
  // For people in a browser.
  const admin = { server: "dashboard", guard: "scope:dashboard:write" } as const;
  return [
    { method: "GET", path: "/mesh/peers", guard: "loopback", handle: list },
    { method: "POST", path: "/mesh/peers/:name/test", guard: "loopback", handle: test },
    { ...admin, method: "GET", path: "/api/admin/mesh/peers", handle: list },
    { ...admin, method: "POST", path: "/api/admin/mesh/peers/:name/test", handle: test },
  ];
}
