import { definePlugin, type PluginContext } from "@svc/sdk";
import { adminRoutes } from "./admin/admin-routes.ts";
import { createDaemons } from "./daemons.ts";
import { farDashboards } from "./far-dashboard.ts";
import { forwardRoutes, type Send } from "./forward.ts";
import { createLegacyAuthority } from "./legacy-token.ts";
import { liveStreamRoute } from "./live-stream.ts";
import { nowhereRoutes } from "./nowhere.ts";
import { ASSETS, HEADERS, pageRoutes } from "./page.ts";
import { panelsRoute } from "./panels.ts";
import { publicMessagesRoute } from "./public-messages.ts";
import { agentsRoute, historyRoute, liveRoute, nodesRoute } from "./reads.ts";
import { DASHBOARD, type DashboardSettings } from "./settings.ts";
import { createSignInLinks, linkRoute } from "./sign-in-links.ts";
import { taskActionRoute } from "./task-action.ts";
import { taskStreamRoute } from "./task-stream.ts";
import { taskRoutes } from "./tasks/task-routes.ts";
import { createTickets } from "./tickets.ts";
import { featuresOf, meRoute } from "./who-asks.ts";

export default definePlugin<DashboardSettings>({
  kind: "feature",
  name: "dashboard",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "dashboard", schema: DASHBOARD },
  capabilities: ["routes", "agents", "health", "tasks", "traces", "events", "fetch", "services", "store", "settings", "all-settings", "env:*"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const { bind, port, token } = ctx.config;
    const daemons = createDaemons(ctx);
    const server = ctx.provide.server({
      name: "dashboard",
      host: bind,
      port,
      headers: HEADERS,
      // Without a single bearer this machine needs none (AUTH-13); scopes of agents are never given away.
      localScopes: token === undefined ? ["dashboard:write"] : [],
    });
    if (token !== undefined) ctx.provide.authority(createLegacyAuthority(token));
    const links = createSignInLinks();
    ctx.provide.authority(links.authority);
    const tickets = createTickets();
    ctx.provide.authority(tickets.authority);
    ctx.provide.files(ASSETS);
    const far = farDashboards(ctx.config);
    let address: string | undefined;
    const features = featuresOf(ctx.settings);
    for (const route of [
      ...pageRoutes(async () => (await features()).editor),
      meRoute(far, ctx, features),
      publicMessagesRoute(daemons, ctx.agents),
      liveRoute(daemons),
      agentsRoute(daemons),
      nodesRoute(ctx.health),
      historyRoute(daemons),
      liveStreamRoute(daemons, ctx),
      taskStreamRoute(ctx),
      taskActionRoute(daemons),
      tickets.route,
      ...links.routes,
      linkRoute(links, () => address),
      ...forwardRoutes((name) => far.find((one) => one.name === name), sendBy(ctx)),
      ...taskRoutes(ctx),
      ...adminRoutes(ctx),
      panelsRoute(ctx),
      // With a token, who has none does not learn which paths there are.
      ...(token === undefined ? [] : nowhereRoutes()),
    ])
      ctx.provide.route(route);
    return {
      async start() {
        const at = await server.listen();
        if (at !== undefined) {
          address = `http://${urlHost(at.host)}:${at.port}`;
          ctx.log.info(at, `the dashboard listens on ${at.host}:${at.port}`);
        }
        if (token === undefined && !isLoopback(bind))
          ctx.log.warn(`dashboard.bind is ${bind} and dashboard.token is not set: other machines need a scoped token (svc token create), this one needs none`);
      },
      stop: server.close,
    };
  },
});

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

/** An address that a browser on this machine can open. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

/** Longer than an agent works on a message: what the far end does not end, the page does. */
const HEAD_MS = 3_600_000;

/** The guarded fetch, for the origins that the operator has configured. */
function sendBy({ fetch }: Pick<PluginContext, "fetch">): Send {
  return (url, { body, ...rest }) =>
    fetch.stream(url, { ...rest, ...(body === undefined ? {} : { body }), redirect: "manual", trustedOrigins: [new URL(url).origin], timeoutMs: HEAD_MS });
}
