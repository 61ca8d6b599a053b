import { definePlugin } from "@svc/sdk";
import { notifyRoute } from "./notify-route.ts";

/** The server itself is the command `svc a2a`, a client of the daemon. The daemon's part is to tell addresses that callers named, by its guarded fetch. */
export default definePlugin({
  kind: "feature",
  name: "a2a",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["fetch", "routes"],
  scopes: [{ name: "a2a:call", summary: "call the agent that svc a2a serves" }],
  setup(ctx) {
    ctx.provide.route(notifyRoute(ctx.fetch));
  },
});
