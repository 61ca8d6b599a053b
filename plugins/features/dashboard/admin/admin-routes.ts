import type { HttpRoute, PluginContext } from "@svc/sdk";
import { channelsRoutes } from "./channels-routes.ts";
import { pluginsRoutes } from "./plugins-routes.ts";
import { settingsRoutes } from "./settings-routes.ts";
import { setupRoutes } from "./setup-routes.ts";

/**
 * Routes of the administration, the first run and the page of plugins. The plugins that own schedules, webhooks, peers, actions and tokens serve
 * those themselves.
 */
export const adminRoutes = (ctx: Pick<PluginContext, "settings" | "agents" | "tasks" | "traces" | "env" | "fetch" | "signal">): readonly HttpRoute[] => [
  ...settingsRoutes(ctx.settings),
  ...pluginsRoutes(ctx),
  ...channelsRoutes(ctx),
  ...setupRoutes(ctx),
];
