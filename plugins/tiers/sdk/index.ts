import { definePlugin } from "@svc/sdk";
import { answer } from "./answer.ts";

/** One streamed model call a turn, without tools. The history is the service's: the tier keeps no conversation, so none rotates (CTX-09). */
export default definePlugin({
  kind: "tier",
  name: "sdk",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["media", "models"],
  setup(ctx) {
    ctx.provide.tier({
      name: "sdk",
      abilities: { pictures: true },
      run: (turn, context, signal) => answer(ctx, turn, context, signal),
      probe: async (agent) => (agent === undefined ? { ok: true, detail: "each agent's provider decides" } : ctx.models.usable(agent.id)),
    });
  },
});
