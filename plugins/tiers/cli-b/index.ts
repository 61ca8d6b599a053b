import { definePlugin, type ProgramSection, type Tier } from "@svc/sdk";
import { actionsThrough, PERMISSION_MODES, programSection } from "@svc/sdk/program-tier";
import { READ } from "./variables.ts";

/** Runs agents on the Codex program. */
export default definePlugin<ProgramSection>({
  kind: "tier",
  name: "cli-b",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.cli-b", schema: programSection("Codex", "codex") },
  capabilities: ["services", "spawn", "warm", "media", "store", "env:PATH", "env:HOME", ...READ.map((name) => `env:${name}` as const)],
  setup(ctx) {
    let runner: Promise<Tier["run"]> | undefined;
    ctx.provide.tier({
      name: "cli-b",
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
