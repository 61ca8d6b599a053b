import { definePlugin } from "@svc/sdk";
import type { ActionTools } from "./action-tools.ts";
import { AGENT_CONFIG, patternsOf } from "./allowed.ts";

/**
 * The actions that an agent may use (`agents.<id>.actions`), as tools wherever its tools are served: `svc mcp`, MCP over HTTP, and engines that
 * call tools by themselves. A call that takes long is answered in time with an id, under which its result is asked for later.
 */
export default definePlugin({
  kind: "feature",
  name: "agent-actions",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT_CONFIG,
  capabilities: ["actions", "agents", "services", "store", "tasks", "traces"],
  setup(ctx) {
    let made: Promise<ActionTools> | undefined;
    // Read with the first agent that asks: a start has better things to do.
    const tools = () => (made ??= import("./action-tools.js").then(({ createActionTools }) => createActionTools(ctx)));
    ctx.provide.toolset({ name: "actions", tools: async (agent) => (await tools()).of(agent) });
    ctx.provide.service("callables", { patterns: patternsOf });
    return { stop: async () => (await made)?.stop() };
  },
});
