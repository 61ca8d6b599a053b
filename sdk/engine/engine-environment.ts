import { svcError } from "../errors.ts";
import type { ProgramSection, ProgramSettings } from "../program-tier.ts";

/** The variables of the daemon that a tier's program may get. */
export interface EngineVariables {
  readonly tier: string;
  /** Variables that carry a model API key; the first one that is set wins. A run on the shared sign-in gets none of them. */
  readonly keys: readonly string[];
  /** Reach the program under either billing: where the vendor and the sign-in are, and the proxies. */
  readonly passed: readonly string[];
  /** Variables that carry the shared sign-in; a run that pays by key gets none of them. */
  readonly signIn?: readonly string[];
  /** Setting of the section's own variables; default `tiers.<tier>.env`. */
  readonly setting?: string;
}

/** Reads a variable of the daemon's environment. */
export type ReadVariable = (name: string) => string | undefined;

/** Environment of an agent's program, and the variable that carries the key. */
export interface EngineEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly key?: string;
}

/**
 * Returns the environment of one agent's program: `fixed`, the variables passed on from the daemon, then the section's own. Throws
 * `SVC_BILLING_KEY_MISSING` when the agent pays by key and has none, and `SVC_BILLING_KEY_REFUSED` when the section gives a key to a run on the
 * shared sign-in.
 */
export function engineEnvironment(
  { tier, keys, passed, signIn = [], setting = `tiers.${tier}.env` }: EngineVariables,
  agent: string,
  { billing }: Pick<ProgramSettings, "billing">,
  section: ProgramSection,
  read: ReadVariable,
  fixed: Readonly<Record<string, string>> = {},
): EngineEnvironment {
  const names = [...passed, ...(billing === "api" ? keys : signIn)];
  const daemon = Object.fromEntries(
    names.map((name) => [name, read(name)] as const).filter((pair): pair is readonly [string, string] => pair[1] !== undefined),
  );
  const env: Record<string, string> = { ...fixed, ...daemon, ...section.env };
  const key = keys.find((name) => env[name]);
  if (billing === "api" && key === undefined) {
    throw svcError(
      "SVC_BILLING_KEY_MISSING",
      `Agent ${agent} has billing 'api', but ${keys[0]} is not set in the daemon's environment; set it or use billing 'subscription'.`,
      { path: `agents.${agent}.billing` },
    );
  }
  if (billing === "subscription" && key !== undefined) {
    throw svcError(
      "SVC_BILLING_KEY_REFUSED",
      `Agent ${agent} has billing 'subscription', but ${setting} hands it ${key}; remove it there or use billing 'api'.`,
      { path: setting },
    );
  }
  return { env, ...(key === undefined ? {} : { key }) };
}
