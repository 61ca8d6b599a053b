import type { ProgramSettings } from "@svc/sdk";
import { extraCertificates, type KeyRelays, proxyFor, type Vendor } from "@svc/sdk/engine";
import { VENDOR } from "./variables.ts";

/*
 * Behind the wall the program holds a placeholder in the place of its key or token, and knows one address: the relay's. The relay puts
 * the real one in, outside. So nothing that the program starts, reads or prints can hold it.
 */

/** Access of a run to its vendor from behind the wall. */
export interface VendorAccess {
  readonly vendor: Vendor;
  /** The program's variables, without secrets. */
  readonly env: Readonly<Record<string, string>>;
}

const PLACEHOLDER = "svc-relay";
/** With a key of the operator's only what a turn needs is passed on: the same key opens files and batches, too. */
const TURN_PATHS = ["/v1/messages", "/v1/models"];
/** Variables that name other ways to a vendor, which the relay does not know. */
export const ELSEWHERE = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
const SECRETS = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] as const;

/**
 * Returns how the run reaches its vendor without its key, or why it cannot run behind a wall. `env` is the program's environment without a wall,
 * `port` the relay's inside.
 */
export function vendorAccess({ billing }: Pick<ProgramSettings, "billing">, env: Readonly<Record<string, string>>, port: number): VendorAccess | string {
  const other = ELSEWHERE.find((name) => env[name]);
  if (other !== undefined) return `${other} names another vendor, which is not passed through the wall`;
  const secret = SECRETS.find((name) => env[name]);
  if (secret === undefined)
    return "the sign-in of Claude Code is a file that it renews, which is not passed behind the wall; set CLAUDE_CODE_OAUTH_TOKEN (claude setup-token), or billing 'api'";
  const base = env.ANTHROPIC_BASE_URL ?? VENDOR;
  if (!URL.canParse(base)) return "ANTHROPIC_BASE_URL is no address";
  const value = env[secret] as string;
  const inside = Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.includes(name as (typeof SECRETS)[number]) && !OUTSIDE.includes(name)));
  const [proxy, ca] = [proxyFor(base, env), extraCertificates(env)];
  return {
    vendor: {
      base,
      paths: billing === "api" ? TURN_PATHS : ["/v1", "/api"],
      headers: secret === "ANTHROPIC_API_KEY" ? { "x-api-key": value } : { authorization: `Bearer ${value}` },
      without: ["x-api-key", "authorization", "cookie"],
      ...(proxy === undefined ? {} : { proxy }),
      ...(ca === undefined ? {} : { ca }),
    },
    env: { ...inside, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, [secret]: PLACEHOLDER },
  };
}

/**
 * The variables of a run that is in no wall, with a token of the daemon's relay in the place of its API key: what the model's commands and
 * tool servers read there is worth nothing elsewhere. As they are for a run on the shared sign-in, and for vendors that the relay does not know.
 */
export async function withoutKey(
  keys: Pick<KeyRelays, "relayFor">,
  settings: Pick<ProgramSettings, "billing">,
  env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const access = settings.billing === "api" ? vendorAccess(settings, env, 0) : undefined;
  if (access === undefined || typeof access === "string") return env;
  const { port, token } = await keys.relayFor(access.vendor);
  const secrets = SECRETS.filter((name) => env[name]);
  return {
    ...env,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    NO_PROXY: [env.NO_PROXY, "127.0.0.1"].filter(Boolean).join(","),
    ...Object.fromEntries(secrets.map((name) => [name, token])),
  };
}

/** Variables without a meaning inside: the relay is the way out. */
const OUTSIDE: readonly string[] = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "CLAUDE_CONFIG_DIR"];
