import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** One bot account. */
export interface AccountSettings {
  readonly token: string;
  /** The agent that answers on this account. */
  readonly agentBinding: string;
  /** Replaces the list of `policy` for this account; empty: admits no one. */
  readonly allowFrom?: readonly string[];
  /** Default true. */
  readonly pollInbound?: boolean;
  readonly apiRoot?: string;
}

/** Senders who may write to an account, directly and in groups. */
export interface Policy {
  readonly dm?: "pair" | "block";
  readonly group?: "mention-required" | "all";
  readonly allowFrom?: readonly string[];
}

/** `channels.botmsg` of svc.json (001:L109). */
export interface Settings {
  readonly enabled?: boolean;
  readonly apiRoot?: string;
  /** Default 👀. */
  readonly acknowledge?: string;
  readonly accounts?: Readonly<Record<string, AccountSettings>>;
  readonly policy?: Policy;
}

const ids = { type: "array", items: { type: "string", minLength: 1 }, description: "user ids, negative chat ids, or handles" } as const;
const apiRoot = { type: "string", pattern: "^https?://", description: "another server that speaks the bot API, such as one of your own" } as const;

/** The section `channels.botmsg` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    apiRoot,
    acknowledge: { type: "string", maxLength: 16, default: "👀", description: "emoji put on each message that was taken; empty: none" },
    accounts: {
      type: "object",
      description: "bot accounts by name",
      additionalProperties: {
        type: "object",
        required: ["token", "agentBinding"],
        additionalProperties: false,
        properties: {
          token: { type: "string", secret: true, description: "bot token" },
          agentBinding: { type: "string", description: "agent answering on this account" },
          allowFrom: { ...ids, description: "user ids, negative chat ids or handles; replaces the global list for this account" },
          pollInbound: { type: "boolean", default: true, description: "false: send only, for when the bound agent lives on another node" },
          apiRoot,
        },
      },
    },
    policy: {
      type: "object",
      description: "who may write",
      additionalProperties: false,
      properties: {
        dm: { type: "string", enum: ["pair", "block"], default: "pair", description: "direct messages: after pairing, or never" },
        group: { type: "string", enum: ["mention-required", "all"], default: "mention-required", description: "group messages that are taken" },
        allowFrom: { ...ids, description: "closed by default: with neither a global nor an account list every message is dropped" },
      },
    },
  },
};

/** Accounts that no agent answers on, and a channel without an account. */
export function checkSection({ enabled, accounts = {} }: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  if (enabled !== true) return [];
  const named = Object.entries(accounts);
  if (named.length === 0) return [{ path: "", message: "is enabled without an account; add one with: svc connect botmsg, or switch it off" }];
  return named
    .filter(([, { agentBinding, pollInbound }]) => pollInbound !== false && !agents.includes(agentBinding))
    .map(([name, { agentBinding }]) => ({
      path: `accounts.${name}.agentBinding`,
      message: `names no agent of this configuration: '${agentBinding}'; there are ${agents.join(", ") || "none"}`,
    }));
}
