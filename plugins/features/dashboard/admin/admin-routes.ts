import type { HttpRoute, PluginContext } from "@svc/sdk";
import { channelsRoutes } from "./channels-routes.ts";
import { pluginsRoutes } from "./plugins-routes.ts";
import { settingsRoutes } from "./settings-routes.ts";
import { setupRoutes } from "./setup-routes.ts";

/** What the administration, the first run and the page of plugins ask. Schedules, webhooks, peers, actions and tokens are asked of the plugins that own them. */
export const adminRoutes = (ctx: Pick<PluginContext, "settings" | "agents" | "tasks" | "traces" | "env" | "fetch" | "signal">): readonly HttpRoute[] => [
  ...settingsRoutes(ctx.settings),
  ...pluginsRoutes(ctx),
  ...channelsRoutes(ctx),
  ...setupRoutes(ctx),
];
