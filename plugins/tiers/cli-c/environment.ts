import { svcError } from "@svc/sdk";
import type { AgentSettings, Section } from "./settings.ts";

/** Variables by which a model API key reaches the program. A run on the shared sign-in gets none of them. */
export const KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY"] as const;

/** Variables of the daemon that reach the program whoever pays. */
export const PASSED = [
  "GOOGLE_GEMINI_BASE_URL",
  "GEMINI_CLI_HOME",
  "GOOGLE_CLOUD_PROJECT",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
  "NODE_EXTRA_CA_CERTS",
] as const;

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED] as const;

/** What one agent's program is started with. */
export interface Launch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Without the first it starts a second process of itself that no signal reaches. */
const FIXED = { GEMINI_CLI_NO_RELAUNCH: "true" } as const;

/**
 * The arguments and variables of one agent's program; `overrides` is the file of `overridesOf`. Throws `SVC_BILLING_KEY_MISSING` and
 * `SVC_BILLING_KEY_REFUSED`.
 */
export function launchOf(
  agent: string,
  { billing, model, overrides }: Pick<AgentSettings, "billing"> & { readonly model: string | undefined; readonly overrides: string },
  section: Section,
  env: (name: string) => string | undefined,
): Launch {
  const given = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (env(name) === undefined ? [] : [[name, env(name) as string]])));
  const child: Record<string, string> = {
    ...FIXED,
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: overrides,
    ...given(PASSED),
    ...(billing === "api" ? given(KEYS) : {}),
    ...section.env,
  };
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
      `Agent ${agent} has billing 'subscription', but tiers.cli-c.env hands it ${key}; remove it there or use billing 'api'.`,
      {
        path: "tiers.cli-c.env",
      },
    );
  }
  return { env: child, args: ["--acp", "--skip-trust", ...(model === undefined ? [] : ["-m", model])] };
}

/** Settings that win over the operator's own: no reports, no updates, a few tries instead of many, and the key where it pays. */
export function overridesOf(billing: AgentSettings["billing"]): string {
  return `${JSON.stringify({
    general: { enableAutoUpdate: false, maxAttempts: 3, retryFetchErrors: false },
    privacy: { usageStatisticsEnabled: false },
    ...(billing === "api" ? { security: { auth: { selectedType: "gemini-api-key" } } } : {}),
  })}\n`;
}
