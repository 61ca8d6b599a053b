import { svcError } from "@svc/sdk";
import type { AgentSettings, Section } from "./settings.ts";

/** Variables by which a model API key reaches the program. A run on the shared sign-in gets none of them (001:L57). */
export const KEYS = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] as const;

/** Variables of the daemon that reach the program whoever pays: where the vendor and the sign-in are, and the way out. */
export const PASSED = ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"] as const;

/** The token of a shared sign-in on a machine without a browser. */
const SIGN_IN = "CLAUDE_CODE_OAUTH_TOKEN";

/** The daemon's lines go to its own log; and a failing vendor is retried for seconds, not for minutes. */
const FIXED = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_AUTOUPDATER: "1",
  CLAUDE_CODE_MAX_RETRIES: "4",
};

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED, SIGN_IN] as const;

/**
 * The variables of one agent's program. Throws `SVC_BILLING_KEY_MISSING` when the agent pays by key and there is none, and
 * `SVC_BILLING_KEY_REFUSED` when the section hands a key to a run on the shared sign-in.
 */
export function childEnvironment(
  agent: string,
  { billing }: Pick<AgentSettings, "billing">,
  section: Section,
  env: (name: string) => string | undefined,
): Record<string, string> {
  const child: Record<string, string> = { ...FIXED };
  const pass = (names: readonly string[]) => {
    for (const name of names) {
      const value = env(name);
      if (value !== undefined) child[name] = value;
    }
  };
  pass(PASSED);
  pass(billing === "api" ? KEYS : [SIGN_IN]);
  Object.assign(child, section.env);
  const key = KEYS.find((name) => child[name]);
  if (billing === "api" && key === undefined) {
    throw svcError(
      "SVC_BILLING_KEY_MISSING",
      `Agent ${agent} has billing 'api', but ${KEYS[0]} is not set in the daemon's environment; set it or use billing 'subscription'.`,
      {
        path: `agents.${agent}.billing`,
      },
    );
  }
  if (billing === "subscription" && key !== undefined) {
    throw svcError(
      "SVC_BILLING_KEY_REFUSED",
      `Agent ${agent} has billing 'subscription', but tiers.cli-a.env hands it ${key}; remove it there or use billing 'api'.`,
      {
        path: "tiers.cli-a.env",
      },
    );
  }
  return child;
}
