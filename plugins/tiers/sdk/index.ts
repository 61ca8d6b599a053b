import { definePlugin } from "@svc/sdk";

/** Streamed model calls, with the actions that the agent may use as tools. The history is the service's: the tier keeps no conversation, so none rotates (CTX-09). */
export default definePlugin({
  kind: "tier",
  name: "sdk",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["media", "models", "services", "tools"],
  setup(ctx) {
    ctx.provide.tier({
      name: "sdk",
      abilities: { pictures: true },
      async *run(turn, context, signal) {
        if (signal.aborted) return;
        const { answer } = await import("./answer.js");
        yield* answer(ctx, turn, context, signal);
      },
      actions: (agent) => ctx.services.get("callables")?.patterns(agent) ?? [],
      probe: async (agent) => (agent === undefined ? { ok: true, detail: "each agent's provider decides" } : ctx.models.usable(agent.id)),
    });
  },
});
