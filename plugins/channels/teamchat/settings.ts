import type { ObjectSchema, SectionProblem } from "@svc/sdk";
import { tokensProblem } from "./tokens.ts";

/** One workspace with the app in it. */
export interface WorkspaceSettings {
  /** Of the bot: `xoxb-...`. */
  readonly botToken: string;
  /** Of the app, for socket mode: `xapp-...`. Workspaces of one app may have the same. */
  readonly appToken: string;
  /** The agent that answers there. */
  readonly agentBinding: string;
  /** Replaces the list of the section for this workspace; empty: admits no one. */
  readonly allowFrom?: readonly string[];
}

/** `channels.teamchat` of svc.json (001:L111). */
export interface Settings extends Partial<WorkspaceSettings> {
  readonly enabled?: boolean;
  readonly apiRoot?: string;
  readonly dm?: "allow" | "block";
  readonly group?: "mention-required" | "all";
  /** The name of an emoji, or one itself; default `eyes`. */
  readonly acknowledge?: string;
  /** Age up to which missed messages are answered, in hours; default 24. */
  readonly catchUpHours?: number;
  /** Further workspaces by name. */
  readonly workspaces?: Readonly<Record<string, WorkspaceSettings>>;
}

/** The name of the workspace whose tokens stand in the section itself. */
export const MAIN = "main";

const allowFrom = { type: "array", items: { type: "string", minLength: 1 } } as const;
const botToken = { type: "string", secret: true, description: "bot token (xoxb-...)" } as const;
const appToken = { type: "string", secret: true, description: "app-level token for socket mode (xapp-...)" } as const;

/** The section `channels.teamchat` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    botToken,
    appToken,
    agentBinding: { type: "string", description: "agent that answers" },
    allowFrom: {
      ...allowFrom,
      description: "ids of people (U...), of channels (C..., everybody in it) or of the workspace (T..., all its members); without a list nobody is heard",
    },
    dm: { type: "string", enum: ["allow", "block"], default: "allow", description: "direct messages of the people listed, or none" },
    group: { type: "string", enum: ["mention-required", "all"], default: "mention-required", description: "messages in channels that are taken" },
    acknowledge: { type: "string", maxLength: 64, default: "eyes", description: "name of the emoji put on each message that was taken; empty: none" },
    catchUpHours: { type: "integer", minimum: 0, maximum: 144, default: 24, description: "how far back messages that were missed are answered; 0: not at all" },
    apiRoot: { type: "string", pattern: "^https?://", description: "another server that speaks the Web API" },
    workspaces: {
      type: "object",
      description: "further workspaces by name",
      propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" },
      additionalProperties: {
        type: "object",
        required: ["botToken", "appToken", "agentBinding"],
        additionalProperties: false,
        properties: {
          botToken,
          appToken,
          agentBinding: { type: "string", description: "agent that answers there" },
          allowFrom: { ...allowFrom, description: "replaces the list of the section for this workspace" },
        },
      },
    },
  },
};

/** A workspace with its name, its place in the section and the list that counts for it. */
export interface NamedWorkspace extends WorkspaceSettings {
  readonly name: string;
  /** `channels.teamchat` or `channels.teamchat.workspaces.<name>`. */
  readonly at: string;
}

/** All workspaces of the section. */
export function workspacesOf({ botToken, appToken, agentBinding, allowFrom: listed, workspaces = {} }: Settings): readonly NamedWorkspace[] {
  const main = { botToken: botToken ?? "", appToken: appToken ?? "", agentBinding: agentBinding ?? "" };
  const own = botToken === undefined && appToken === undefined ? [] : [{ ...main, name: MAIN, at: "channels.teamchat" }];
  const named = Object.entries(workspaces).map(([name, settings]) => ({ ...settings, name, at: `channels.teamchat.workspaces.${name}` }));
  return [...own, ...named].map((one: NamedWorkspace) => {
    const list = one.allowFrom ?? listed;
    return { ...one, ...(list === undefined ? {} : { allowFrom: list }) };
  });
}

/** Returns the warning about a workspace without allowed senders; undefined if it has some. */
export function whyDeaf({ allowFrom: list }: Pick<WorkspaceSettings, "allowFrom">): string | undefined {
  if (list !== undefined && list.length > 0) return undefined;
  return "hears nobody: list in allowFrom who may write: ids of people (U...), of channels (C...) or of the workspace (T...)";
}

/** Reports tokens in the wrong place, missing agents, and empty allow lists. */
export function checkSection(section: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  if (section.enabled !== true) return [];
  const workspaces = workspacesOf(section);
  if (workspaces.length === 0) return [{ path: "", message: "is enabled without a workspace; connect one with: svc connect teamchat, or switch it off" }];
  return workspaces.flatMap((one): SectionProblem[] => {
    const inside = (key: string) => `${one.at}.${key}`.slice("channels.teamchat.".length);
    const tokens = tokensProblem(one);
    const deaf = whyDeaf(one);
    return [
      ...(tokens === undefined ? [] : [{ path: inside(tokens.key), message: tokens.words }]),
      ...(agents.includes(one.agentBinding)
        ? []
        : [{ path: inside("agentBinding"), message: `names no agent of this configuration: '${one.agentBinding}'; there are ${agents.join(", ") || "none"}` }]),
      ...(deaf === undefined ? [] : [{ path: inside("allowFrom"), message: deaf }]),
    ];
  });
}
