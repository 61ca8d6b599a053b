import { definePlugin } from "@svc/sdk";
import { callChannel } from "./channel.ts";
import type { Opened } from "./opened.ts";
import { ASSETS, pageRoutes } from "./page.ts";
import { placingRoutes } from "./placing-routes.ts";
import { callRoutes } from "./routes.ts";
import { CALLS, type CallsSettings, checkCalls } from "./settings.ts";
import { callTools } from "./tools.ts";

const SWEEP_MS = 3_600_000;

/** Calls between agents and people (CHAN-09): signalling, pages, rings on channels, transcripts, camera sessions. The channel webrtc provides the media. */
export default definePlugin<CallsSettings>({
  kind: "feature",
  name: "calls",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "calls", schema: CALLS, check: checkCalls },
  capabilities: ["agents", "all-settings", "data-folder", "events", "files", "jobs", "routes", "services", "settings", "spawn", "store", "tasks"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Opened> | undefined;
    const open = (): Promise<Opened> => {
      opened ??= import("./opened.js")
        .then(({ openCalls }) => openCalls(ctx, () => settings))
        .catch((error) => {
          opened = undefined;
          throw error;
        });
      return opened;
    };
    const channel = ctx.provide.channel(callChannel(open));
    ctx.provide.files(ASSETS);
    for (const route of [...placingRoutes(open), ...callRoutes(open, ctx), ...pageRoutes()]) ctx.provide.route(route);
    for (const tool of callTools(open, () => settings, ctx)) ctx.provide.tool(tool);
    ctx.hooks.inbound.tap((message) => (message.choice === undefined ? undefined : open().then((calls) => calls.chatAnswer(message))));
    return {
      async start() {
        channel.ready();
        const rows = ctx.store.collection("calls", { indexes: ["live", "owed", "at"] });
        if ((await rows.list({ limit: 1 })).length > 0) await (await open()).recover();
        ctx.jobs.every(SWEEP_MS, async () => (await open()).recover());
      },
      async stop() {
        if (opened !== undefined) await (await opened).close();
      },
      async reload(next) {
        settings = next;
      },
    };
  },
});
