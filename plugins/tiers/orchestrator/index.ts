import { definePlugin, type Lifecycle } from "@svc/sdk";
import { createServerPool } from "./server-pool.ts";
import { agentConfig, readAgent } from "./settings.ts";

/** The service's own tool loop: a model with the actions and tool servers of its agent. It keeps no conversation, so none rotates (CTX-09). */
export default definePlugin({
  kind: "tier",
  name: "orchestrator",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig,
  capabilities: ["actions", "files", "media", "models", "services", "spawn", "tools", "warm"],
  setup(ctx): Lifecycle {
    const servers = createServerPool(() => ctx.warm);
    ctx.provide.tier({
      name: "orchestrator",
      abilities: { permissionModes: ["default", "plan"], toolServers: true, pictures: true },
      async *run(turn, context, signal) {
        if (signal.aborted) return;
        const { runTurn } = await import("./run.js");
        yield* runTurn(ctx, servers, turn, context, signal);
      },
      actions: (agent) =>
        agent.settings.permissionMode === "plan" ? [] : [...readAgent(agent).actions, ...(ctx.services.get("callables")?.patterns(agent) ?? [])],
      probe: async (agent) => (agent === undefined ? { ok: true, detail: "each agent's provider decides" } : ctx.models.usable(agent.id)),
    });
    return {};
  },
});
