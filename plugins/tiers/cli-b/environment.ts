import { svcError } from "@svc/sdk";
import type { AgentSettings, Section } from "./settings.ts";

/** Variables by which a model API key reaches the program, the first one that is set counts. A run on the shared sign-in gets none of them. */
export const KEYS = ["OPENAI_API_KEY", "CODEX_API_KEY"] as const;

/** Variables of the daemon that reach the program whoever pays. */
export const PASSED = ["OPENAI_BASE_URL", "CODEX_HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE"] as const;

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED] as const;

/** Where the vendor is, unless `OPENAI_BASE_URL` says otherwise. */
export const VENDOR = "https://api.openai.com/v1";

/** What one agent's program is started with. */
export interface Launch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The arguments and variables of one agent's program. With billing `api` the program is told to use the key instead of its own
 * sign-in. Throws `SVC_BILLING_KEY_MISSING` and `SVC_BILLING_KEY_REFUSED`.
 */
export function launchOf(agent: string, { billing }: Pick<AgentSettings, "billing">, section: Section, env: (name: string) => string | undefined): Launch {
  const given = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (env(name) === undefined ? [] : [[name, env(name) as string]])));
  const child: Record<string, string> = { ...given(PASSED), ...(billing === "api" ? given(KEYS) : {}), ...section.env };
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
      `Agent ${agent} has billing 'subscription', but tiers.cli-b.env hands it ${key}; remove it there or use billing 'api'.`,
      {
        path: "tiers.cli-b.env",
      },
    );
  }
  return { env: child, args: ["app-server", ...FIXED, ...WITHHELD, ...(key === undefined ? [] : provider(key, child.OPENAI_BASE_URL ?? VENDOR))] };
}

/** Without these the program sends reports, and waits without end for a vendor that cannot be reached. */
const FIXED = ["--disable", "unbounded_connection_retries", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"] as const;

/** What the model's commands do not see: one injected sentence would be enough to read a key (`env`). */
const WITHHELD = ["-c", `shell_environment_policy.exclude=${JSON.stringify([...KEYS, "*_API_KEY", "*TOKEN*", "*SECRET*", "*PASSWORD*"])}`] as const;

/** The vendor's API by key, as a provider of its own: the base address variable is not read by the program, and its sign-in file stays as it is. */
function provider(key: string, address: string): string[] {
  const table = `{name="OpenAI",base_url=${JSON.stringify(address)},env_key=${JSON.stringify(key)},wire_api="responses",request_max_retries=3,stream_max_retries=2}`;
  return ["-c", 'model_provider="svc"', "-c", `model_providers.svc=${table}`];
}
