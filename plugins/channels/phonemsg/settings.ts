import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** Route from senders to an agent; the first match wins. */
export interface Route {
  /** A phone number: direct messages of that person, or with `group` what that person writes there. */
  readonly contact?: string;
  /** A part of the group's name, in any case, or its id. */
  readonly group?: string;
  readonly agent: string;
}

/** Options of the ingest into the workspace. */
export interface IngestSettings {
  readonly enabled?: boolean;
  readonly mode?: "metadata-only" | "messages";
  readonly allowContacts?: readonly string[];
  readonly allowGroups?: readonly string[];
  readonly denyContacts?: readonly string[];
  readonly denyGroups?: readonly string[];
  readonly messageCap?: number;
  readonly historyDays?: number;
  readonly contactRefreshDays?: number;
  readonly throttle?: { readonly minMsBetweenCalls?: number; readonly maxCallsPerMinute?: number; readonly maxChatsPerSweep?: number };
  readonly retentionDays?: number;
  readonly agent?: string;
  readonly everyHours?: number;
}

/** `channels.phonemsg` of svc.json (001:L113-130). */
export interface Settings {
  readonly enabled?: boolean;
  readonly sessionDir?: string;
  readonly defaultAgent?: string;
  readonly allowFrom?: readonly string[];
  readonly routes?: readonly Route[];
  readonly acknowledge?: string;
  readonly server?: string;
  readonly mediaServer?: string;
  readonly ingest?: IngestSettings;
}

/** Where the pairing is kept when nothing is said. */
export const SESSION_DIR = ".svc/phonemsg-sessions";

const names = (description: string) => ({ type: "array", items: { type: "string", minLength: 1 }, default: [], description }) as const;

const ingest: ObjectSchema = {
  type: "object",
  description: "contacts, groups and, where switched on, messages as raw entries of the wiki; nothing is read unless it is enabled and allowed",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "master switch" },
    mode: { type: "string", enum: ["metadata-only", "messages"], default: "metadata-only", description: "messages: also the latest messages of allowed chats" },
    allowContacts: names("numbers or saved names, in part; empty: nobody"),
    allowGroups: names("group names or ids, in part; empty: none"),
    denyContacts: names("as allowContacts; wins over it"),
    denyGroups: names("as allowGroups; wins over it"),
    messageCap: { type: "integer", minimum: 1, maximum: 500, default: 50, description: "newest messages of a chat" },
    historyDays: { type: "number", minimum: 1, maximum: 365, default: 30, description: "oldest message, in days" },
    contactRefreshDays: { type: "number", minimum: 1, maximum: 90, default: 7, description: "an unchanged contact is written again only after this many days" },
    throttle: {
      type: "object",
      description: "live reads of the phone, all of them together",
      additionalProperties: false,
      properties: {
        minMsBetweenCalls: { type: "number", minimum: 100, default: 1500, description: "least time between two, in milliseconds" },
        maxCallsPerMinute: { type: "integer", minimum: 1, default: 20, description: "at most, a minute" },
        maxChatsPerSweep: { type: "integer", minimum: 1, default: 25, description: "chats of one run" },
      },
    },
    retentionDays: { type: "number", minimum: 0, default: 0, description: "entries that the wiki has absorbed are removed after this many days; 0: never" },
    agent: { type: "string", description: "in whose workspace the entries are written; unset: the default agent of the channel" },
    everyHours: { type: "number", minimum: 0, maximum: 720, default: 24, description: "a run of its own after each so many hours; 0: only when asked for" },
  },
};

/** The section `channels.phonemsg` of svc.json. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    sessionDir: { type: "string", minLength: 1, default: SESSION_DIR, description: "where the pairing is kept; without the folder the phone is paired again" },
    defaultAgent: { type: "string", description: "agent of messages that no route fits; unset: they are dropped" },
    allowFrom: {
      type: "array",
      items: { type: "string", minLength: 1 },
      description: "numbers that may write, or parts of them from five digits on; closed by default: without a list every message is dropped",
    },
    routes: {
      type: "array",
      description: "who is answered by whom; the first that fits",
      items: {
        type: "object",
        required: ["agent"],
        additionalProperties: false,
        properties: {
          contact: { type: "string", minLength: 1, description: "phone number" },
          group: { type: "string", minLength: 1, description: "part of a group's name in any case, or its id" },
          agent: { type: "string", description: "agent" },
        },
      },
    },
    acknowledge: { type: "string", maxLength: 16, default: "👀", description: "emoji put on each message that was taken; empty: none" },
    server: { type: "string", pattern: "^wss?://", description: "another server that speaks the phone's protocol" },
    mediaServer: { type: "string", pattern: "^https?://", description: "another server for files" },
    ingest,
  },
};

/** Reports missing agents, routes that match no sender, and a channel without allowed senders. */
export function checkSection(section: Settings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const { enabled, defaultAgent, routes = [], allowFrom = [], ingest: reads } = section;
  if (enabled !== true) return [];
  const there = agents.join(", ") || "none";
  const named: (readonly [string, string | undefined])[] = [
    ["defaultAgent", defaultAgent],
    ["ingest.agent", reads?.agent],
    ...routes.map(({ agent }, at) => [`routes[${at}].agent`, agent] as const),
  ];
  return [
    ...named
      .filter(([, agent]) => agent !== undefined && !agents.includes(agent))
      .map(([path, agent]) => ({ path, message: `names no agent of this configuration: '${agent}'; there are ${there}` })),
    ...routes.flatMap(({ contact, group }, at) =>
      contact === undefined && group === undefined ? [{ path: `routes[${at}]`, message: "has neither contact nor group, so it fits no message" }] : [],
    ),
    ...(allowFrom.length === 0
      ? [{ path: "allowFrom", message: "is empty, so the channel hears nobody; list the numbers that may write: svc config set channels.phonemsg.allowFrom" }]
      : []),
    ...(defaultAgent === undefined && routes.length === 0
      ? [{ path: "defaultAgent", message: "is not set and there are no routes, so every message is dropped" }]
      : []),
  ];
}

/** Every agent that can answer on the number: with more than one, answers carry the name. */
export const agentsOf = ({ defaultAgent, routes = [] }: Settings): readonly string[] => [
  ...new Set([...(defaultAgent === undefined ? [] : [defaultAgent]), ...routes.map(({ agent }) => agent)]),
];
