import type { Agent, ObjectSchema } from "@svc/sdk";

/** The key `a2a` of an agent, defaults filled in. */
export interface A2aSettings {
  /** Where its card is found, without the path. */
  readonly url: string;
  /** The environment variable with its bearer. */
  readonly tokenEnv?: string;
  /** Where calls go, in place of the address on the card. */
  readonly endpoint?: string;
}

/** Keys that the tier adds to `agents.<id>`. */
export const AGENT: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    a2a: {
      type: "object",
      description: "The A2A server that answers for this agent.",
      additionalProperties: false,
      required: ["url"],
      properties: {
        url: { type: "string", format: "url", pattern: "^https?://", description: "address of the server; its card lies below /.well-known" },
        tokenEnv: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", description: "name of the environment variable that holds its bearer" },
        endpoint: {
          type: "string",
          format: "url",
          pattern: "^https?://",
          description: "where calls go; default: what the card says, if that is the same server",
        },
      },
    },
  },
};

/** The settings of an agent; undefined where it has none. */
export const settingsOf = ({ settings }: Pick<Agent, "settings">): A2aSettings | undefined => settings["a2a"] as A2aSettings | undefined;
