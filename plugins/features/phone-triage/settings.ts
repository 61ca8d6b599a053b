import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";
import { isChatId } from "./chat-id.ts";

/** Quiet hours, `HH:MM` on the clock of `timezone`; may cross midnight. */
export interface QuietHours {
  readonly start: string;
  readonly end: string;
}

/** Rule for the messages that an agent sorts. */
export interface TriageRule {
  readonly id: string;
  readonly enabled: boolean;
  readonly chats?: readonly string[];
  readonly senders?: readonly string[];
  readonly agent: string;
  readonly prompt?: string;
  readonly quietHours?: QuietHours;
  readonly autoAck: boolean;
}

/** The section `phoneTriage` (001:L132), defaults filled in. */
export interface TriageSettings {
  readonly enabled: boolean;
  readonly secretEnv: string;
  readonly batchSeconds: number;
  /** IANA name; unset: the computer's. */
  readonly timezone?: string;
  readonly allowAutoAck: boolean;
  readonly describeMedia: boolean;
  readonly wacli: { readonly bin: string; readonly account?: string; readonly store?: string };
  readonly rules: readonly TriageRule[];
}

const CLOCK: Schema = { type: "string", pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$", description: "HH:MM" };
const ids = (description: string): Schema => ({ type: "array", items: { type: "string", minLength: 1, maxLength: 200 }, description });

/** The section of svc.json. */
export const TRIAGE: ObjectSchema = {
  type: "object",
  description: "watched phone chats, sorted by an agent; messages arrive from an external sync tool at POST /webhook/wacli",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch" },
    secretEnv: {
      type: "string",
      minLength: 1,
      default: "WACLI_WEBHOOK_SECRET",
      description: "name of the environment variable with the secret that signs the messages; not set, every message is refused",
    },
    batchSeconds: {
      type: "number",
      minimum: 0,
      maximum: 600,
      default: 20,
      description: "seconds in which the messages of one chat are collected into one task",
    },
    timezone: { type: "string", minLength: 1, description: "time zone of quiet hours, such as Europe/Berlin; by default the computer's" },
    allowAutoAck: { type: "boolean", default: false, description: "second switch for rules with autoAck: without both, every reply waits for an approval" },
    describeMedia: { type: "boolean", default: true, description: "fetch pictures and files and hand them to the agent; otherwise it is told their kind only" },
    wacli: {
      type: "object",
      default: {},
      additionalProperties: false,
      description: "the sync tool",
      properties: {
        bin: { type: "string", minLength: 1, default: "wacli", description: "its program" },
        account: { type: "string", minLength: 1, description: "its account" },
        store: { type: "string", minLength: 1, description: "its store folder" },
      },
    },
    rules: {
      type: "array",
      default: [],
      description: "the first enabled rule that matches decides; a message that none matches is dropped and not stored",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "agent"],
        properties: {
          id: { type: "string", pattern: "^[a-z0-9_-]+$", maxLength: 64, description: "its name: lower-case letters, digits, - and _" },
          enabled: { type: "boolean", default: true, description: "switch" },
          chats: ids("chats: contact ids, group ids or phone numbers"),
          senders: ids("who wrote it: contact ids or phone numbers; beside chats both must match"),
          agent: { type: "string", minLength: 1, description: "the agent that sorts; best one without tools" },
          prompt: { type: "string", maxLength: 4_000, description: "what it is told besides" },
          quietHours: {
            type: "object",
            additionalProperties: false,
            required: ["start", "end"],
            description: "no notices and questions in these hours, sorting goes on; may cross midnight",
            properties: { start: CLOCK, end: CLOCK },
          },
          autoAck: { type: "boolean", default: false, description: "send the reply without an approval, where allowAutoAck is true as well" },
        },
      },
    },
  },
};

/** Checks that the schema cannot express. */
export function checkTriage(section: TriageSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const problems = section.rules.flatMap((rule, at) => problemsOf(section, rule, at, agents));
  const { timezone, wacli, secretEnv } = section;
  if (timezone !== undefined && !isZone(timezone))
    problems.push({ path: "timezone", message: `'${timezone}' is no time zone; write one such as Europe/Berlin`, severity: "error" });
  if (wacli.account !== undefined && wacli.store !== undefined)
    problems.push({ path: "wacli.store", message: "cannot stand beside account: the tool takes one of the two", severity: "error" });
  if (!/^[A-Z_][A-Z0-9_]*$/i.test(secretEnv))
    problems.push({ path: "secretEnv", message: "does not look like a variable's name; write the name of an environment variable, not the secret itself" });
  return problems;
}

function problemsOf({ rules, allowAutoAck }: TriageSettings, rule: TriageRule, at: number, agents: readonly string[]): SectionProblem[] {
  const problems: SectionProblem[] = [];
  const error = (key: string, message: string) => problems.push({ path: `rules[${at}].${key}`, message, severity: "error" });
  const warn = (key: string, message: string) => problems.push({ path: `rules[${at}].${key}`, message });
  const { id, chats = [], senders = [], agent, autoAck, enabled, quietHours } = rule;
  if (chats.length + senders.length === 0) problems.push({ path: `rules[${at}]`, message: "needs at least one chat or one sender", severity: "error" });
  if (rules.slice(0, at).some((one) => one.id === id)) error("id", `'${id}' is there twice; give each rule an id of its own`);
  for (const [key, list] of [["chats", chats] as const, ["senders", senders] as const])
    for (const [place, text] of list.entries())
      if (!isChatId(text))
        warn(`${key}[${place}]`, `'${text}' is neither a phone number nor an id such as 491511234567@s.whatsapp.net or 1203630@g.us: it matches nothing`);
  if (!agents.includes(agent)) warn("agent", `names no agent of this file; what matches waits until a plugin brings '${agent}'`);
  if (enabled && autoAck && !allowAutoAck) warn("autoAck", "has no effect while phoneTriage.allowAutoAck is false: replies wait for an approval");
  if (quietHours !== undefined && quietHours.start === quietHours.end) warn("quietHours", "start and end are the same: there are no quiet hours");
  return problems;
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
