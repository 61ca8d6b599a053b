import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** An agent and the user it is at the forge. */
export interface AgentMapping {
  readonly agentId: string;
  readonly forgeUsernames?: readonly string[];
  /** Accepted for old configurations, without effect. */
  readonly keywords?: readonly string[];
  /** The agent's own token. */
  readonly token?: string;
  /** The mesh peer on which the agent lives. */
  readonly node?: string;
}

/** The agent that uses the common token in a project. */
export interface Route {
  /** A project's path, or `*` for all others. */
  readonly project: string;
  readonly agent: string;
}

/** `channels.forge_a` of svc.json (001:L134). */
export interface Settings {
  readonly enabled?: boolean;
  readonly host?: string;
  readonly webhookPort?: number;
  readonly webhookSecret?: string;
  readonly token?: string;
  readonly autoReplyLegacy?: boolean;
  readonly routes?: readonly Route[];
  readonly agentMappings?: readonly AgentMapping[];
}

/** The forge that counts without a `host`. */
export const PUBLIC_HOST = "https://gitlab.com";

/** The section `channels.forge_a` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    host: { type: "string", pattern: "^https?://[^/?#\\s@]+(/[^?#\\s]*)?$", description: "address of the forge; default: the public one" },
    webhookPort: {
      type: "integer",
      minimum: 0,
      maximum: 65_535,
      default: 18_810,
      restart: true,
      description: "port of the receiver of webhooks; 0: any free one",
    },
    webhookSecret: { type: "string", secret: true, description: "secret that the forge sends with each webhook; without it all are refused" },
    token: { type: "string", secret: true, description: "API token of agents that have none of their own" },
    autoReplyLegacy: { type: "boolean", default: true, description: "the service posts the agent's answer; false: the agent posts its own" },
    routes: {
      type: "array",
      description: "which agent the user of `token` stands for, by project",
      items: {
        type: "object",
        required: ["project", "agent"],
        additionalProperties: false,
        properties: {
          project: { type: "string", minLength: 1, description: "path of a project, or * for all others" },
          agent: { type: "string", minLength: 1, description: "agent" },
        },
      },
    },
    agentMappings: {
      type: "array",
      description: "users of agents",
      items: {
        type: "object",
        required: ["agentId"],
        additionalProperties: false,
        properties: {
          agentId: { type: "string", minLength: 1, description: "agent" },
          forgeUsernames: { type: "array", items: { type: "string", minLength: 1 }, description: "names by which it is mentioned, besides that of its token" },
          keywords: { type: "array", items: { type: "string" }, description: "accepted for old configurations, without effect" },
          token: { type: "string", secret: true, description: "the agent's own API token" },
          node: { type: "string", description: "mesh peer on which the agent lives" },
        },
      },
    },
  },
};

/** Agents that are not there, agents without a token, and a receiver that refuses everything. */
export function checkSection(section: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const { enabled, webhookSecret = "", token = "", routes = [], agentMappings = [] } = section;
  if (enabled !== true) return [];
  const problems: SectionProblem[] = [];
  if (webhookSecret === "")
    problems.push({ path: "webhookSecret", message: "is not set, so every webhook is refused; enter the same secret here and at the forge" });
  if (routes.length + agentMappings.length === 0)
    problems.push({ path: "", message: "is enabled and no agent can be mentioned; add a route or an entry of agentMappings" });
  const missing = (path: string, agent: string) =>
    problems.push({ path, message: `names no agent of this configuration: '${agent}'; there are ${agents.join(", ") || "none"}` });
  for (const [at, { agent, project }] of routes.entries()) {
    const there = agents.includes(agent) || agentMappings.some(({ agentId, node }) => agentId === agent && node !== undefined);
    if (!there) missing(`routes[${at}].agent`, agent);
    if (routes.findIndex((route) => route.project === project) < at)
      problems.push({ path: `routes[${at}].project`, message: `is routed above already: '${project}'` });
  }
  for (const [at, { agentId, node, token: own = "" }] of agentMappings.entries()) {
    if (node === undefined && !agents.includes(agentId)) missing(`agentMappings[${at}].agentId`, agentId);
    if (own === "" && token === "")
      problems.push({ path: `agentMappings[${at}]`, message: `agent '${agentId}' has no token to answer with; set its token, or channels.forge_a.token` });
    if (agentMappings.findIndex((other) => other.agentId === agentId) < at)
      problems.push({ path: `agentMappings[${at}].agentId`, message: `stands above already: '${agentId}'` });
  }
  if (routes.length > 0 && token === "")
    problems.push({ path: "routes", message: "have no effect without channels.forge_a.token: they say whom its user stands for" });
  return problems;
}
