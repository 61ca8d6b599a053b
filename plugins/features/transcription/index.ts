import { definePlugin, type Lifecycle } from "@svc/sdk";
import { type Settings, schema } from "./settings.ts";
import type { createTranscriber } from "./transcriber.ts";

/** Speech into words, for calls and for messages that were spoken. Loaded where a plugin that needs it runs; does nothing before it is asked. */
export default definePlugin<Settings>({
  kind: "feature",
  name: "transcription",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "transcription", schema },
  serves: ["transcription"],
  capabilities: ["fetch", "spawn"],
  setup(ctx): Lifecycle<Settings> {
    let settings = ctx.config;
    let made: Promise<ReturnType<typeof createTranscriber>> | undefined;
    const transcriber = () => {
      made ??= import("./transcriber.js").then((part) => part.createTranscriber({ settings: () => settings, fetch: ctx.fetch, spawn: ctx.spawn }));
      return made;
    };
    ctx.provide.service("transcription", {
      transcribe: async (recording) => (await transcriber()).transcribe(recording),
      usable: async (asked) => (await transcriber()).usable(asked),
    });
    return {
      async reload(next) {
        settings = next;
      },
      async stop() {
        await (await made)?.stop();
      },
    };
  },
});
