import { definePlugin, type Forges, type PluginContext, svcError } from "@svc/sdk";
import type { Hub, HubOptions } from "./hub.ts";
import { forgeTools } from "./tools.ts";

/** Used part of `channels.forge_a`: it sets the port of the shared receiver. */
interface Settings {
  readonly webhookPort?: number;
}

/** The plugin; tests may have it take less time. */
export const forgeHooks = (options: HubOptions = {}) =>
  definePlugin<Settings>({
    kind: "feature",
    name: "forge-hooks",
    version: "0.1.0",
    svc: "^0.1.0",
    // Of the section of forge_a it reads the receiver's port alone.
    ...(options.port === undefined ? { config: { at: "channels.forge_a" } } : {}),
    capabilities: ["agents", "events", "jobs", "routes", "store", "tasks", "traces"],
    answers: () => import("./answers.js"),
    setup(ctx) {
      let opened: Promise<Hub> | undefined;
      const open = (): Promise<Hub> => {
        opened ??= import("./hub.js")
          .then(({ Hub }) => Hub.open(ctx as unknown as PluginContext, { ...portOf(ctx.config), ...options }))
          .catch((error) => {
            opened = undefined;
            throw error;
          });
        return opened;
      };
      const service: Forges = { connect: async (forge) => (await open()).connect(forge) };
      ctx.provide.service("forges", service);
      for (const tool of forgeTools(() => opened?.then(({ parts }) => parts))) ctx.provide.tool(tool);
      // Also of a message from before a restart, while no forge is connected yet.
      // Every message passes here: those of others are answered without a promise.
      ctx.hooks.route.tap((message) => (message.facts?.["forge"] === message.channel ? open().then((hub) => hub.route(message)) : undefined));
      ctx.provide.route({
        method: "GET",
        path: "/forges",
        guard: "loopback",
        query: {
          type: "object",
          properties: { limit: { type: "integer", minimum: 1, maximum: 500, description: "how many decisions, newest first; default 20" } },
        },
        handle: async ({ query: { limit } }) =>
          opened === undefined ? { forges: [], decisions: [], actions: [] } : (await opened).status(limit === undefined ? 20 : Number(limit)),
      });
      ctx.provide.route({
        method: "POST",
        path: "/forges/:name/backfill",
        guard: "loopback",
        async handle({ params: { name = "" } }) {
          if (opened === undefined) throw svcError("SVC_FORGE_OFF", `The forge '${name}' is not connected; see svc forge status.`, { status: 404 });
          return (await opened).look(name, false);
        },
      });
      // Set up anew it would lose the forges that are connected; the port is read once.
      return { reload: async () => {} };
    },
  });

const portOf = ({ webhookPort }: Settings): HubOptions => (typeof webhookPort === "number" ? { port: webhookPort } : {});

export default forgeHooks();
