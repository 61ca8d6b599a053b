import { fileURLToPath } from "node:url";
import { codeOf, type HttpRoute, type PluginContext } from "@svc/sdk";

/** Beside the built files; tests run the sources. */
const UI = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./ui" : "../ui", import.meta.url));

/** Where there is a dashboard: the graph and its drafts in its administration, to look at. */
export function provideGraphPanel({ provide }: Pick<PluginContext, "provide">, routes: readonly HttpRoute[]): void {
  try {
    for (const route of routes)
      if (route.method === "GET") provide.route({ ...route, path: `/api${route.path}`, guard: "scope:dashboard:read", server: "dashboard" });
  } catch (error) {
    // No plugin here has the dashboard's scopes: there is no dashboard.
    if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    return;
  }
  provide.files({ prefix: "/graph-panel", folder: UI, guard: "open", server: "dashboard" });
  provide.panel({ id: "graph", title: "Intent graph", place: "admin", guard: "scope:dashboard:read", module: "/graph-panel/panel.js" });
}
