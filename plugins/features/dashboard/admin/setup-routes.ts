import type { HttpRoute, PluginContext } from "@svc/sdk";
import { admin } from "./settings-routes.ts";

/** What a first run needs to know: the engines of this machine, how others are installed, and what svc.json has already. */
export function setupRoutes({ settings, env }: Pick<PluginContext, "settings" | "env">): readonly HttpRoute[] {
  return [
    {
      ...admin("GET", "setup"),
      async handle() {
        const { findEngines, installable, offersOf } = await import("@svc/sdk/engine");
        const plugins = await settings.plugins();
        const offers = offersOf(plugins.flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest])));
        const names = ["PATH", ...offers.flatMap(({ offer }) => [offer.key ?? [], offer.server?.variable ?? []].flat())];
        const known = Object.fromEntries(names.flatMap((name) => (env(name) === undefined ? [] : [[name, env(name)]])));
        const [found, missing, { document, revision }] = await Promise.all([findEngines(known, offers), installable(known, offers), settings.read()]);
        return {
          revision,
          engines: found.map(({ label, tier, provider, settings: keys, models, hint }) => ({
            label,
            tier,
            ...(provider === undefined ? {} : { provider }),
            ...(keys === undefined ? {} : { settings: keys }),
            models,
            hint,
          })),
          installable: missing,
          agents: Object.keys((document["agents"] ?? {}) as object),
          channels: plugins
            .filter(({ manifest, state }) => manifest?.kind === "channel" && state === "running")
            .map(({ manifest, id }) => manifest?.section?.split(".").at(-1) ?? id),
        };
      },
    },
  ];
}
