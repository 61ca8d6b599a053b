import type { Agent, ObjectSchema } from "@svc/sdk";

/** The key `orchestrator` of an agent. */
export interface Settings {
  /** Names of actions, `*` for any characters. */
  readonly actions: readonly string[];
  /** Model calls of one turn. */
  readonly maxSteps: number;
  readonly serverTimeoutSeconds: number;
}

const DEFAULTS: Settings = { actions: [], maxSteps: 25, serverTimeoutSeconds: 10 };

/** The keys that this tier adds to an agent. */
export const agentConfig: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    orchestrator: {
      type: "object",
      description: "What the tier orchestrator may do for the agent.",
      additionalProperties: false,
      properties: {
        actions: {
          type: "array",
          items: { type: "string", minLength: 1 },
          default: DEFAULTS.actions,
          description: "actions that the model may call beside those of agents.<id>.actions, * for any characters",
        },
        maxSteps: { type: "integer", minimum: 1, maximum: 200, default: DEFAULTS.maxSteps, description: "model calls of one turn, at most" },
        serverTimeoutSeconds: {
          type: "integer",
          minimum: 1,
          maximum: 120,
          default: DEFAULTS.serverTimeoutSeconds,
          description: "seconds a tool server may take to be ready; then the turn goes on without it",
        },
      },
    },
  },
};

/** Reads the checked settings of an agent. */
export function readAgent({ settings }: Agent): Settings {
  return { ...DEFAULTS, ...(settings.orchestrator as Partial<Settings> | undefined) };
}
