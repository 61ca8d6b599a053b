import { type HttpRequest, type HttpRoute, svcError } from "@svc/sdk";
import { type Device, requireUsable, SUBSCRIPTION, type Subscription } from "./device.ts";
import { type Devices, unknownDevice } from "./devices.ts";
import type { Notices } from "./notices.ts";
import type { Pairing } from "./pairing.ts";
import type { PushHosts } from "./push-hosts.ts";

/** Parts behind the routes, once the plugin has started. */
export interface PushHost {
  readonly devices: Devices;
  readonly notices: Notices;
  readonly pairing: Pairing;
  readonly hosts: PushHosts;
  readonly publicKey: string;
}

const MOST_RECENT = 1_000;
const LIMIT = { type: "object", properties: { limit: { type: "integer", minimum: 1, maximum: MOST_RECENT, default: 50 } } } as const;
const NAME = { type: "string", maxLength: 200, default: "phone" } as const;

/**
 * The routes of the dashboard's server: `/api/push/...` for people with a token, `/push/api/...` for the page on a phone, which has a bearer
 * of its own. And on the daemon, for the command line, the same as for people.
 */
export function pushRoutes(host: () => PushHost): readonly HttpRoute[] {
  const register = async (request: HttpRequest) => {
    const { subscription, name = "phone" } = request.body as { subscription: Subscription; name?: string };
    requireUsable(subscription, host().hosts);
    return host().devices.add(subscription, name);
  };
  const recent = async ({ query }: HttpRequest) => ({ notices: await host().notices.recent(Number(query["limit"] ?? 50)) });
  const list = async () => ({ devices: (await host().devices.list()).map((device) => shown(device, host().devices)) });
  const remove = async (id: string) => {
    if (!(await host().devices.remove(id))) throw unknownDevice(id);
  };
  const body = (more: object, required: readonly string[]) => ({ type: "object", required, properties: { subscription: SUBSCRIPTION, ...more } }) as const;
  return [
    {
      server: "dashboard",
      method: "POST",
      path: "/api/push/subscribe",
      guard: "scope:dashboard:write",
      forPeople: true,
      body: body({ name: NAME }, ["subscription"]),
      handle: register,
    },
    {
      server: "dashboard",
      method: "DELETE",
      path: "/api/push/subscribe/:id",
      guard: "scope:dashboard:write",
      forPeople: true,
      handle: ({ params }) => remove(params["id"] as string),
    },
    { server: "dashboard", method: "GET", path: "/api/push/recent", guard: "scope:dashboard:read", query: LIMIT, handle: recent },
    { server: "dashboard", method: "GET", path: "/api/push/devices", guard: "scope:dashboard:read", handle: list },
    { server: "dashboard", method: "GET", path: "/push/api/key", guard: "open", handle: () => ({ publicKey: host().publicKey }) },
    {
      server: "dashboard",
      method: "POST",
      path: "/push/api/pair",
      guard: "open",
      body: body({ code: { type: "string", minLength: 1, maxLength: 100 }, name: NAME }, ["subscription", "code"]),
      // Looked at before the code is used up: a phone that cannot be reached keeps its code for another browser.
      async handle(request) {
        const { subscription, code } = request.body as { subscription: Subscription; code: string };
        requireUsable(subscription, host().hosts);
        await host().pairing.use(code);
        return register(request);
      },
    },
    { server: "dashboard", method: "GET", path: "/push/api/recent", guard: "scope:push:device", query: LIMIT, handle: recent },
    {
      server: "dashboard",
      method: "PUT",
      path: "/push/api/device",
      guard: "scope:push:device",
      body: body({}, ["subscription"]),
      async handle(request) {
        const { subscription } = request.body as { subscription: Subscription };
        requireUsable(subscription, host().hosts);
        await host().devices.renew(ownId(request), subscription);
      },
    },
    { server: "dashboard", method: "DELETE", path: "/push/api/device", guard: "scope:push:device", handle: (request) => remove(ownId(request)) },
    { method: "GET", path: "/push/devices", guard: "loopback", handle: list },
    { method: "DELETE", path: "/push/devices/:id", guard: "loopback", handle: ({ params }) => remove(params["id"] as string) },
    { method: "POST", path: "/push/codes", guard: "loopback", forPeople: true, handle: () => host().pairing.issue() },
  ];
}

/** A device as people see it. */
function shown({ id, name, endpoint, addedAt, lastAt, lastError, ...rest }: Device, devices: Devices) {
  return {
    id,
    name,
    service: new URL(endpoint).host,
    addedAt,
    ...(lastAt === undefined ? {} : { lastAt }),
    ...(lastError === undefined ? {} : { lastError }),
    ...(devices.isStale(rest) ? { stale: true } : {}),
  };
}

function ownId({ caller }: HttpRequest): string {
  // On loopback a server may give scopes away without a token; this one is a device's alone.
  if (caller.token === undefined) throw svcError("SVC_PUSH_DEVICE", "Only a phone that was added has this.", { status: 401 });
  return caller.token.id;
}
