import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

/** Trigger of a service. */
export interface Trigger {
  readonly pattern: string;
  readonly channel?: string;
}

/** `services.<id>` (001:L166-168), defaults filled in. `schedule`, `timezone` and `notify` are kept and have no effect (CFG-13). */
export interface ServiceSettings {
  readonly name: string;
  readonly triggers?: readonly Trigger[];
  /** Platform ids of senders. Unset means anyone, empty no one (CFG-15). */
  readonly allowedContacts?: readonly string[];
  readonly agent: string;
  readonly prompt: string;
  readonly schedule?: string;
  readonly timezone: string;
  readonly notify?: unknown;
}

/** The section `services`: services by id, the first one that matches wins. */
export type ServicesSettings = Readonly<Record<string, ServiceSettings>>;

const word = (description: string): Schema => ({ type: "string", minLength: 1, description });

const SERVICE: ObjectSchema = {
  type: "object",
  description: "a message that matches starts the agent with the fixed prompt, without a model call for the match",
  additionalProperties: false,
  required: ["name", "agent", "prompt"],
  properties: {
    name: word("its name, for people"),
    triggers: {
      type: "array",
      description: "what starts it; any one of them is enough",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["pattern"],
        properties: {
          pattern: {
            type: "string",
            minLength: 1,
            format: "regex",
            description: "regular expression, searched anywhere in the message, case-insensitive; without lookaround and back-references",
          },
          channel: word("only messages of this channel"),
        },
      },
    },
    allowedContacts: {
      type: "array",
      items: { type: "string", minLength: 1 },
      description: "ids of senders who may start it; unset means anyone, an empty list nobody",
    },
    agent: word("the agent that gets the prompt"),
    prompt: word("what the agent is asked, in place of the message's text"),
    schedule: { type: "string", description: "accepted, and not run; a job of crons runs by the clock" },
    timezone: { type: "string", minLength: 1, format: "timezone", default: "UTC", description: "time zone, kept with schedule" },
    notify: { description: "accepted, and not used" },
  },
};

/** The section of svc.json. */
export const SERVICES: ObjectSchema = {
  type: "object",
  description: "trigger services by id; the first one in the file that matches a message wins",
  additionalProperties: SERVICE,
};

/** JavaScript puts such keys before all others, in the order of their numbers. */
const NUMBER = /^(0|[1-9]\d*)$/;

/** Checks that the schema cannot express. None of them keeps the other services from working. */
export function checkServices(section: ServicesSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const ids = Object.keys(section);
  return Object.entries(section).flatMap(([id, { agent, triggers = [], allowedContacts, schedule, notify }]): SectionProblem[] => [
    ...(ids.length > 1 && NUMBER.test(id)
      ? [{ path: id, message: "is a number, and is looked at before services with other ids wherever it stands; put a letter into the id" }]
      : []),
    ...(agents.includes(agent) ? [] : [{ path: `${id}.agent`, message: `names no agent of this file; a match fails unless a plugin brings '${agent}'` }]),
    ...(triggers.length === 0 ? [{ path: `${id}.triggers`, message: "has no trigger, and nothing starts the service; add one with a pattern" }] : []),
    ...(allowedContacts?.length === 0
      ? [{ path: `${id}.allowedContacts`, message: "is empty, and nobody can start the service; leave it out to let anyone" }]
      : []),
    ...(schedule === undefined ? [] : [{ path: `${id}.schedule`, message: "is not run; make a job of crons for what shall run by the clock" }]),
    ...(notify === undefined ? [] : [{ path: `${id}.notify`, message: "is not used; the answer goes to the chat of the message" }]),
  ]);
}
