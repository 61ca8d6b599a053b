import type { ObjectSchema } from "@svc/sdk";

/** `reminders` of svc.json (001:L216), defaults filled in. */
export interface ReminderSettings {
  readonly enabled: boolean;
  readonly lists: readonly string[];
  readonly pollSeconds: number;
  readonly lookbackHours: number;
  readonly command: string;
}

const name = { type: "string", minLength: 1, maxLength: 200 } as const;

/** The schema of the section. */
export const REMINDERS: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  description: "items of the reminders app that start agents, on macOS",
  properties: {
    enabled: { type: "boolean", default: false, description: "switch; ignored on other systems" },
    lists: {
      type: "array",
      items: { ...name, pattern: "^[^-]" },
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      default: ["svc"],
      description: "lists that are read",
    },
    pollSeconds: { type: "number", minimum: 15, maximum: 86_400, default: 60, description: "seconds between two looks" },
    lookbackHours: { type: "number", minimum: 0, default: 24, description: "items that are overdue by more are reported, not run" },
    command: { ...name, default: "remindctl", description: "program that reads the app" },
  },
};
