import { channelError, definePlugin } from "@svc/sdk";
import type { Client } from "./client.ts";
import { createPairing } from "./pairing.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

export default definePlugin<Settings>({
  kind: "channel",
  name: "botmsg",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.botmsg", schema, check: checkSection },
  capabilities: ["agents", "events", "fetch", "render", "routes", "store", "tasks"],
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
    ctx.provide.route({
      method: "POST",
      path: "/channels/botmsg/pair",
      guard: "loopback",
      body: { type: "object", required: ["code"], additionalProperties: false, properties: { code: { type: "string", minLength: 1, maxLength: 64 } } },
      async handle({ body }) {
        const { account, sender, name, chat } = await pairing.approve((body as { code: string }).code);
        await ctx.tasks.deliver({ kind: "notice", target: { channel: "botmsg", account, chat }, text: "You are confirmed. Please send your message again." });
        return { account, sender, ...(name === undefined ? {} : { name }) };
      },
    });
    ctx.provide.route({
      method: "GET",
      path: "/channels/botmsg/pair",
      guard: "loopback",
      handle: async () => ({
        waiting: (await pairing.waiting()).map(({ account, sender, name, at }) => ({
          account,
          sender,
          ...(name === undefined ? {} : { name }),
          at: new Date(at).toISOString(),
        })),
      }),
    });

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
