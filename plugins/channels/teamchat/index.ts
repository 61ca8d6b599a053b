import { channelError, definePlugin } from "@svc/sdk";
import type { Client } from "./client.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

export default definePlugin<Settings>({
  kind: "channel",
  name: "teamchat",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.teamchat", schema, check: checkSection },
  capabilities: ["agents", "events", "fetch", "render", "sockets", "store", "tasks"],
  setup(ctx) {
    const { acknowledge = "eyes" } = ctx.config;
    let client: Client | undefined;
    const connected = (): Client => {
      if (client === undefined) throw channelError("retry", "teamchat has not started");
      return client;
    };
    const handle = ctx.provide.channel({
      name: "teamchat",
      // Rendered here and not by the kernel: a message that grows natively is written in standard markdown, others in the platform's own.
      traits: {
        maxChars: 4_000,
        unit: "utf16",
        dialect: "markdown",
        // The platform takes some fifty updates a minute.
        editIntervalMs: 1_200,
        streams: true,
        threads: true,
        reactions: true,
        choices: true,
        keyed: true,
        ...(acknowledge === "" ? {} : { ack: acknowledge }),
        maxMediaBytes: 50 * 1_048_576,
      },
      send: async (out, signal) => connected().send(out, signal),
      edit: async (platformId, out, signal) => connected().edit(platformId, out, signal),
      remove: async (target, platformId, signal) => connected().remove(target, platformId, signal),
      react: async (target, platformId, emoji, signal) => connected().react(target, platformId, emoji, signal),
      fetchMedia: async (media, signal) => connected().fetchMedia(media, signal),
      test: async (signal) => connected().test(signal),
    });

    return {
      async start() {
        const { createClient } = await import("./client.js");
        // Stopped meanwhile.
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
