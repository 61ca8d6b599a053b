import type { ProgramSection, ProgramSettings } from "@svc/sdk";
import { type EngineEnvironment, engineEnvironment, type ReadVariable } from "@svc/sdk/engine";
import { KEYS, PASSED, SIGN_IN } from "./variables.ts";

/** The daemon's lines go to its own log; and a failing vendor is retried for seconds, not for minutes. */
const FIXED = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_AUTOUPDATER: "1",
  CLAUDE_CODE_MAX_RETRIES: "4",
};

/** The variables of one agent's program. Throws `SVC_BILLING_KEY_MISSING` and `SVC_BILLING_KEY_REFUSED`. */
export const environmentOf = (
  agent: string,
  settings: Pick<ProgramSettings, "billing">,
  section: Pick<ProgramSection, "env">,
  read: ReadVariable,
): EngineEnvironment => engineEnvironment({ tier: "cli-a", keys: KEYS, passed: PASSED, signIn: [SIGN_IN] }, agent, settings, section, read, FIXED);
