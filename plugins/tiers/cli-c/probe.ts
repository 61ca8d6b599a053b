import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, PluginContext } from "@svc/sdk";
import { probeEngine, versionOf } from "@svc/sdk/engine";
import { launchOf } from "./environment.ts";
import type { Program } from "./program.ts";
import { readAgent, type Section } from "./settings.ts";

/** The release that the tests run. */
const TESTED = "0.61.0";
const API = "https://generativelanguage.googleapis.com";
const CREDENTIALS = ["oauth_creds.json", "gemini-credentials.json"] as const;

/** Is the program there, is the agent signed in, and is the vendor reachable? */
export async function probe(ctx: PluginContext<Section>, find: () => Program, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const env = (name: string) => ctx.config.env?.[name] ?? ctx.env(name);
  const proxy = env("HTTPS_PROXY");
  const paid = agent !== undefined && readAgent(agent).billing === "api";
  return probeEngine({
    async installed() {
      const { file, args } = find();
      const version = await versionOf(ctx.spawn, file, args, tmpdir());
      return `Gemini CLI ${version}${version === TESTED ? "" : ` (tested with ${TESTED})`}`;
    },
    signedIn: () => (agent === undefined ? Promise.resolve("sign-in: asked for each agent") : signIn(ctx, agent, env)),
    ...(paid ? { vendor: { address: env("GOOGLE_GEMINI_BASE_URL") ?? API, ...(proxy === undefined ? {} : { proxy }) } } : {}),
  });
}

/** The program has no command for it: its credentials file is there or not. A key is not tried. */
async function signIn(ctx: PluginContext<Section>, agent: Agent, env: (name: string) => string | undefined): Promise<string> {
  const { billing } = readAgent(agent);
  launchOf(agent.id, { billing, model: undefined, overrides: "" }, ctx.config, (name) => ctx.env(name));
  if (billing === "api") return "an API key is set";
  const home = join(env("GEMINI_CLI_HOME") ?? env("HOME") ?? "", ".gemini");
  const found = await Promise.all(
    CREDENTIALS.map((name) =>
      stat(join(home, name)).then(
        (file) => file.isFile(),
        () => false,
      ),
    ),
  );
  if (found.includes(true)) return "signed in";
  throw new Error(`not signed in (no credentials in ${home}): run \`gemini\` once as the daemon's user, or set billing 'api' and GEMINI_API_KEY`);
}
