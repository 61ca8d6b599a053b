import { definePlugin, type Lifecycle } from "@svc/sdk";
import type { Calls } from "./call-media.ts";
import { callSettingsOf, checkSection, iceServersOf, type Settings, schema } from "./settings.ts";

/** The far end of calls from a browser: hears them, has them written down, and sends no sound (CHAN-09). Opens nothing before the first call. */
export default definePlugin<Settings>({
  kind: "channel",
  name: "webrtc",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.webrtc", schema, check: checkSection },
  capabilities: ["network", "services", "transcription"],
  setup(ctx): Lifecycle<Settings> {
    let settings = ctx.config;
    let made: Promise<Calls> | undefined;
    const calls = () => {
      made ??= import("./call-media.js").then(({ createCalls }) => createCalls({ settings: () => settings, services: ctx.services, log: ctx.log }));
      return made;
    };
    ctx.provide.service("call-media", {
      open: async (request) => (await calls()).open(request),
      iceServers: () => iceServersOf(settings),
      settings: () => callSettingsOf(settings),
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
