import { type Agent, type PluginContext, svcError } from "@svc/sdk";
import { engineEnvironment, executableOf, type RpcOptions, requireExecutable } from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { type AcpSettings, acpSettings } from "./settings.ts";

/** Variables of the daemon that reach the program: the ways out. Everything else it gets by `env`. */
export const PASSED = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] as const;

/** Endings of variables that carry a model API key. */
const KEY = /_(API_KEY|AUTH_TOKEN)$/;
const SPEECH = {
  who: "tier acp",
  hint: "does it speak the Agent Client Protocol with these arguments?",
  conversationKey: "sessionId",
  versioned: true,
} as const;

/**
 * Returns how to start an agent's program. Throws `SVC_TIER_PROGRAM` when none is configured or it is missing, `SVC_BILLING_KEY_MISSING` when the
 * agent pays by key and its `env` has none, and `SVC_BILLING_KEY_REFUSED` when it has one and the agent is on the shared sign-in.
 */
export function launchOf(ctx: PluginContext<AcpSettings>, agent: Agent): Omit<RpcOptions, "taskId"> {
  const { command, args = [], env = {}, at } = acpSettings(ctx.config, agent);
  if (command === undefined) {
    throw svcError("SVC_TIER_PROGRAM", `tier acp: agent ${agent.id} has no program; set tiers.acp.command or agents.${agent.id}.acp.command.`, {
      path: "tiers.acp.command",
    });
  }
  const found = requireExecutable({
    command,
    searchPath: ctx.env("PATH") ?? "",
    tier: "acp",
    product: "the program",
    setting: `${at}.command`,
    script: true,
  });
  const program = executableOf(found);
  const keys = Object.keys(env).filter((name) => KEY.test(name));
  const settings = programSettings(agent);
  if (settings.billing === "api" && !keys.some((name) => env[name])) {
    throw svcError("SVC_BILLING_KEY_MISSING", `Agent ${agent.id} has billing 'api', but ${at}.env has no key (a name that ends in _API_KEY or _AUTH_TOKEN).`, {
      path: `agents.${agent.id}.billing`,
    });
  }
  // Keys stand in `env` alone.
  const read = (name: string) => (keys.includes(name) ? undefined : ctx.env(name));
  const environment = engineEnvironment({ tier: "acp", keys, passed: PASSED, setting: `${at}.env` }, agent.id, settings, { env }, read);
  return { ...SPEECH, program: program.file, args: [...program.args, ...args], env: environment.env, cwd: agent.workspace };
}
