import type { EngineOffer } from "../engine-offer.ts";
import type { Manifest } from "../plugin.ts";
import { findExecutable } from "./executable.ts";

/** An engine that the manifest of a tier offers. */
export interface TierOffer {
  readonly tier: string;
  readonly offer: EngineOffer;
}

/** A way to run an agent that was found on this machine. */
export interface FoundEngine {
  /** For people; holds no secret. */
  readonly label: string;
  readonly tier: string;
  /** The required entry of `providers`, and its content when it does not exist yet. */
  readonly provider?: { readonly name: string; readonly entry: Readonly<Record<string, string>> };
  /** Further settings of the agent, such as who pays; undefined removes one. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Models to choose from, the proposed one first. Empty: the engine chooses. */
  readonly models: readonly string[];
  /** Hint for when it does not answer. */
  readonly hint: string;
}

/** Timeout of a local server for listing its models, in milliseconds. */
const LOOK_MS = 1_500;

/** The engines that the tiers of these manifests offer: those of the tier that agents have by default first, then by rank and name. */
export function offersOf(manifests: readonly Manifest[]): readonly TierOffer[] {
  const order = (manifest: Manifest) => (manifest.default === true ? 0 : 1);
  return manifests
    .filter(({ kind }) => kind === "tier")
    .flatMap((manifest) => (manifest.engines ?? []).map((offer) => ({ tier: manifest.name, offer, first: order(manifest) })))
    .sort((left, right) => left.first - right.first || (left.offer.rank ?? 0) - (right.offer.rank ?? 0) || left.tier.localeCompare(right.tier))
    .map(({ tier, offer }) => ({ tier, offer }));
}

/**
 * What can run agents here, best first: programs on PATH, then API keys in `env`, then model servers on loopback, then the built-in engine. Sends no
 * request outside of this machine.
 */
export async function findEngines(env: NodeJS.ProcessEnv, offers: readonly TierOffer[]): Promise<readonly FoundEngine[]> {
  const keys = offers.flatMap(({ tier, offer }): FoundEngine[] => {
    const { name, program, server, key, provider, models = [], settings } = offer;
    if (program !== undefined || server !== undefined || key === undefined || !env[key]) return [];
    return [
      {
        label: `${name} (${key} is set)`,
        tier,
        ...(provider === undefined ? {} : { provider: { name: provider.name, entry: { apiKey: `\${${key}}`, ...provider.entry } } }),
        ...(settings === undefined ? {} : { settings }),
        models,
        hint: hintOf(key),
      },
    ];
  });
  const servers = await Promise.all(offers.map((offer) => askServer(offer, env)));
  const always = offers.flatMap(({ tier, offer: { name, program, server, key, models = [], settings = {}, hint = "run: svc doctor" } }): FoundEngine[] =>
    program === undefined && server === undefined && key === undefined ? [{ label: name, tier, models, settings, hint }] : [],
  );
  return [...(await findPrograms(env, offers)), ...keys, ...servers.flat(), ...always];
}

/** The programs on PATH: on their own sign-in first, then on a key that is set. */
export async function findPrograms(env: NodeJS.ProcessEnv, offers: readonly TierOffer[]): Promise<readonly FoundEngine[]> {
  const there = offers.flatMap(({ tier, offer }) => {
    const file = offer.program === undefined ? undefined : findExecutable(offer.program, env.PATH ?? "");
    return file === undefined ? [] : [{ tier, file, ...offer }];
  });
  const signedIn = there.map(
    ({ tier, name, file, models = [], hint = "run: svc doctor", settings }): FoundEngine => ({
      label: `${name} (tier ${tier}; ${file})`,
      tier,
      models,
      hint,
      settings: { billing: undefined, ...settings },
    }),
  );
  const paid = there.flatMap(({ tier, name, key, models = [], settings }): FoundEngine[] =>
    key === undefined || !env[key]
      ? []
      : [{ label: `${name} (tier ${tier}), paid by ${key}`, tier, models, hint: hintOf(key), settings: { ...settings, billing: "api" } }],
  );
  return [...signedIn, ...paid];
}

/** Returns install instructions for programs that were not found, one line each. */
export async function installable(env: NodeJS.ProcessEnv, offers: readonly TierOffer[]): Promise<readonly string[]> {
  return offers.flatMap(({ tier, offer: { name, program, install } }) =>
    program === undefined || install === undefined || findExecutable(program, env.PATH ?? "") !== undefined ? [] : [`${name} (tier ${tier}): ${install}`],
  );
}

const hintOf = (key: string): string => `check that ${key} is valid; a daemon that a supervisor starts finds it in .env beside svc.json`;

async function askServer({ tier, offer }: TierOffer, env: NodeJS.ProcessEnv): Promise<FoundEngine[]> {
  const { name, server, provider, hint = "run: svc doctor" } = offer;
  if (server === undefined) return [];
  const port = server.variable === undefined ? server.port : portIn(env[server.variable] ?? "", server.port);
  const address = `http://127.0.0.1:${port}`;
  const models = await listModels(`${address}${server.path}`);
  if (models.length === 0) return [];
  const entry = { ...provider?.entry, ...(port === server.port ? {} : { endpoint: address }) };
  return [
    {
      label: `${name} on 127.0.0.1:${port} (${models.length} models)`,
      tier,
      ...(provider === undefined ? {} : { provider: { name: provider.name, entry } }),
      models,
      hint,
    },
  ];
}

/** The port in a server's own variable for where it listens, where that is this machine. */
function portIn(address: string, usual: number): number {
  const [, port] = /^(?:http:\/\/)?(?:127\.0\.0\.1|localhost|0\.0\.0\.0)?:(\d{1,5})\/?$/.exec(address.trim()) ?? [];
  return port === undefined ? usual : Number(port);
}

/** Empty when no model server listens there. Models that only embed cannot answer. */
async function listModels(url: string): Promise<string[]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LOOK_MS), redirect: "error" });
    const { models, data } = (await response.json()) as { models?: readonly { name?: unknown }[]; data?: readonly { id?: unknown }[] };
    const names = [...(models ?? []).map(({ name }) => name), ...(models === undefined ? (data ?? []).map(({ id }) => id) : [])];
    return names.filter((name): name is string => typeof name === "string" && name !== "" && !/embed/i.test(name));
  } catch {
    return [];
  }
}
