import type { HttpRequest, HttpRoute, Settings } from "@svc/sdk";
import { settingsRoutes } from "../admin/settings-routes.ts";
import type { FarDashboard } from "../far-dashboard.ts";
import { forward, isRefused, type Send } from "../forward.ts";

/**
 * svc.json of the daemon of this folder (CFG-07, FAULT-70): through its dashboard, and if that does not listen, read and changed here by the same
 * editor, with the same dry run, difference and backup. Such a change takes effect at the daemon's next start, and the answer says so.
 */
export function offlineSettingsRoutes(main: FarDashboard, settings: Settings, send: Send): HttpRoute[] {
  const routes = [...settingsRoutes(settings), pluginsHere(settings)];
  return routes.map(({ handle, ...route }) => ({
    ...route,
    async handle(request, reply) {
      try {
        await forward(main, request.path, withBytes(request), reply, send);
        return undefined;
      } catch (error) {
        if (!isRefused(error)) throw error;
        return handle(request, reply);
      }
    },
  }));
}

/** The plugins of the file, none of which runs: what fields may name. */
const pluginsHere = (settings: Settings): HttpRoute => ({
  method: "GET",
  path: "/api/admin/plugins",
  guard: "scope:dashboard:write",
  async handle() {
    const { pluginViews } = await import("../admin/plugin-view.js");
    const [plugins, { document, revision }] = await Promise.all([settings.plugins(), settings.read()]);
    return { plugins: pluginViews({ plugins, document, agents: [], memoryOf: () => undefined }), revision };
  },
});

/** A body that was read as JSON goes on as JSON. */
const withBytes = ({ method, query, headers, signal, body }: HttpRequest): Parameters<typeof forward>[2] => ({
  method,
  query,
  headers,
  signal,
  ...(body === undefined ? {} : { raw: new TextEncoder().encode(JSON.stringify(body)) }),
});
