import { definePlugin, type Lifecycle, type ModelAddress, modelAddress, type Provider, probeProviders } from "@svc/sdk";

/** One streamed model call a turn, without tools. The history is the service's: the tier keeps no conversation, so none rotates (CTX-09). */
export default definePlugin<Readonly<Record<string, Provider>>>({
  kind: "tier",
  name: "sdk",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "providers" },
  capabilities: ["media"],
  setup(ctx): Lifecycle<Readonly<Record<string, Provider>>> {
    let providers = ctx.config;
    ctx.provide.tier({
      name: "sdk",
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
        const { answer } = await import("./client.js");
        yield* answer(ctx.media, address, turn, context, signal);
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
