import { channelError, definePlugin, type Outgoing } from "@svc/sdk";
import type { Connection } from "./connection.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

/** People mention agents in issues, requests and commits; the agents answer there. */
export default definePlugin<Settings>({
  kind: "channel",
  name: "forge-b",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.forge_b", schema, check: checkSection },
  capabilities: ["fetch", "services", "store"],
  setup(ctx) {
    let connection: Connection | undefined;
    const there = (): Connection => {
      if (connection === undefined) throw channelError("retry", "forge_b has not started");
      return connection;
    };
    const handle = ctx.provide.channel({
      name: "forge_b",
      // One comment grows for each task, which the service `forges` keeps: so there is no `edit` for the kernel here.
      traits: { maxChars: 60_000, unit: "utf16", dialect: "markdown", threads: true, reactions: true, ack: "👀", keyed: true },
      send: async (out: Outgoing, signal) => there().forge().send(out, signal),
      react: async (target, id, emoji, signal) => there().forge().react(target, id, emoji, signal),
      fetchMedia: async (media, signal) => there().forge().fetchMedia(media, signal),
      test: async (signal) => there().test(signal),
    });
    return {
      async start() {
        const { openConnection } = await import("./connection.js");
        if (!ctx.signal.aborted) connection = openConnection(ctx, handle);
      },
      async stop() {
        await connection?.stop();
        connection = undefined;
      },
    };
  },
});
