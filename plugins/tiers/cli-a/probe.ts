import { tmpdir } from "node:os";
import type { Agent, PluginContext } from "@svc/sdk";
import { ask, probeEngine, versionOf } from "@svc/sdk/engine";
import { childEnvironment, READ } from "./environment.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import { readAgent, type Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { lend } from "./vendor.ts";

const API = "https://api.anthropic.com";
/** The release that the tests run; others are asked what they know. */
const TESTED = "2.1.329";

interface Guarding {
  readonly find: () => string;
  readonly sandboxes: SandboxLevels;
  readonly switchesOf: (program: string) => Promise<Switches>;
}

/** Is the program there, is the agent signed in, is the vendor reachable, and what would hold restricted runs? */
export async function probe(ctx: PluginContext<Section>, guarding: Guarding, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const env = (name: string) => ctx.config.env?.[name] ?? ctx.env(name);
  const proxy = env("HTTPS_PROXY");
  return probeEngine({
    async installed() {
      const program = guarding.find();
      const version = await versionOf(ctx.spawn, program, [], tmpdir());
      const other = version.startsWith(TESTED) ? "" : ` (tested with ${TESTED}; its options are read from its help)`;
      return `${program} ${version}${other}; ${await guardOf(ctx, program, guarding, agent)}`;
    },
    signedIn: () => (agent === undefined ? Promise.resolve("sign-in: asked for each agent") : signIn(ctx, guarding, agent)),
    ...(agent === undefined ? {} : { vendor: { address: env("ANTHROPIC_BASE_URL") ?? API, ...(proxy === undefined ? {} : { proxy }) } }),
  });
}

/** By the program's own word, which costs nothing. A key is not tried. */
async function signIn(ctx: PluginContext<Section>, { find, switchesOf }: Guarding, agent: Agent): Promise<string> {
  const settings = readAgent(agent);
  const env = childEnvironment(agent.id, settings, ctx.config, (name) => ctx.env(name));
  if (settings.billing === "api") return "an API key is set";
  if (ELSEWHERE.some((name) => env[name])) return "sign-in: another vendor's, not asked";
  const program = find();
  if (!(await switchesOf(program)).hasCommand("auth")) return "sign-in: this release cannot be asked";
  const { code, stdout } = await ask(ctx.spawn, program, ["auth", "status"], { cwd: tmpdir(), env });
  if (code === 0) return "signed in";
  if (!/"loggedIn": *false/.test(stdout)) return "sign-in: the program did not say";
  throw new Error("not signed in: run `claude` once as the daemon's user, set CLAUDE_CODE_OAUTH_TOKEN, or set billing 'api' and ANTHROPIC_API_KEY");
}

const ELSEWHERE = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"] as const;

/** What a run of autonomy `report` would be held by, shown and not assumed: of this agent, else of one that has the daemon's key or token. */
async function guardOf(ctx: PluginContext<Section>, program: string, { sandboxes, switchesOf }: Guarding, agent?: Agent): Promise<string> {
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
    const level = await sandboxes.levelOf({ workspace: tmpdir(), writable: false, version: switches.version, ...obstacle });
    return level.kind === "wall" ? "guard: wall" : `guard: narrow (${level.reason})`;
  } catch (error) {
    return `guard: no restricted runs (${(error as Error).message})`;
  }
}
