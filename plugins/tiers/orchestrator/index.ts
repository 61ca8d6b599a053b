import { definePlugin, type Lifecycle, type ModelAddress, modelAddress, type Provider, probeProviders } from "@svc/sdk";
import { agentConfig } from "./settings.ts";

/** The service's own tool loop: a model with the actions and tool servers of its agent. It keeps no conversation, so none rotates (CTX-09). */
export default definePlugin<Readonly<Record<string, Provider>>>({
  kind: "tier",
  name: "orchestrator",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "providers" },
  agentConfig,
  capabilities: ["actions", "files", "media", "spawn"],
  setup(ctx): Lifecycle<Readonly<Record<string, Provider>>> {
    let providers = ctx.config;
    ctx.provide.tier({
      name: "orchestrator",
      async *run(turn, context, signal) {
        if (signal.aborted) return;
        let address: ModelAddress;
        try {
          address = modelAddress(providers, turn.agent, turn.messages[0].options?.model);
        } catch (error) {
          const { kind, message } = error as Error & { kind: string };
          yield { type: "error", kind, message };
          return;
        }
        const { runTurn } = await import("./run.js");
        yield* runTurn(ctx, address, turn, context, signal);
      },
      probe: async () => probeProviders(providers),
    });
    return {
      async reload(config) {
        providers = config;
      },
    };
  },
});
