import { isNetwork } from "../client-address.ts";
import { isRecord } from "../config-path.ts";
import { nearest } from "../nearest.ts";
import type { Finding } from "../schema/explain.ts";

/** Checks rules of the core that join several fields. Reads only values of the right shape: the schema has validated the rest. */
export function crossRules(value: Readonly<Record<string, unknown>>, tiers: readonly string[]): readonly Finding[] {
  const agents = isRecord(value.agents) ? value.agents : {};
  return [...nodeRules(value.node, agents), ...Object.entries(agents).flatMap(([id, agent]) => (isRecord(agent) ? agentRules(id, agent, tiers) : []))];
}

function nodeRules(node: unknown, agents: Record<string, unknown>): readonly Finding[] {
  if (!isRecord(node)) return [];
  const findings: Finding[] = [];
  const { bind, defaultAgent, hosts, trustedProxies, url } = node;
  if (typeof bind === "string" && Number(/:(\d{1,5})$/.exec(bind)?.[1] ?? 0) > 65_535) {
    findings.push({ path: ["node", "bind"], message: "must end with a port from 0 to 65535" });
  }
  if (typeof url === "string" && namesUser(url)) {
    const message = "must have no user and no password before its host: every daemon on the store and who reads their state is told it";
    findings.push({ path: ["node", "url"], message });
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

const namesUser = (url: string): boolean => URL.canParse(url) && new URL(url).username + new URL(url).password !== "";

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
