import { definePlugin, type Lifecycle } from "@svc/sdk";
import type { Assembly } from "./assembly.ts";

/**
 * What an agent is told on a turn (000:L35): the preamble that stays the same, and up to eight layers of this turn, within 6000 tokens.
 * For a turn that another strategy has built it adds the preamble and the layers without the past, and holds the cap.
 */
export default definePlugin({
  kind: "feature",
  name: "context-layered",
  version: "0.1.0",
  svc: "^0.1.0",
  default: true,
  strategies: ["layered"],
  agentConfig: {
    type: "object",
    properties: {
      contextReferences: { type: "boolean", default: false, description: "add the verified references of the workspace" },
      richMessages: { type: "boolean", default: true, description: "buttons, polls and media; false is plain text only" },
    },
  },
  capabilities: ["files", "agents", "services"],
  setup(ctx): Lifecycle {
    let assembly: Assembly | undefined;
    // Read with the first turn: a start has better things to do.
    const firstAssembly = async (): Promise<Assembly> => {
      const { createAssembly } = await import("./assembly.js");
      assembly ??= createAssembly(ctx);
      return assembly;
    };
    ctx.hooks.assembleContext.tap((context, turn) => assembly?.withPast(context, turn) ?? firstAssembly().then((made) => made.withPast(context, turn)), {
      phase: "history",
      step: "history",
    });
    ctx.hooks.assembleContext.tap((context, turn) => assembly?.fitted(context, turn) ?? firstAssembly().then((made) => made.fitted(context, turn)), {
      phase: "fit",
      step: "context",
    });
    return { stop: async () => assembly?.settled() };
  },
});
