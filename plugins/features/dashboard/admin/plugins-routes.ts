import { readFileSync } from "node:fs";
import type { HttpRoute, PluginContext } from "@svc/sdk";
import { admin } from "./settings-routes.ts";

/** `GET /api/admin/plugins`, and `POST /api/admin/plugins/:id/release` for one in quarantine. Plugins are switched by edits of svc.json. */
export function pluginsRoutes({ settings, agents }: Pick<PluginContext, "settings" | "agents">): readonly HttpRoute[] {
  return [
    {
      ...admin("GET", "plugins"),
      async handle() {
        const { pluginViews } = await import("./plugin-view.js");
        const [plugins, { document, revision }] = await Promise.all([settings.plugins(), settings.read()]);
        return { plugins: pluginViews({ plugins, document, agents: agents.list(), memoryOf }), revision, memory: process.memoryUsage.rss() };
      },
    },
    { ...admin("POST", "plugins/:id/release"), forPeople: true, handle: ({ params }) => settings.release(params["id"] ?? "") },
  ];
}

/** The memory of a process in bytes, where the system tells. */
function memoryOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}
