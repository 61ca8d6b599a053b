import { type Agent, reasonOf } from "@svc/sdk";
import { tierAbilities } from "@svc/sdk/host";
import { fail } from "../base/errors.ts";
import type { AgentAbilities } from "../core/boot/status-port.ts";
import type { KernelTools } from "../core/flow/actions-port.ts";
import type { AgentTable } from "../core/host/agents.ts";
import { call } from "../core/host/call.ts";
import { callableBy } from "../core/host/callable-actions.ts";
import type { Live } from "../core/host/live.ts";

/** Keys of an agent that restrict it. */
const RESTRICTING = ["access", "permissionMode", "toolUseRequired", "maxConcurrent", "maxExecutionMinutes", "maxDelegationDepth"];
/** Timeout of an engine's probe, in milliseconds: longer than what a program may take to answer (30 s). */
const PROBE_MS = 40_000;

/** Returns the abilities of an agent; queries its engine. Throws `SVC_AGENT_UNKNOWN`; a failing engine is reported in the result. */
export async function abilitiesOf(id: string, agents: AgentTable, live: Live, tools?: KernelTools["list"]): Promise<AgentAbilities> {
  const settings = agents.settings(id);
  if (settings === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent: id });
  const { agent, intents, unusable } = settings;
  const tier = live.tiers.get(agent.tier);
  const abilities = tier === undefined ? undefined : tierAbilities(tier.thing);
  const offered = (await tools?.(id)) ?? [];
  // An engine calls them as tools of the daemon or through its tier; both respect the agent's rules.
  const actions = [...new Set([...callableBy(agent, live), ...offered.flatMap(({ action = [] }) => action)])].sort();
  return {
    id,
    name: agent.name,
    tier: agent.tier,
    ...(agent.model === undefined ? {} : { model: agent.model }),
    engine: unusable === undefined ? await probe(agent, live) : { ok: false, detail: fail("SVC_AGENT_UNUSABLE", { agent: id, reason: unusable }).message },
    nativeSessions: abilities?.nativeSessions === true,
    enforcesAutonomy: abilities?.autonomy.length === 2,
    ...(abilities === undefined ? {} : { abilities }),
    actions,
    reportingActions: actions.filter((action) => live.actions.get(action)?.thing.restricted === true),
    tools: offered.map(({ name }) => name).sort(),
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
