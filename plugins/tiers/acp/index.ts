import { definePlugin, type Tier } from "@svc/sdk";
import { actionsThrough, PERMISSION_MODES } from "@svc/sdk/program-tier";
import { type AcpSettings, agentConfig, sectionSchema } from "./settings.ts";

/** Runs agents on any program that speaks the Agent Client Protocol. */
export default definePlugin<AcpSettings>({
  kind: "tier",
  name: "acp",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.acp", schema: sectionSchema },
  agentConfig,
  capabilities: [
    "services",
    "spawn",
    "warm",
    "media",
    "store",
    "env:PATH",
    "env:HTTPS_PROXY",
    "env:HTTP_PROXY",
    "env:NO_PROXY",
    "env:NODE_EXTRA_CA_CERTS",
    "env:SSL_CERT_FILE",
  ],
  setup(ctx) {
    let runner: Promise<Tier["run"]> | undefined;
    ctx.provide.tier({
      name: "acp",
      abilities: { nativeSessions: true, permissionModes: PERMISSION_MODES, toolServers: true, pictures: true },
      async *run(turn, context, signal) {
        runner ??= import("./run.js").then(({ createRunner }) => createRunner(ctx));
        yield* (await runner)(turn, context, signal);
      },
      actions: (agent) => actionsThrough(ctx.services.get("callables"), agent),
      async probe(agent) {
        const { probe } = await import("./probe.js");
        return probe(ctx, agent);
      },
    });
  },
});
