import { channelError, definePlugin, type ForgeHandle } from "@svc/sdk";
import { createBoard } from "./board.ts";
import type { Started } from "./connect.ts";
import { checkSection, type Settings, schema } from "./settings.ts";

export default definePlugin<Settings>({
  kind: "channel",
  name: "forge-a",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.forge_a", schema, check: checkSection },
  capabilities: ["agents", "fetch", "services", "store"],
  setup(ctx) {
    let started: Started | undefined;
    const connected = (): Started => {
      if (started === undefined) throw channelError("retry", "forge_a has not started");
      return started;
    };
    const forge = (): ForgeHandle => {
      const { handle } = connected();
      if (handle === undefined) throw channelError("retry", "forge_a is not connected yet");
      return handle;
    };
    const handle = ctx.provide.channel({
      name: "forge_a",
      // One comment grows for each task, which the service `forges` keeps: so there is no `edit` for the kernel here.
      traits: { maxChars: 900_000, unit: "codepoint", dialect: "markdown", threads: true, reactions: true, ack: "eyes", keyed: true },
      send: async (out, signal) => forge().send(out, signal),
      react: async (target, platformId, emoji, signal) => forge().react(target, platformId, emoji, signal),
      fetchMedia: async (media, signal) => forge().fetchMedia(media, signal),
      test: async (signal) => connected().identities.test(signal),
    });
    ctx.provide.board(createBoard(connected));
    return {
      async start() {
        const { connect } = await import("./connect.js");
        started = await connect(ctx, handle);
      },
      async stop() {
        await started?.stop();
        started = undefined;
      },
    };
  },
});
