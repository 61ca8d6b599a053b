import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

/** The section `approvals`, its defaults filled in. */
export interface ApprovalSettings {
  readonly defaultExpiryDays: number;
  readonly maxExpiryDays: number;
  readonly laterHours: number;
  readonly permissionMinutes: number;
  readonly notifyAgent: boolean;
  readonly withheld: boolean;
  readonly allowFrom: readonly string[];
  readonly digest: {
    readonly enabled: boolean;
    readonly time: string;
    readonly timezone?: string;
    readonly destination?: { readonly channel: string; readonly chatId: string; readonly accountId?: string };
  };
}

const text = (description: string): Schema => ({ type: "string", minLength: 1, description });
const days = (description: string, standard: number): Schema => ({ type: "number", exclusiveMinimum: 0, maximum: 365, default: standard, description });
const flag = (description: string): Schema => ({ type: "boolean", default: true, description });

/** The schema of that section (001:L202-204). */
export const APPROVALS: ObjectSchema = {
  type: "object",
  description: "questions to the people who run the daemon",
  additionalProperties: false,
  properties: {
    defaultExpiryDays: days("days after which a question counts as refused", 3),
    maxExpiryDays: days("longest expiry that a question may ask for", 30),
    laterHours: { type: "number", exclusiveMinimum: 0, maximum: 720, default: 24, description: "hours that a question is put off by later" },
    permissionMinutes: {
      type: "number",
      exclusiveMinimum: 0,
      maximum: 1440,
      default: 30,
      description: "minutes that a run waits for the answer to a question of its engine",
    },
    notifyAgent: flag("tell the asking agent the decision"),
    withheld: flag("ask about deliveries that a policy withholds"),
    allowFrom: {
      type: "array",
      items: { type: "string", pattern: "^[a-z0-9_.-]+:.+$" },
      default: [],
      description: "who may answer on chat, as channel:sender id; besides them only who writes in the configured chat directly",
    },
    digest: {
      type: "object",
      description: "daily list of open questions",
      default: {},
      additionalProperties: false,
      properties: {
        enabled: flag("switch"),
        time: { type: "string", pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$", default: "09:00", description: "HH:MM" },
        timezone: { type: "string", format: "timezone", description: "time zone; unset: the machine's" },
        destination: {
          type: "object",
          description: "where questions and the digest go; unset uses notifications.destination",
          required: ["channel", "chatId"],
          additionalProperties: false,
          properties: { channel: text("channel"), chatId: text("chat"), accountId: text("account") },
        },
      },
    },
  },
};

/** Checks that the schema cannot express: a question without an expiry of its own would get less than the default. */
export function checkExpiry({ defaultExpiryDays, maxExpiryDays }: ApprovalSettings): readonly SectionProblem[] {
  if (defaultExpiryDays <= maxExpiryDays) return [];
  return [{ path: "defaultExpiryDays", message: `is more than maxExpiryDays (${maxExpiryDays}); questions expire after ${maxExpiryDays} days` }];
}

/** The key of agents. */
export const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    permissionQuestions: {
      type: "string",
      enum: ["refuse", "ask"],
      default: "refuse",
      description: "what permissionMode leaves open: refuse, or ask a person while the run waits",
    },
  },
};
