import { tmpdir } from "node:os";
import type { PluginContext } from "@svc/sdk";
import { READ } from "./environment.ts";
import type { Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { lend } from "./vendor.ts";
import type { Walls } from "./walls.ts";

const LIMIT_MS = 10_000;

/** Is the program there, and does it start? Answers with its version and with what would hold restricted runs. */
export async function probe(
  ctx: PluginContext<Section>,
  find: () => string,
  walls: Walls,
  switchesOf: (program: string) => Promise<Switches>,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  try {
    const program = find();
    const child = ctx.spawn(program, ["--version"], { cwd: tmpdir(), stdin: "ignore", timeoutMs: LIMIT_MS });
    await child.started;
    const { code, stdout, stderr } = await child.ended;
    return code === 0
      ? { ok: true, detail: `${program} ${stdout.trim()}; ${await guardOf(ctx, program, walls, switchesOf)}` }
      : { ok: false, detail: `${program} --version failed: ${stderr.trim().slice(0, 200)}` };
  } catch (error) {
    return { ok: false, detail: (error as Error).message };
  }
}

/** What a run of autonomy `report` would be held by, shown and not assumed. The key or sign-in of each agent may speak against it still. */
async function guardOf(ctx: PluginContext<Section>, program: string, walls: Walls, switchesOf: (program: string) => Promise<Switches>): Promise<string> {
  try {
    const switches = await switchesOf(program);
    switches.requireRestricting();
    const env = Object.fromEntries(READ.map((name) => [name, ctx.env(name)] as const).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
    const lent = lend({ billing: env.ANTHROPIC_API_KEY === undefined ? "subscription" : "api" }, { ...env, ...ctx.config.env }, 1);
    const obstacle = typeof lent === "string" ? { obstacle: lent } : {};
    const level = await walls.levelOf({ workspace: tmpdir(), writable: false, version: switches.version, ...obstacle });
    return level.kind === "wall" ? "guard: wall" : `guard: narrow (${level.reason})`;
  } catch (error) {
    return `guard: no restricted runs (${(error as Error).message})`;
  }
}
