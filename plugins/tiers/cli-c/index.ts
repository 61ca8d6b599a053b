import { definePlugin, type ProgramSection } from "@svc/sdk";
import { actionsThrough, PERMISSION_MODES, programSection } from "@svc/sdk/program-tier";
import type { Runner } from "./run.ts";
import { READ } from "./variables.ts";

/** Runs agents on the Gemini program. */
export default definePlugin<ProgramSection>({
  kind: "tier",
  name: "cli-c",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.cli-c", schema: programSection("Gemini", "gemini") },
  capabilities: ["services", "spawn", "warm", "media", "store", "files", "env:PATH", "env:HOME", ...READ.map((name) => `env:${name}` as const)],
  setup(ctx) {
    let runner: Promise<Runner> | undefined;
    ctx.provide.tier({
      name: "cli-c",
      abilities: { nativeSessions: true, permissionModes: PERMISSION_MODES, toolServers: true, pictures: true },
      async *run(turn, context, signal) {
        runner ??= import("./run.js").then(({ createRunner }) => createRunner(ctx));
        yield* (await runner).run(turn, context, signal);
      },
      actions: (agent) => actionsThrough(ctx.services.get("callables"), agent),
      async probe(agent) {
        const { probe } = await import("./probe.js");
        return probe(ctx, agent);
      },
    });
    return { stop: async () => (await runner)?.close() };
  },
});
