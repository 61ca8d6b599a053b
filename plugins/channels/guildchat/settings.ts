import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** `channels.guildchat` of svc.json (001:L111). */
export interface Settings {
  readonly enabled?: boolean;
  readonly token?: string;
  /** The agent that answers. */
  readonly agentBinding?: string;
  /** Allowed senders: ids of people, `role:`, `guild:` and `channel:` with their ids. */
  readonly allowFrom?: readonly string[];
  /** Default `allow`: people who are listed by id. */
  readonly dm?: "allow" | "block";
  /** Default `mention-required`. */
  readonly group?: "mention-required" | "all";
  /** Default 👀. */
  readonly acknowledge?: string;
  readonly apiRoot?: string;
}

/** The API that counts without an `apiRoot`. */
export const PUBLIC_API = "https://discord.com/api";

/** An entry of the allow list. */
export const ENTRY = "^(?:(?:role|guild|channel):)?[0-9]{5,20}$";

/** The section `channels.guildchat` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    token: { type: "string", secret: true, description: "bot token" },
    agentBinding: { type: "string", description: "agent answering" },
    allowFrom: {
      type: "array",
      items: { type: "string", pattern: ENTRY },
      description:
        "who is heard: ids of people; `role:<id>`, `guild:<id>` and `channel:<id>` let their people in; closed by default: without a list nobody is heard",
    },
    dm: { type: "string", enum: ["allow", "block"], default: "allow", description: "direct messages of people who are listed by id, or none" },
    group: { type: "string", enum: ["mention-required", "all"], default: "mention-required", description: "messages of guilds that are taken" },
    acknowledge: { type: "string", maxLength: 16, default: "👀", description: "emoji put on each message that was taken; empty: none" },
    apiRoot: { type: "string", pattern: "^https?://", description: "another server that speaks the API, without its version" },
  },
};

/** Returns the warning that no sender is allowed; shown in `svc channel list` and by the doctor. */
export const whyDeaf = ({ allowFrom = [] }: Settings): string | undefined =>
  allowFrom.length > 0 ? undefined : "hears nobody: channels.guildchat.allowFrom is empty; list who may write, with: svc connect guildchat";

/** Reports a channel without a token, without an agent, or without allowed senders. */
export function checkSection(section: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  if (section.enabled !== true) return [];
  const { token = "", agentBinding } = section;
  const deaf = whyDeaf(section);
  return [
    ...(token === "" ? [{ path: "token", message: "is not set; get one with: svc connect guildchat", severity: "error" as const }] : []),
    ...(agentBinding !== undefined && agents.includes(agentBinding)
      ? []
      : [
          {
            path: "agentBinding",
            message: `${agentBinding === undefined ? "is not set" : `names no agent of this configuration: '${agentBinding}'`}; there are ${agents.join(", ") || "none"}`,
            severity: "error" as const,
          },
        ]),
    ...(deaf === undefined ? [] : [{ path: "allowFrom", message: deaf }]),
  ];
}
