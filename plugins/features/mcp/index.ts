import { definePlugin } from "@svc/sdk";

/** The server itself is the command `svc mcp`: a thin client of the daemon. The daemon's part is the kernel's routes for agent tools. */
export default definePlugin({
  kind: "feature",
  name: "mcp",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: [],
  setup() {},
});
