import { tmpdir } from "node:os";
import type { Agent, PluginContext } from "@svc/sdk";
import { ask, probeProgram } from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { environmentOf } from "./environment.ts";
import { findProgram } from "./program.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import type { Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { READ, VENDOR } from "./variables.ts";
import { ELSEWHERE, vendorAccess } from "./vendor.ts";

/** The release that the tests run; others are asked what they know. */
const TESTED = "2.1.329";

interface Guarding {
  readonly sandboxes: SandboxLevels;
  readonly switchesOf: (program: string) => Promise<Switches>;
}

/** Is the program there, is the agent signed in, is the vendor reachable, and what would hold restricted runs? */
export function probe(ctx: PluginContext<Section>, guarding: Guarding, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const read = (name: string) => ctx.env(name);
  return probeProgram({
    spawn: ctx.spawn,
    section: ctx.config,
    read,
    agent,
    tested: TESTED,
    otherwise: "; its options are read from its help",
    find: () => ({ file: findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? ""), args: [] }),
    describe: ({ file }) => guardOf(ctx, file, guarding, agent),
    environment: ({ id }, settings) => environmentOf(id, settings, ctx.config, read),
    signedIn: ({ file }, env) => signIn(ctx, file, guarding, env),
    vendor: { variable: "ANTHROPIC_BASE_URL", address: VENDOR, always: true },
  });
}

/** By the program's own word, which costs nothing. */
async function signIn(ctx: PluginContext<Section>, program: string, { switchesOf }: Guarding, env: Readonly<Record<string, string>>): Promise<string> {
  if (ELSEWHERE.some((name) => env[name])) return "sign-in: another vendor's, not asked";
  if (!(await switchesOf(program)).hasCommand("auth")) return "sign-in: this release cannot be asked";
  const { code, stdout } = await ask(ctx.spawn, program, ["auth", "status"], { cwd: tmpdir(), env });
  if (code === 0) return "signed in";
  if (!/"loggedIn": *false/.test(stdout)) return "sign-in: the program did not say";
  throw new Error("not signed in: run `claude` once as the daemon's user, set CLAUDE_CODE_OAUTH_TOKEN, or set billing 'api' and ANTHROPIC_API_KEY");
}

/** Tests the boundary of a run of autonomy `report` in practice: of this agent, else of one with the daemon's key or token. */
async function guardOf(ctx: PluginContext<Section>, program: string, { sandboxes, switchesOf }: Guarding, agent?: Agent): Promise<string> {
  try {
    const switches = await switchesOf(program);
    switches.requireRestricting();
    const daemon = Object.fromEntries(
      READ.map((name) => [name, ctx.env(name)] as const).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const settings = agent === undefined ? ({ billing: daemon.ANTHROPIC_API_KEY === undefined ? "subscription" : "api" } as const) : programSettings(agent);
    const env = agent === undefined ? { ...daemon, ...ctx.config.env } : environmentOf(agent.id, settings, ctx.config, (name) => ctx.env(name)).env;
    const access = vendorAccess(settings, env, 1);
    const obstacle = typeof access === "string" ? { obstacle: access } : {};
    const level = await sandboxes.levelOf({ workspace: tmpdir(), writable: false, version: switches.version, ...obstacle });
    return level.kind === "wall" ? "guard: wall" : `guard: narrow (${level.reason})`;
  } catch (error) {
    return `guard: no restricted runs (${(error as Error).message})`;
  }
}
