import { definePlugin, type Lifecycle } from "@svc/sdk";
import type { KeyRelays, ToolServers } from "@svc/sdk/engine";
import { actionsThrough, PERMISSION_MODES } from "@svc/sdk/program-tier";
import { createGuardLog } from "./guard-log.ts";
import { guardRoutes } from "./guard-routes.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import { type Section, sectionSchema } from "./settings.ts";
import { createSwitches } from "./switches.ts";
import { READ } from "./variables.ts";

/** Runs agents on the Claude Code program and enforces `autonomy`. */
export default definePlugin<Section>({
  kind: "tier",
  name: "cli-a",
  version: "0.1.0",
  svc: "^0.1.0",
  default: true,
  agentConfig: {
    type: "object",
    properties: {
      billing: {
        type: "string",
        enum: ["subscription", "api"],
        default: "subscription",
        description: "for cli-a: shared sign-in, or a model API key from the environment",
      },
    },
  },
  config: { at: "tiers.cli-a", schema: sectionSchema },
  capabilities: ["services", "spawn", "warm", "media", "agents", "routes", "store", "files", "env:PATH", ...READ.map((name) => `env:${name}` as const)],
  answers: () => import("./answers.js"),
  setup(ctx): Lifecycle<Section> {
    const log = createGuardLog(ctx);
    let made: Promise<SandboxLevels> | undefined;
    const sandboxes: SandboxLevels = {
      async levelOf(run) {
        made ??= import("./sandbox-level.js").then(({ createSandboxLevels }) => createSandboxLevels(ctx));
        return (await made).levelOf(run);
      },
    };
    let servers: ToolServers | undefined;
    let keys: KeyRelays | undefined;
    const switches = createSwitches((...start) => ctx.spawn(...start));
    for (const route of guardRoutes(ctx, log, async (...asked) => (await import("./judge.js")).judge(ctx, { sandboxes, switchesOf: switches }, ...asked)))
      ctx.provide.route(route);
    ctx.provide.tier({
      name: "cli-a",
      abilities: { nativeSessions: true, autonomy: ["report", "propose"], permissionModes: PERMISSION_MODES, toolServers: true, pictures: true },
      async *run(turn, context, signal) {
        const { runTurn } = await import("./run.js");
        const { createKeyRelays, createToolServers } = await import("@svc/sdk/engine");
        servers ??= createToolServers(ctx.log, "tier cli-a");
        keys ??= createKeyRelays();
        yield* runTurn(ctx, { log, sandboxes, servers, keys, switchesOf: switches }, turn, context, signal);
      },
      actions: (agent) => actionsThrough(ctx.services.get("callables"), agent),
      async probe(agent) {
        const { probe } = await import("./probe.js");
        return probe(ctx, { sandboxes, switchesOf: switches }, agent);
      },
    });
    return { stop: async () => keys?.close() };
  },
});
