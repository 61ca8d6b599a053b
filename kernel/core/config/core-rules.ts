import { isNetwork } from "../../base/client-address.ts";
import { isRecord } from "../../base/config-path.ts";
import { nearest } from "../../base/nearest.ts";
import type { Finding } from "../../base/schema/explain.ts";

/** Rules of the core that join several fields. Looks only at what has the right shape: the schema has judged the rest. */
export function crossRules(value: Readonly<Record<string, unknown>>, tiers: readonly string[]): readonly Finding[] {
  const agents = isRecord(value.agents) ? value.agents : {};
  return [...nodeRules(value.node, agents), ...Object.entries(agents).flatMap(([id, agent]) => (isRecord(agent) ? agentRules(id, agent, tiers) : []))];
}

function nodeRules(node: unknown, agents: Record<string, unknown>): readonly Finding[] {
  if (!isRecord(node)) return [];
  const findings: Finding[] = [];
  const { bind, defaultAgent, hosts, trustedProxies } = node;
  if (typeof bind === "string" && Number(/:(\d{1,5})$/.exec(bind)?.[1] ?? 0) > 65_535) {
    findings.push({ path: ["node", "bind"], message: "must end with a port from 0 to 65535" });
  }
  for (const [index, host] of textsOf(hosts)) {
    if (!/^(?:\[[0-9a-f:.]+\]|[^\s:[\]/@?#]+)$/i.test(host))
      findings.push({ path: ["node", "hosts", index], message: "must be a name alone, such as svc.example, without scheme, port or path" });
  }
  for (const [index, network] of textsOf(trustedProxies)) {
    if (!isNetwork(network))
      findings.push({ path: ["node", "trustedProxies", index], message: "must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8" });
  }
  if (typeof defaultAgent === "string" && defaultAgent !== "" && !Object.hasOwn(agents, defaultAgent)) {
    findings.push({
      path: ["node", "defaultAgent"],
      message: `names the agent '${defaultAgent}', which agents does not have${meant(defaultAgent, Object.keys(agents))}`,
    });
  }
  return findings;
}

const textsOf = (list: unknown): [number, string][] =>
  Array.isArray(list) ? [...list.entries()].filter((entry): entry is [number, string] => typeof entry[1] === "string") : [];

function agentRules(id: string, agent: Record<string, unknown>, tiers: readonly string[]): readonly Finding[] {
  const findings: Finding[] = [];
  const { tier } = agent;
  const known = tiers.length === 0 ? "no plugin here provides one" : `known tiers: ${tiers.toSorted().join(", ")}`;
  if (tier === undefined) findings.push({ path: ["agents", id, "tier"], message: `is required, as no plugin here is the default tier; ${known}` });
  if (typeof tier === "string" && tier !== "" && !tiers.includes(tier)) {
    findings.push({ path: ["agents", id, "tier"], message: `names the tier '${tier}', which no plugin here provides${meant(tier, tiers)}; ${known}` });
  }
  return findings;
}

function meant(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean '${near}'?`;
}
