import { definePlugin } from "@svc/sdk";
import { AGENT, repeatedLabels } from "./keys.ts";

/** Takes the keys of features that do not exist yet: checks them, and does nothing with them. */
export default definePlugin({
  kind: "feature",
  name: "reserved-keys",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  checkAgent: repeatedLabels,
  capabilities: [],
  setup() {},
});
