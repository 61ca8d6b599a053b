import type { ObjectSchema, Target } from "@svc/sdk";

/** Where a notice goes, as svc.json says it. */
export interface Destination {
  readonly channel: string;
  readonly chatId: string;
  readonly accountId?: string;
}

/** `notifications` of svc.json (001:L194-196), as it was written. */
export interface NotificationSection extends Partial<Omit<NotificationSettings, "on" | "local">> {
  readonly on?: Partial<NotificationSettings["on"]>;
  readonly local?: Partial<NotificationSettings["local"]>;
}

/** The section with its defaults. */
export interface NotificationSettings {
  readonly longTaskThreshold: number;
  readonly destination?: Destination;
  readonly channel?: string;
  readonly on: { readonly taskComplete: boolean; readonly taskError: boolean; readonly taskQueued: boolean };
  readonly local: { readonly banner: boolean; readonly sound: boolean; readonly soundName: string; readonly volume: number; readonly icon?: string };
}

const ON = { taskComplete: true, taskError: true, taskQueued: false };
const LOCAL = { banner: true, sound: true, soundName: "Glass", volume: 0.4 };
const LONG_TASK_S = 30;

/** Returns the section with its defaults. */
export function settingsOf({ longTaskThreshold = LONG_TASK_S, on, local, ...others }: NotificationSection): NotificationSettings {
  return { ...others, longTaskThreshold, on: { ...ON, ...on }, local: { ...LOCAL, ...local } };
}

const name = (description: string) => ({ type: "string", minLength: 1, description }) as const;

/** The schema of the section. */
export const NOTIFICATIONS: ObjectSchema = {
  type: "object",
  description: "notices to people: where they go, and which",
  additionalProperties: false,
  properties: {
    longTaskThreshold: { type: "number", minimum: 0, default: LONG_TASK_S, description: "seconds after which the end of a task is told; 0 = off" },
    destination: {
      type: "object",
      additionalProperties: false,
      required: ["channel", "chatId"],
      description: "where notices go; unset = none",
      properties: { channel: name("channel"), chatId: name("chat"), accountId: name("account") },
    },
    channel: name("default channel of svc notify; unset = push when it is switched on, else topicpush"),
    on: {
      type: "object",
      additionalProperties: false,
      default: {},
      description: "what is told",
      properties: {
        taskComplete: { type: "boolean", default: ON.taskComplete, description: "a task that took longer than longTaskThreshold is done" },
        taskError: { type: "boolean", default: ON.taskError, description: "a task failed" },
        taskQueued: { type: "boolean", default: ON.taskQueued, description: "a message waits behind another one" },
      },
    },
    local: {
      type: "object",
      additionalProperties: false,
      default: {},
      description: "desktop banner and sound, where the system has them",
      properties: {
        banner: { type: "boolean", default: LOCAL.banner, description: "banner" },
        sound: { type: "boolean", default: LOCAL.sound, description: "sound" },
        soundName: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$", default: LOCAL.soundName, description: "sound name" },
        volume: { type: "number", minimum: 0, maximum: 1, default: LOCAL.volume, description: "volume" },
        icon: name("image"),
      },
    },
  },
};

/** A destination as deliveries name it. */
export function targetOf({ channel, chatId, accountId }: Destination): Pick<Target, "channel" | "chat" | "account"> {
  return { channel, chat: chatId, ...(accountId === undefined ? {} : { account: accountId }) };
}
