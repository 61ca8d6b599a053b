import { tmpdir } from "node:os";
import type { Agent, PluginContext } from "@svc/sdk";
import { childEnvironment, READ } from "./environment.ts";
import { readAgent, type Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { lend } from "./vendor.ts";
import type { Walls } from "./walls.ts";

const LIMIT_MS = 10_000;

interface Guarding {
  readonly find: () => string;
  readonly walls: Walls;
  readonly switchesOf: (program: string) => Promise<Switches>;
}

/** Is the program there, and does it start? Answers with its version and with what would hold restricted runs. */
export async function probe(ctx: PluginContext<Section>, guarding: Guarding, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  try {
    const program = guarding.find();
    const child = ctx.spawn(program, ["--version"], { cwd: tmpdir(), stdin: "ignore", timeoutMs: LIMIT_MS });
    await child.started;
    const { code, stdout, stderr } = await child.ended;
    return code === 0
      ? { ok: true, detail: `${program} ${stdout.trim()}; ${await guardOf(ctx, program, guarding, agent)}` }
      : { ok: false, detail: `${program} --version failed: ${stderr.trim().slice(0, 200)}` };
  } catch (error) {
    return { ok: false, detail: (error as Error).message };
  }
}

/** What a run of autonomy `report` would be held by, shown and not assumed: of this agent, else of one that has the daemon's key or token. */
async function guardOf(ctx: PluginContext<Section>, program: string, { walls, switchesOf }: Guarding, agent?: Agent): Promise<string> {
  try {
    const switches = await switchesOf(program);
    switches.requireRestricting();
    const daemon = Object.fromEntries(
      READ.map((name) => [name, ctx.env(name)] as const).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const settings = agent === undefined ? ({ billing: daemon.ANTHROPIC_API_KEY === undefined ? "subscription" : "api" } as const) : readAgent(agent);
    const env = agent === undefined ? { ...daemon, ...ctx.config.env } : childEnvironment(agent.id, settings, ctx.config, (name) => ctx.env(name));
    const lent = lend(settings, env, 1);
    const obstacle = typeof lent === "string" ? { obstacle: lent } : {};
    const level = await walls.levelOf({ workspace: tmpdir(), writable: false, version: switches.version, ...obstacle });
    return level.kind === "wall" ? "guard: wall" : `guard: narrow (${level.reason})`;
  } catch (error) {
    return `guard: no restricted runs (${(error as Error).message})`;
  }
}
