import { fileURLToPath } from "node:url";
import { codeOf, type HttpRequest, type HttpRoute, type PluginContext } from "@svc/sdk";
import type { Opened } from "./opened.ts";

/** Beside the built files; tests run the sources. */
const UI = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./ui" : "../ui", import.meta.url));
const ID = { type: "string", minLength: 1, maxLength: 200 } as const;
/** May take minutes of an agent's time: not of a page that waits. */
const EXTRACT = "/procedures/extract";
const bodyOf = <T>({ body }: HttpRequest): T => (body ?? {}) as T;

/** The routes of the daemon for this machine, and where there is a dashboard the same for its tab of procedures. */
export function provideProcedures(ctx: Pick<PluginContext, "provide">, open: () => Promise<Opened>): void {
  const routes = procedureRoutes(open);
  for (const route of routes) ctx.provide.route(route);
  try {
    for (const { guard: _, ...route } of routes) {
      if (route.path === EXTRACT) continue;
      const scope = route.method === "GET" ? "scope:dashboard:read" : "scope:dashboard:write";
      ctx.provide.route({ ...route, path: `/api${route.path}`, guard: scope, server: "dashboard" });
    }
  } catch (error) {
    // No plugin here has the dashboard's scopes: there is no dashboard.
    if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    return;
  }
  ctx.provide.files({ prefix: "/procedures-panel", folder: UI, guard: "open", server: "dashboard" });
  ctx.provide.panel({ id: "procedures", title: "Procedures", place: "admin", guard: "scope:dashboard:read", module: "/procedures-panel/panel.js" });
}

/** The routes of the daemon; promoting, rejecting and extracting are for people alone. */
function procedureRoutes(open: () => Promise<Opened>): readonly HttpRoute[] {
  return [
    {
      method: "GET",
      path: "/procedures",
      guard: "loopback",
      query: {
        type: "object",
        additionalProperties: false,
        properties: { agent: ID, drafts: { enum: ["true", "false"] }, match: { type: "string", maxLength: 2_000 } },
      },
      async handle({ query: { agent, drafts, match } }) {
        const query = { drafts: drafts === "true", ...(agent === undefined ? {} : { agent }), ...(match === undefined ? {} : { match }) };
        const opened = await open();
        const [procedures, unread] = await Promise.all([opened.list(query), opened.folder.unread()]);
        const overfull = opened.overfull();
        return { procedures, ...(unread === 0 ? {} : { unread }), ...(overfull.length === 0 ? {} : { overfull }) };
      },
    },
    {
      method: "GET",
      path: "/procedures/one",
      guard: "loopback",
      query: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID } },
      handle: async ({ query: { id = "" } }) => ({ procedure: await (await open()).show(id) }),
    },
    {
      method: "POST",
      path: "/procedures/promote",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID, as: ID } },
      async handle(request) {
        const { id, as } = bodyOf<{ id: string; as?: string }>(request);
        const { body: _, ...procedure } = await (await open()).folder.promote(id, as);
        return { procedure };
      },
    },
    {
      method: "POST",
      path: "/procedures/reject",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID, reason: { type: "string", maxLength: 1_000 } } },
      async handle(request) {
        const { id, reason } = bodyOf<{ id: string; reason?: string }>(request);
        return { id, file: await (await open()).folder.reject(id, reason, new Date()) };
      },
    },
    {
      method: "POST",
      path: EXTRACT,
      guard: "loopback",
      forPeople: true,
      handle: async () => ({ pass: (await (await open()).extract()) ?? null }),
    },
  ];
}
