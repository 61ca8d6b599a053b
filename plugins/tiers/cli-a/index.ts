import { definePlugin, type Lifecycle } from "@svc/sdk";
import type { LentKeys, ToolServers } from "@svc/sdk/engine";
import { READ } from "./environment.ts";
import { createGuardLog } from "./guard-log.ts";
import { guardRoutes } from "./guard-routes.ts";
import { findProgram } from "./program.ts";
import { type Section, sectionSchema } from "./settings.ts";
import { createSwitches } from "./switches.ts";
import type { Walls } from "./walls.ts";

/** Runs agents on the Claude Code program and enforces `autonomy`. */
export default definePlugin<Section>({
  kind: "tier",
  name: "cli-a",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "tiers.cli-a", schema: sectionSchema },
  capabilities: ["spawn", "warm", "media", "agents", "routes", "store", "files", "env:PATH", ...READ.map((name) => `env:${name}` as const)],
  setup(ctx): Lifecycle<Section> {
    const log = createGuardLog(ctx);
    let made: Promise<Walls> | undefined;
    const walls: Walls = {
      async levelOf(run) {
        made ??= import("./walls.js").then(({ createWalls }) => createWalls(ctx));
        return (await made).levelOf(run);
      },
    };
    let servers: ToolServers | undefined;
    let keys: LentKeys | undefined;
    const switches = createSwitches((...start) => ctx.spawn(...start));
    const find = () => findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? "");
    for (const route of guardRoutes(ctx, log, async (...asked) => (await import("./judge.js")).judge(ctx, { walls, switchesOf: switches, find }, ...asked)))
      ctx.provide.route(route);
    ctx.provide.tier({
      name: "cli-a",
      nativeSessions: true,
      enforcesAutonomy: true,
      async *run(turn, context, signal) {
        const { runTurn } = await import("./run.js");
        const { createLentKeys, createToolServers } = await import("@svc/sdk/engine");
        servers ??= createToolServers(ctx.log, "tier cli-a");
        keys ??= createLentKeys();
        yield* runTurn(ctx, { log, walls, servers, keys, switchesOf: switches }, turn, context, signal);
      },
      async probe(agent) {
        const { probe } = await import("./probe.js");
        return probe(ctx, { find, walls, switchesOf: switches }, agent);
      },
    });
    return { stop: async () => keys?.close() };
  },
});
