import type { ObjectSchema } from "@svc/sdk";

/** `agents.<id>.presence` (001:L79). */
export interface PresenceSettings {
  readonly color?: string;
  readonly initial?: string;
  readonly label?: string;
  readonly allowActions?: boolean;
}

/** The key, as a part of `agents.<id>`. */
export const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    presence: {
      type: "object",
      additionalProperties: false,
      description: "how the agent is shown, and whether it may act there",
      properties: {
        color: { type: "string", pattern: "^#[0-9A-Fa-f]{6}$", description: "colour as #RRGGBB; default by the agent's id" },
        initial: { type: "string", minLength: 1, maxLength: 2, description: "up to two letters; default the first of its name" },
        label: { type: "string", minLength: 1, maxLength: 100, description: "what is shown beside it; default its name" },
        allowActions: { type: "boolean", description: "permit to act; without it, act falls back to teach" },
      },
    },
  },
};
