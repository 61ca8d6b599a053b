import { channelError, codeOf, definePlugin } from "@svc/sdk";
import type { Client } from "./client.ts";
import { pairRoutes } from "./pair-routes.ts";
import { createPairing } from "./pairing.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

export default definePlugin<Settings>({
  kind: "channel",
  name: "botmsg",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.botmsg", schema, check: checkSection },
  capabilities: ["agents", "events", "fetch", "render", "routes", "store", "tasks"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const { acknowledge = "👀" } = ctx.config;
    let client: Client | undefined;
    const connected = (): Client => {
      if (client === undefined) throw channelError("retry", "botmsg has not started");
      return client;
    };
    const handle = ctx.provide.channel({
      name: "botmsg",
      // Rendered here and not by the kernel: buttons and polls are taken out of the markdown first.
      traits: {
        maxChars: 4_096,
        unit: "utf16",
        dialect: "markdown",
        editIntervalMs: 1_500,
        threads: true,
        reactions: true,
        choices: true,
        ...(acknowledge === "" ? {} : { ack: acknowledge }),
        maxMediaBytes: 50 * 1_048_576,
      },
      send: async (out, signal) => connected().send(out, signal),
      edit: async (platformId, out, signal) => connected().edit(platformId, out, signal),
      remove: async (target, platformId, signal) => connected().remove(target, platformId, signal),
      react: async (target, platformId, emoji, signal) => connected().react(target, platformId, emoji, signal),
      typing: async (target, signal) => connected().typing(target, signal),
      fetchMedia: async (media, signal) => connected().fetchMedia(media, signal),
      test: async (signal) => connected().test(signal),
    });

    const pairing = createPairing(ctx);
    const { local, page } = pairRoutes(ctx, pairing);
    for (const route of local) ctx.provide.route(route);
    for (const route of page) {
      try {
        ctx.provide.route(route);
      } catch (error) {
        if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
        ctx.log.debug({ path: route.path }, "no plugin has the dashboard's scopes: people are confirmed with svc channel pair alone");
      }
    }

    return {
      async start() {
        const { createClient } = await import("./client.js");
        client = createClient(ctx, handle, pairing);
        client.start();
      },
      async stop() {
        await client?.stop();
        client = undefined;
      },
    };
  },
});
