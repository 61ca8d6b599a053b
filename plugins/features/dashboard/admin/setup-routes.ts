import type { HttpRoute, Message, PluginContext } from "@svc/sdk";
import { admin } from "./settings-routes.ts";

/** Routes of a first run: the engines of this machine, how to install others, and the present svc.json. */
export function setupRoutes({ settings, env, tasks }: Pick<PluginContext, "settings" | "env" | "tasks">): readonly HttpRoute[] {
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
    {
      ...admin("POST", "setup/try"),
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["agent", "text"],
        properties: { agent: { type: "string", minLength: 1, maxLength: 200 }, text: { type: "string", minLength: 1, maxLength: 4_000 } },
      },
      async handle({ body, signal }) {
        const { agent, text } = body as { agent: string; text: string };
        const options = { freshSession: true, timeoutMinutes: TRY_MINUTES };
        const message: Message = { entry: "task", channel: "dashboard", chat: "setup", text, agent, options };
        const { ok, reply, error, status, taskId } = await tasks.run(message, undefined, signal);
        return { ok, reply, status, taskId, ...(error === undefined ? {} : { error }) };
      },
    },
  ];
}

/** Time limit of an engine's hello. */
const TRY_MINUTES = 2;
