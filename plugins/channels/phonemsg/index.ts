import { channelError, codeOf, definePlugin, svcError } from "@svc/sdk";
import type { Client } from "./client.ts";
import type { Ingest } from "./ingest/ingest.ts";
import { ingestRoutes } from "./ingest/routes.ts";
import { MARKUP } from "./markup.ts";
import { pagePairRoutes, pairRoutes } from "./pair-routes.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

export default definePlugin<Settings>({
  kind: "channel",
  name: "phonemsg",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.phonemsg", schema, check: checkSection },
  capabilities: ["agents", "data-folder", "events", "fetch", "files", "jobs", "network", "render", "routes", "store", "tasks"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const { acknowledge = "👀" } = ctx.config;
    let client: Client | undefined;
    let ingest: Ingest | undefined;
    const connected = (): Client => {
      if (client === undefined) throw channelError("retry", "phonemsg has not started");
      return client;
    };
    const started = (): Client => {
      if (client === undefined) throw svcError("SVC_PHONEMSG_OFF", "phonemsg has not started; see why: svc plugin list", { status: 409 });
      return client;
    };
    const handle = ctx.provide.channel({
      name: "phonemsg",
      traits: {
        maxChars: 4_096,
        unit: "utf16",
        markup: MARKUP,
        editIntervalMs: 3_000,
        reactions: true,
        // A device that has a message already shows no second one of the same id.
        keyed: true,
        ...(acknowledge === "" ? {} : { ack: acknowledge }),
        maxMediaBytes: 64 * 1_048_576,
      },
      send: async (out, signal) => connected().send(out, signal),
      edit: async (platformId, out, signal) => connected().edit(platformId, out, signal),
      remove: async (target, platformId, signal) => connected().remove(target, platformId, signal),
      react: async (target, platformId, emoji, signal) => connected().react(target, platformId, emoji, signal),
      typing: async (target, signal) => connected().typing(target, signal),
      fetchMedia: async (media, signal) => connected().fetchMedia(media, signal),
      test: async (signal) => connected().test(signal),
    });
    const reads = async (): Promise<Ingest> => {
      const { createIngest } = await import("./ingest/ingest.js");
      ingest ??= createIngest(ctx, started);
      return ingest;
    };
    for (const route of [...pairRoutes(started), ...ingestRoutes(started, reads)]) ctx.provide.route(route);
    for (const route of pagePairRoutes(started)) {
      try {
        ctx.provide.route(route);
      } catch (error) {
        if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
        ctx.log.debug({ path: route.path }, "no plugin has the dashboard's scopes: its routes for pairing are left out");
      }
    }

    return {
      async start() {
        const { openClient } = await import("./client.js");
        client = await openClient(ctx, handle);
        const { enabled, everyHours = 24 } = ctx.config.ingest ?? {};
        if (enabled !== true || everyHours === 0) return;
        ctx.jobs.every(everyHours * 3_600_000, async () => {
          const { errors, written } = await (await reads()).run({});
          ctx.log.info({ written, errors: errors.length }, "the ingest has run");
        });
      },
      async stop() {
        await client?.stop();
        client = undefined;
      },
    };
  },
});
