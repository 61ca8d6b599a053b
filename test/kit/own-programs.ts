import { definePlugin, type Plugin, type Spawn } from "@svc/sdk";

/** A plugin to run, and what the daemon then starts programs with: as those of an agent. */
export function ownPrograms() {
  let spawn: Spawn | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "engine",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["spawn"],
    setup(ctx) {
      spawn = ctx.spawn;
    },
  }) as Plugin<never>;
  /** Starts a program, and returns what it printed. */
  const run = async (command: string, args: readonly string[]): Promise<string> =>
    (await (spawn as Spawn)(command, args, { cwd: process.cwd() }).ended).stdout.trim();
  return { plugin, run };
}
