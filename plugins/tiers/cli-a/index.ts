import { definePlugin, type Lifecycle } from "@svc/sdk";
import { READ } from "./environment.ts";
import { createGuardLog } from "./guard-log.ts";
import { guardRoutes } from "./guard-routes.ts";
import { findProgram } from "./program.ts";
import { type Section, sectionSchema } from "./settings.ts";

/** Runs agents on the Claude Code program and enforces `autonomy`. */
export default definePlugin<Section>({
  kind: "tier",
  name: "cli-a",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.cli-a", schema: sectionSchema },
  capabilities: ["spawn", "warm", "media", "agents", "routes", "store", "env:PATH", ...READ.map((name) => `env:${name}` as const)],
  setup(ctx): Lifecycle<Section> {
    const log = createGuardLog(ctx);
    for (const route of guardRoutes(ctx, log)) ctx.provide.route(route);
    ctx.provide.tier({
      name: "cli-a",
      nativeSessions: true,
      enforcesAutonomy: true,
      async *run(turn, context, signal) {
        const { runTurn } = await import("./run.js");
        yield* runTurn(ctx, log, turn, context, signal);
      },
      async probe() {
        const { probe } = await import("./probe.js");
        return probe(ctx, () => findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? ""));
      },
    });
    return {};
  },
});
