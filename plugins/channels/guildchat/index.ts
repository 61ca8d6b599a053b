import { channelError, definePlugin } from "@svc/sdk";
import type { Client } from "./client.ts";
import { GUILD_MARKUP } from "./markup.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

/** People write to a bot in guilds, threads and direct conversations; an agent answers there. */
export default definePlugin<Settings>({
  kind: "channel",
  name: "guildchat",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.guildchat", schema, check: checkSection },
  capabilities: ["agents", "events", "fetch", "sockets", "store", "tasks"],
  setup(ctx) {
    const { acknowledge = "👀" } = ctx.config;
    let client: Client | undefined;
    const connected = (): Client => {
      if (client === undefined) throw channelError("retry", "guildchat has not started");
      return client;
    };
    const handle = ctx.provide.channel({
      name: "guildchat",
      traits: {
        maxChars: 2_000,
        unit: "utf16",
        markup: GUILD_MARKUP,
        // Five edits in five seconds are allowed; a refused one waits as long as the platform says.
        editIntervalMs: 1_100,
        threads: true,
        reactions: true,
        choices: true,
        keyed: true,
        ...(acknowledge === "" ? {} : { ack: acknowledge }),
        maxMediaBytes: 10 * 1_048_576,
      },
      send: async (out, signal) => connected().send(out, signal),
      edit: async (platformId, out, signal) => connected().edit(platformId, out, signal),
      remove: async (target, platformId, signal) => connected().remove(target, platformId, signal),
      react: async (target, platformId, emoji, signal) => connected().react(target, platformId, emoji, signal),
      typing: async (target, signal) => connected().typing(target, signal),
      fetchMedia: async (media, signal) => connected().fetchMedia(media, signal),
      test: async (signal) => connected().test(signal),
    });
    return {
      async start() {
        const { createClient } = await import("./client.js");
        if (ctx.signal.aborted) return;
        client = createClient(ctx, handle);
        client.start();
      },
      async stop() {
        await client?.stop();
        client = undefined;
      },
    };
  },
});
