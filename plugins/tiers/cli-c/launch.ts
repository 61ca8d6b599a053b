import type { ProgramSection, ProgramSettings } from "@svc/sdk";
import { type EngineEnvironment, engineEnvironment, extraCertificates, type KeyRelays, proxyFor, type ReadVariable } from "@svc/sdk/engine";
import { KEYS, PASSED, VENDOR } from "./variables.ts";

/** Variables of the program whatever it is asked. Without the first it starts a second process of itself, which takes a second and no signal reaches. */
export const FIXED = { GEMINI_CLI_NO_RELAUNCH: "true" } as const;
const KEY = "GEMINI_API_KEY";
const PATHS = ["/v1beta", "/v1", "/v1alpha"];

/** The variables of one agent's program; `overrides` is the file of `overridesOf`. Throws `SVC_BILLING_KEY_MISSING` and `SVC_BILLING_KEY_REFUSED`. */
export const environmentOf = (
  agent: string,
  settings: Pick<ProgramSettings, "billing">,
  section: Pick<ProgramSection, "env">,
  read: ReadVariable,
  overrides = "",
): EngineEnvironment =>
  engineEnvironment({ tier: "cli-c", keys: KEYS, passed: PASSED }, agent, settings, section, read, {
    ...FIXED,
    ...(overrides === "" ? {} : { GEMINI_CLI_SYSTEM_SETTINGS_PATH: overrides }),
  });

/** The program's arguments. */
export const argumentsOf = (model: string | undefined): readonly string[] => ["--acp", "--skip-trust", ...(model === undefined ? [] : ["-m", model])];

/** Settings that win over the operator's own: no reports, no updates, a few tries instead of many, and the key where it pays. */
export function overridesOf(billing: ProgramSettings["billing"]): string {
  return `${JSON.stringify({
    general: { enableAutoUpdate: false, maxAttempts: 3, retryFetchErrors: false },
    privacy: { usageStatisticsEnabled: false },
    ...(billing === "api" ? { security: { auth: { selectedType: "gemini-api-key" } } } : {}),
  })}\n`;
}

/**
 * The variables with a token of the daemon's relay in the place of the API key: what the model's commands and tool servers read there is
 * worth nothing elsewhere. As they are for a run on the shared sign-in, and with the key of another vendor.
 */
export async function withoutKey(
  keys: Pick<KeyRelays, "relayFor">,
  { billing }: Pick<ProgramSettings, "billing">,
  { env }: EngineEnvironment,
): Promise<Readonly<Record<string, string>>> {
  const key = env[KEY];
  const base = env.GOOGLE_GEMINI_BASE_URL ?? VENDOR;
  if (billing !== "api" || !key || env.GOOGLE_API_KEY || !URL.canParse(base)) return env;
  const [proxy, ca] = [proxyFor(base, env), extraCertificates(env)];
  const { port, token } = await keys.relayFor({
    base,
    paths: PATHS,
    headers: { "x-goog-api-key": key },
    without: ["x-goog-api-key", "authorization", "cookie"],
    ...(proxy === undefined ? {} : { proxy }),
    ...(ca === undefined ? {} : { ca }),
  });
  const spared = [env.NO_PROXY, "127.0.0.1"].filter(Boolean).join(",");
  return { ...env, [KEY]: token, GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`, NO_PROXY: spared };
}
