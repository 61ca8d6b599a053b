import type { ProgramSection, ProgramSettings } from "@svc/sdk";
import { type EngineEnvironment, engineEnvironment, type ReadVariable } from "@svc/sdk/engine";
import { KEYS, PASSED, VENDOR } from "./variables.ts";

/** The variables of one agent's program. Throws `SVC_BILLING_KEY_MISSING` and `SVC_BILLING_KEY_REFUSED`. */
export const environmentOf = (
  agent: string,
  settings: Pick<ProgramSettings, "billing">,
  section: Pick<ProgramSection, "env">,
  read: ReadVariable,
): EngineEnvironment => engineEnvironment({ tier: "cli-b", keys: KEYS, passed: PASSED }, agent, settings, section, read);

/** The program's arguments. With a key it is told to use that instead of its own sign-in. */
export const argumentsOf = ({ env, key }: EngineEnvironment): readonly string[] => [
  "app-server",
  ...FIXED,
  ...WITHHELD,
  ...(key === undefined ? [] : provider(key, env.OPENAI_BASE_URL ?? VENDOR)),
];

/** Without these the program sends reports, and waits without end for a vendor that cannot be reached. */
const FIXED = ["--disable", "unbounded_connection_retries", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"] as const;

/** Variables hidden from the model's commands: one injected sentence would be enough to read a key (`env`). */
const WITHHELD = ["-c", `shell_environment_policy.exclude=${JSON.stringify([...KEYS, "*_API_KEY", "*TOKEN*", "*SECRET*", "*PASSWORD*"])}`] as const;

/** The vendor's API by key, as a provider of its own: the base address variable is not read by the program, and its sign-in file stays as it is. */
function provider(key: string, address: string): string[] {
  const table = `{name="OpenAI",base_url=${JSON.stringify(address)},env_key=${JSON.stringify(key)},wire_api="responses",request_max_retries=3,stream_max_retries=2}`;
  return ["-c", 'model_provider="svc"', "-c", `model_providers.svc=${table}`];
}
