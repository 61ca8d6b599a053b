import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, PluginContext } from "@svc/sdk";
import { ask, probeEngine, versionOf } from "@svc/sdk/engine";
import { launchOf, VENDOR } from "./environment.ts";
import { readAgent, type Section } from "./settings.ts";

/** The release that the tests run. */
const TESTED = "0.169.0";

/** Is the program there, is the agent signed in, and is the vendor reachable? */
export async function probe(ctx: PluginContext<Section>, find: () => string, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const env = (name: string) => ctx.config.env?.[name] ?? ctx.env(name);
  const proxy = env("HTTPS_PROXY");
  const paid = agent !== undefined && readAgent(agent).billing === "api";
  return probeEngine({
    async installed() {
      const program = find();
      const version = await versionOf(ctx.spawn, program, [], tmpdir());
      return `${program} ${version}${version.endsWith(TESTED) ? "" : ` (tested with ${TESTED})`}`;
    },
    signedIn: () => (agent === undefined ? Promise.resolve("sign-in: asked for each agent") : signIn(ctx, find(), agent)),
    // Where a sign-in or a provider of the operator's leads is the program's affair.
    ...(paid ? { vendor: { address: env("OPENAI_BASE_URL") ?? VENDOR, ...(proxy === undefined ? {} : { proxy }) } } : {}),
  });
}

/** By the program's own word, which costs nothing. A key is not tried. */
async function signIn(ctx: PluginContext<Section>, program: string, agent: Agent): Promise<string> {
  const settings = readAgent(agent);
  const { env } = launchOf(agent.id, settings, ctx.config, (name) => ctx.env(name));
  if (settings.billing === "api") return "an API key is set";
  const { code, stdout, stderr } = await ask(ctx.spawn, program, ["login", "status"], { cwd: tmpdir(), env });
  if (code === 0) return "signed in";
  const home = env.CODEX_HOME ?? join(ctx.env("HOME") ?? "", ".codex");
  const config = await readFile(join(home, "config.toml"), "utf8").catch(() => "");
  if (/^\s*model_provider\s*=/m.test(config)) return "a provider of its own in config.toml";
  if (!/not logged in/i.test(stdout + stderr)) return "sign-in: the program did not say";
  throw new Error("not signed in: run `codex login` as the daemon's user, or set billing 'api' and OPENAI_API_KEY");
}
