import type { Schema, SectionProblem } from "@svc/sdk";

/** One entry of `webhooks` (001:L170-182), defaults filled in. */
export interface WebhookSettings {
  readonly id: string;
  readonly source: string;
  readonly agentId: string;
  /** Present, even empty: nothing unsigned is taken. */
  readonly secretEnv?: string;
  readonly description?: string;
  readonly enabled: boolean;
  readonly node?: string;
  readonly triggers?: Readonly<Record<string, string>>;
  readonly defaultWorkflow?: string;
}

/** The path `/webhook/wacli` belongs to the receiver of phone chats, whatever the agents are called (HOOK-04). */
export const RESERVED_AGENT = "wacli";

const word = (description: string): Schema => ({ type: "string", minLength: 1, maxLength: 200, description });

/** The section of svc.json. */
export const WEBHOOKS: Schema = {
  type: "array",
  description: "incoming webhooks, posted to /webhook/<agentId>/<source>",
  items: {
    type: "object",
    additionalProperties: false,
    required: ["id", "source", "agentId"],
    properties: {
      id: { type: "string", pattern: "^[a-z0-9_-]+$", maxLength: 64, description: "its name: lower-case letters, digits, - and _" },
      source: { ...word("the sending system: the second part of the path"), pattern: "^[^/?#%\\s]+$" },
      agentId: word("the agent that works on it: the first part of the path"),
      secretEnv: { type: "string", description: "name of the environment variable with the secret; nothing unsigned is taken where it is set" },
      description: { type: "string", maxLength: 4_000, description: "what the agent is told about what comes in" },
      enabled: { type: "boolean", default: true, description: "switch" },
      node: word("another machine whose agent works on it"),
      triggers: { type: "object", description: "workflows by event type", additionalProperties: word("id of a workflow") },
      defaultWorkflow: word("id of the workflow for other event types"),
    },
  },
};

/** Whether it can be the name of a variable. A secret that was written in place of one is shown nowhere. */
export const isVariableName = (text: string): boolean => /^[A-Z_][A-Z0-9_]*$/.test(text);

/** Checks that the schema cannot express. */
export function checkWebhooks(section: readonly WebhookSettings[], { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const problems = section.flatMap((entry, at) => problemsOf(section, entry, at, agents));
  const reserved = agents.includes(RESERVED_AGENT) && section.every(({ agentId }) => agentId !== RESERVED_AGENT);
  if (reserved)
    problems.push({ path: "", message: `cannot reach the agent '${RESERVED_AGENT}' at /webhook/${RESERVED_AGENT}: that path is the receiver of phone chats` });
  return problems;
}

function problemsOf(section: readonly WebhookSettings[], entry: WebhookSettings, at: number, agents: readonly string[]): SectionProblem[] {
  const { id, source, agentId, secretEnv, enabled, node } = entry;
  const before = section.slice(0, at);
  const problems: SectionProblem[] = [];
  const error = (key: string, message: string) => problems.push({ path: `[${at}].${key}`, message, severity: "error" });
  const warn = (key: string, message: string) => problems.push({ path: `[${at}].${key}`, message });
  if (before.some((one) => one.id === id)) error("id", `'${id}' is there twice; give each entry an id of its own`);
  if (enabled && before.some((one) => one.enabled && one.agentId === agentId && one.source === source))
    error("source", `'${source}' of agent '${agentId}' is there twice; the path /webhook/${agentId}/${source} can have one enabled entry`);
  if (agentId === RESERVED_AGENT)
    warn("agentId", `'${RESERVED_AGENT}' is reached with its source alone: /webhook/${RESERVED_AGENT} is the receiver of phone chats`);
  if (node === undefined && !agents.includes(agentId))
    warn("agentId", `names no agent of this file; what comes in is answered with 404 unless a plugin brings '${agentId}'`);
  if (secretEnv === undefined) warn("secretEnv", "is not set: anyone who reaches the path can start the agent");
  else if (secretEnv === "") warn("secretEnv", "is empty: everything is refused; name the environment variable with the secret, or leave the key out");
  else if (!isVariableName(secretEnv))
    warn("secretEnv", "does not look like a variable's name; write the name of an environment variable, not the secret itself");
  return problems;
}
