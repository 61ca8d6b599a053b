import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** An agent and the user it is at the forge. */
export interface AgentMapping {
  readonly agentId: string;
  readonly forgeUsernames?: readonly string[];
  /** The agent's own token. */
  readonly token?: string;
  /** A file whose first line is the agent's own token. */
  readonly tokenFile?: string;
  /** The mesh peer on which the agent lives. */
  readonly node?: string;
}

/** The agent that uses the common token or App in a repository. */
export interface Route {
  /** `owner/repo`, or `*` for all others. */
  readonly repo: string;
  readonly agent: string;
}

/** `channels.forge_b` of svc.json (001:L136). */
export interface Settings {
  readonly enabled?: boolean;
  readonly apiRoot?: string;
  readonly autoReplyLegacy?: boolean;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly appId?: number;
  readonly clientId?: string;
  readonly privateKeyFile?: string;
  readonly webhookSecret?: string;
  readonly routes?: readonly Route[];
  readonly agentMappings?: readonly AgentMapping[];
}

/** The API that counts without an `apiRoot`. */
export const PUBLIC_API = "https://api.github.com";

/** The section `channels.forge_b` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    apiRoot: {
      type: "string",
      pattern: "^https?://[^/?#\\s@]+(/[^?#\\s]*)?$",
      default: PUBLIC_API,
      description: "address of the API; of a server of your own usually https://<host>/api/v3",
    },
    autoReplyLegacy: { type: "boolean", default: true, description: "the service posts the agent's answer; false: the agent posts its own" },
    token: { type: "string", secret: true, description: "API token of agents that have none of their own" },
    tokenFile: { type: "string", minLength: 1, description: "file whose first line is that token; read at start" },
    appId: { type: "integer", minimum: 1, description: "id of an App in place of a token" },
    clientId: { type: "string", minLength: 1, description: "client id of the App; preferred over appId" },
    privateKeyFile: { type: "string", minLength: 1, description: "file with the App's private key (PEM); read at start" },
    webhookSecret: { type: "string", secret: true, description: "secret that signs each webhook; without it all are refused" },
    routes: {
      type: "array",
      description: "which agent the common token or the App stands for, by repository",
      items: {
        type: "object",
        required: ["repo", "agent"],
        additionalProperties: false,
        properties: {
          repo: { type: "string", pattern: "^(\\*|[^/\\s]+/[^/\\s]+)$", description: "owner/repo, or * for all others" },
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
          token: { type: "string", secret: true, description: "the agent's own API token" },
          tokenFile: { type: "string", minLength: 1, description: "file whose first line is that token; read at start" },
          node: { type: "string", description: "mesh peer on which the agent lives" },
        },
      },
    },
  },
};

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";

/** Credentials that contradict each other or are missing, agents that are not there, a receiver that refuses everything. */
export function checkSection(section: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const { enabled, webhookSecret, token, tokenFile, appId, clientId, privateKeyFile, routes = [], agentMappings = [] } = section;
  if (enabled !== true) return [];
  const problems: SectionProblem[] = [];
  const asApp = appId !== undefined || clientId !== undefined || privateKeyFile !== undefined;
  const common = isSet(token) || isSet(tokenFile) || asApp;
  if (!isSet(webhookSecret))
    problems.push({ path: "webhookSecret", message: "is not set, so every webhook is refused; enter the same secret here and at the forge" });
  if (isSet(token) && isSet(tokenFile)) problems.push({ path: "tokenFile", message: "has no effect beside token; keep one of the two" });
  if (asApp && (isSet(token) || isSet(tokenFile))) problems.push({ path: "token", message: "has no effect beside an App; keep one of the two" });
  if (asApp && privateKeyFile === undefined)
    problems.push({ path: "privateKeyFile", message: "is missing: the App cannot prove who it is; download a private key in the App's settings" });
  if (asApp && appId === undefined && clientId === undefined) problems.push({ path: "clientId", message: "is missing: set the App's client id (or appId)" });
  if (routes.length + agentMappings.length === 0)
    problems.push({ path: "", message: "is enabled and no agent can be mentioned; add a route or an entry of agentMappings, or: svc connect forge_b" });
  const missing = (path: string, agent: string) =>
    problems.push({ path, message: `names no agent of this configuration: '${agent}'; there are ${agents.join(", ") || "none"}` });
  for (const [at, { agent, repo }] of routes.entries()) {
    const there = agents.includes(agent) || agentMappings.some(({ agentId, node }) => agentId === agent && node !== undefined);
    if (!there) missing(`routes[${at}].agent`, agent);
    if (!common) problems.push({ path: `routes[${at}]`, message: "stands for the common token or App, and there is none" });
    if (routes.findIndex((route) => route.repo.toLowerCase() === repo.toLowerCase()) < at)
      problems.push({ path: `routes[${at}].repo`, message: `is routed above already: '${repo}'` });
  }
  for (const [at, { agentId, node, token: own, tokenFile: file }] of agentMappings.entries()) {
    if (node === undefined && !agents.includes(agentId)) missing(`agentMappings[${at}].agentId`, agentId);
    if (!isSet(own) && !isSet(file) && !common)
      problems.push({ path: `agentMappings[${at}]`, message: `agent '${agentId}' has no token to answer with; set its token, or channels.forge_b.token` });
  }
  return problems;
}
