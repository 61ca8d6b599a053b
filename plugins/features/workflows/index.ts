import { definePlugin } from "@svc/sdk";
import { WORKFLOWS, type WorkflowsSettings } from "./settings.ts";

/** Workflows (001:L186-188): processes with agents, actions and people that survive a restart. */
export default definePlugin<WorkflowsSettings>({
  kind: "feature",
  name: "workflows",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "workflows", schema: WORKFLOWS },
  capabilities: [],
  setup() {
    return {};
  },
});
