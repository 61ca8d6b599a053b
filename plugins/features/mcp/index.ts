import { definePlugin } from "@svc/sdk";
import { mcpRoute, noSessions } from "./http-route.ts";

/** The tools server: as the command `svc mcp`, a thin client of the daemon, and over HTTP for programs elsewhere that hold a token. */
export default definePlugin({
  kind: "feature",
  name: "mcp",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "routes", "tools"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    for (const route of [mcpRoute(ctx), noSessions("GET"), noSessions("DELETE")]) ctx.provide.route(route);
  },
});
