import { type Agent, coversName, reasonOf, type TierAbilities } from "@svc/sdk";
import { tierAbilities } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import type { AgentTable } from "./agents.ts";
import { call } from "./call.ts";
import type { Live } from "./live.ts";

/** What an agent can do here and now, as `svc agent capability` shows it. Names only: no address, no credential. */
export interface AgentAbilities {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  /** Is its engine usable? The tier's own word, or why there is none. */
  readonly engine: { readonly ok: boolean; readonly detail: string };
  /** Its engine keeps conversations itself. */
  readonly nativeSessions: boolean;
  /** It can be run with `autonomy: report` and `propose`. */
  readonly enforcesAutonomy: boolean;
  /** What its engine can do, as its tier declares it; unset where the tier is missing. */
  readonly abilities?: Required<TierAbilities>;
  /** Actions and tools that plugins offer. */
  readonly actions: readonly string[];
  readonly tools: readonly string[];
  /** Intents it takes; empty means any. */
  readonly intents: readonly string[];
  /** Names of its tool servers. */
  readonly mcpServers: readonly string[];
  /** Its keys that say what it may not do, or how much of it. */
  readonly restrictions: Readonly<Record<string, unknown>>;
}

const NONE: readonly string[] = [];

/** The actions that the agent can call itself while it runs. */
export function callableBy(agent: Agent, live: Live): readonly string[] {
  const patterns = patternsOf(agent, live);
  if (patterns.length === 0) return NONE;
  return [...live.actions.values()].flatMap(({ thing }) => (thing.unusable === undefined && coversName(patterns, thing.name) ? [thing.name] : []));
}

/** A tier that fails to say it offers none: the run itself will tell what is wrong. */
function patternsOf(agent: Agent, live: Live): readonly string[] {
  try {
    return live.tiers.get(agent.tier)?.thing.actions?.(agent) ?? NONE;
  } catch {
    return NONE;
  }
}

/** Keys of an agent that restrict it. */
const RESTRICTING = ["access", "permissionMode", "toolUseRequired", "maxConcurrent", "maxExecutionMinutes", "maxDelegationDepth"];
/** How long an engine may take to say whether it is usable, in milliseconds. */
const PROBE_MS = 15_000;

/** Looks it up and asks the engine. Throws `SVC_AGENT_UNKNOWN`; an engine that fails is an answer. */
export async function abilitiesOf(id: string, agents: AgentTable, live: Live): Promise<AgentAbilities> {
  const settings = agents.settings(id);
  if (settings === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent: id });
  const { agent, intents, unusable } = settings;
  const tier = live.tiers.get(agent.tier);
  const abilities = tier === undefined ? undefined : tierAbilities(tier.thing);
  return {
    id,
    name: agent.name,
    tier: agent.tier,
    ...(agent.model === undefined ? {} : { model: agent.model }),
    engine: unusable === undefined ? await probe(agent, live) : { ok: false, detail: fail("SVC_AGENT_UNUSABLE", { agent: id, reason: unusable }).message },
    nativeSessions: abilities?.nativeSessions === true,
    enforcesAutonomy: abilities?.autonomy.length === 2,
    ...(abilities === undefined ? {} : { abilities }),
    actions: [...live.actions.values()].flatMap(({ thing }) => (thing.unusable === undefined ? [thing.name] : [])).sort(),
    tools: [...live.tools.keys()].sort(),
    intents,
    mcpServers: Object.keys((agent.settings.mcp ?? {}) as object),
    restrictions: Object.fromEntries(RESTRICTING.flatMap((key) => (agent.settings[key] === undefined ? [] : [[key, agent.settings[key]]]))),
  };
}

async function probe(agent: Agent, live: Live): Promise<AgentAbilities["engine"]> {
  const { id, tier: name } = agent;
  const tier = live.tiers.get(name);
  if (tier === undefined) return { ok: false, detail: fail("SVC_TIER_MISSING", { agent: id, tier: name }).message };
  const { scope, thing } = tier;
  if (thing.probe === undefined) return { ok: true, detail: "the tier cannot be asked beforehand" };
  try {
    const { ok, detail } = (await call({ scope, what: `tier ${name} probe`, limitMs: PROBE_MS, run: () => thing.probe?.(agent) }, [])) ?? {
      ok: false,
      detail: "",
    };
    return { ok, detail };
  } catch (error) {
    return { ok: false, detail: reasonOf(error) };
  }
}
