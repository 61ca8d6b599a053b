import { isNetwork } from "../../base/client-address.ts";
import { isRecord } from "../../base/config-path.ts";
import { nearest } from "../../base/nearest.ts";
import type { Finding } from "../../base/schema/explain.ts";

/** Rules of the core that join several fields. Looks only at what has the right shape: the schema has judged the rest. */
export function crossRules(value: Readonly<Record<string, unknown>>, tiers: readonly string[]): readonly Finding[] {
  const agents = isRecord(value.agents) ? value.agents : {};
  const providers = isRecord(value.providers) ? value.providers : {};
  return [
    ...nodeRules(value.node, agents),
    ...Object.entries(agents).flatMap(([id, agent]) => (isRecord(agent) ? agentRules(id, agent, tiers, providers) : [])),
  ];
}

/** Keys that are accepted for the sake of older files and have no effect (CFG-13), each with the one that has. */
const UNREAD: Readonly<Record<string, string>> = {
  baseUrl: "is not read; the address of a provider is its key endpoint",
  defaultModel: "is not read; set model on the agents that use the provider",
};

/** What an operator may have meant and does not get. */
export function unreadKeys(value: Readonly<Record<string, unknown>>): readonly Finding[] {
  const providers = isRecord(value.providers) ? value.providers : {};
  return Object.entries(providers).flatMap(([name, entry]) =>
    Object.entries(UNREAD).flatMap(([key, message]) => (isRecord(entry) && Object.hasOwn(entry, key) ? [{ path: ["providers", name, key], message }] : [])),
  );
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

function agentRules(id: string, agent: Record<string, unknown>, tiers: readonly string[], providers: Record<string, unknown>): readonly Finding[] {
  const findings: Finding[] = [];
  const { tier, provider, mcp, integrations } = agent;
  const known = tiers.length === 0 ? "no plugin here provides one" : `known tiers: ${tiers.toSorted().join(", ")}`;
  if (tier === undefined) findings.push({ path: ["agents", id, "tier"], message: `is required, as no plugin here is the default tier; ${known}` });
  if (typeof tier === "string" && tier !== "" && !tiers.includes(tier)) {
    findings.push({ path: ["agents", id, "tier"], message: `names the tier '${tier}', which no plugin here provides${meant(tier, tiers)}; ${known}` });
  }
  if (typeof provider === "string" && provider !== "" && !Object.hasOwn(providers, provider)) {
    findings.push({
      path: ["agents", id, "provider"],
      message: `names the provider '${provider}', which providers does not have${meant(provider, Object.keys(providers))}`,
    });
  }
  for (const [name, server] of Object.entries(isRecord(mcp) ? mcp : {})) {
    if (!isRecord(server)) continue;
    const needed = server.type === "http" ? "url" : "command";
    if (server[needed] === undefined) {
      findings.push({ path: ["agents", id, "mcp", name, needed], message: `is required when type is ${server.type === "http" ? "http" : "stdio"}` });
    }
  }
  return [...findings, ...labelRules(id, integrations)];
}

/** The same label under two kinds is fine (CFG-16). */
function labelRules(id: string, integrations: unknown): readonly Finding[] {
  if (!Array.isArray(integrations)) return [];
  const first = new Map<string, number>();
  return integrations.flatMap((entry, index) => {
    if (!isRecord(entry) || typeof entry.kind !== "string" || typeof entry.label !== "string") return [];
    const key = JSON.stringify([entry.kind, entry.label]);
    const before = first.get(key);
    if (before === undefined) {
      first.set(key, index);
      return [];
    }
    const message = `is the label '${entry.label}' of a second integration of kind '${entry.kind}' (the first is integrations[${before}]); labels are unique per kind`;
    return [{ path: ["agents", id, "integrations", index, "label"], message }];
  });
}

function meant(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean '${near}'?`;
}
