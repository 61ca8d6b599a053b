import type { Agent, ObjectSchema } from "@svc/sdk";

/** Default actions of every agent: ask other agents, and search its own index. */
const DEFAULT: readonly string[] = ["agent.call", "mesh.delegate", "rag.lexical"];

/** The key that this plugin adds to an agent. */
export const AGENT_CONFIG: ObjectSchema = {
  type: "object",
  properties: {
    actions: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 200 },
      maxItems: 200,
      description: "actions that the agent may call as tools, * for any characters; unset: agent.call, mesh.delegate and rag.lexical, none for a public agent",
    },
  },
};

/** Patterns of the actions that the agent may call. One that plans does nothing. */
export function patternsOf({ settings }: Pick<Agent, "settings">): readonly string[] {
  if (settings.permissionMode === "plan") return [];
  // Strangers talk with a public one: what it may have others do is for its operator to say.
  return (settings.actions as readonly string[] | undefined) ?? (settings.access === "public" ? [] : DEFAULT);
}
