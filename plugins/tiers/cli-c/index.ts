import { definePlugin, type Tier } from "@svc/sdk";
import { READ } from "./environment.ts";
import { findProgram } from "./program.ts";
import { type Section, sectionSchema } from "./settings.ts";

/** Runs agents on the Gemini program. */
export default definePlugin<Section>({
  kind: "tier",
  name: "cli-c",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.cli-c", schema: sectionSchema },
  capabilities: ["spawn", "warm", "media", "store", "files", "env:PATH", "env:HOME", ...READ.map((name) => `env:${name}` as const)],
  setup(ctx) {
    let runner: Promise<Tier["run"]> | undefined;
    ctx.provide.tier({
      name: "cli-c",
      nativeSessions: true,
      async *run(turn, context, signal) {
        runner ??= import("./run.js").then(({ createRunner }) => createRunner(ctx));
        yield* (await runner)(turn, context, signal);
      },
      async probe(agent) {
        const { probe } = await import("./probe.js");
        return probe(ctx, () => findProgram(ctx.config.command ?? "gemini", ctx.env("PATH") ?? ""), agent);
      },
    });
  },
});
