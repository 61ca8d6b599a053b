import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";
import { remarkOn } from "./schedule-remark.ts";

/** Consequence of a failure, besides the log. */
export type OnError = "log" | "notify" | "disable";

/** Where messages about a job go. */
export interface Notify {
  readonly channel: string;
  readonly chatId: string;
  readonly accountId?: string;
}

/** A change that waits for the operator's approval. */
export interface PendingApproval {
  readonly action: "create" | "delete";
  readonly requestedBy: string;
  /** ISO 8601. */
  readonly requestedAt: string;
}

/** `crons.<id>` (001:L144-164), defaults filled in. */
export interface JobSettings {
  readonly enabled: boolean;
  readonly schedule: string;
  readonly timezone: string;
  readonly agent: string;
  readonly prompt: string;
  readonly command?: string;
  /** Started in place of a prompt. */
  readonly workflow?: string;
  /** Seconds. */
  readonly timeout: number;
  readonly model?: string;
  readonly maxOutputTokens?: number;
  readonly autonomy?: "report" | "propose" | "act";
  readonly onError: OnError | readonly OnError[];
  readonly notify?: Notify;
  readonly sendAnswer?: boolean;
  readonly fireToken?: string;
  readonly createdBy?: string;
  readonly approval?: PendingApproval;
}

/** The section `crons`: jobs by id. */
export type CronsSettings = Readonly<Record<string, JobSettings>>;

/** Format of a job's id: it is used in addresses, keys and commands. */
export const JOB_ID = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

const word = (description: string): Schema => ({ type: "string", minLength: 1, description });
const ON_ERROR: Schema = { type: "string", enum: ["log", "notify", "disable"] };

const JOB: ObjectSchema = {
  type: "object",
  description: "one scheduled job; needs a prompt, a command or a workflow",
  additionalProperties: false,
  required: ["schedule", "agent"],
  properties: {
    enabled: { type: "boolean", default: true, description: "switch" },
    schedule: { type: "string", minLength: 1, format: "cron", description: "cron expression of five fields" },
    timezone: { type: "string", minLength: 1, format: "timezone", default: "UTC", description: "time zone of the expression" },
    agent: word("runs the prompt; of a command job the agent that is told when it fails"),
    prompt: { type: "string", default: "", description: "what the agent is asked" },
    command: word("shell command that is run directly, without a model"),
    workflow: word("id of the workflow that is started instead"),
    timeout: { type: "number", exclusiveMinimum: 0, default: 600, description: "limit in seconds; runs of agents have at least two hours" },
    model: word("model of this job, in place of the agent's"),
    maxOutputTokens: { type: "number", minimum: 50, maximum: 8000, description: "soft cap of the answer, told to the agent" },
    autonomy: { type: "string", enum: ["report", "propose", "act"], description: "what the run may do; unset acts as act; not for commands" },
    onError: {
      anyOf: [ON_ERROR, { type: "array", items: ON_ERROR, uniqueItems: true }],
      default: "log",
      description: "what a failure leads to; disable turns the job off after three failures in a row",
    },
    notify: {
      type: "object",
      additionalProperties: false,
      required: ["channel", "chatId"],
      description: "where messages about the job go; default notifications.destination",
      properties: { channel: word("channel"), chatId: word("chat"), accountId: word("account of the channel") },
    },
    sendAnswer: { type: "boolean", description: "send the agent's answer to notify as well; default false" },
    fireToken: { type: "string", secret: true, pattern: "^\\S*$", description: "secret with which another system may start the job" },
    createdBy: word("set by the service: the agent that asked for the job"),
    approval: {
      type: "object",
      additionalProperties: false,
      required: ["action", "requestedBy", "requestedAt"],
      description: "set by the service while the operator has not decided",
      properties: {
        action: { type: "string", enum: ["create", "delete"], description: "what waits" },
        requestedBy: word("who asked"),
        requestedAt: word("when"),
      },
    },
  },
};

/** The section of svc.json. */
export const CRONS: ObjectSchema = {
  type: "object",
  description: "scheduled jobs by id",
  propertyNames: { type: "string", pattern: JOB_ID },
  additionalProperties: JOB,
};

/** Checks that the schema cannot express (CFG-14). */
export function checkCrons(section: CronsSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  return Object.entries(section).flatMap(([id, { schedule, prompt, command, workflow, autonomy, agent, sendAnswer, notify }]): SectionProblem[] => [
    ...(prompt.trim() === "" && command === undefined && workflow === undefined
      ? [{ path: id, message: "has neither a prompt nor a command, nor a workflow; give it one of them", severity: "error" as const }]
      : []),
    ...(workflow !== undefined && (command !== undefined || prompt.trim() !== "")
      ? [{ path: `${id}.workflow`, message: "stands beside a prompt or a command; a job does one thing, so take one out", severity: "error" as const }]
      : []),
    ...(autonomy !== undefined && command !== undefined
      ? [{ path: `${id}.autonomy`, message: "is not for command jobs: a command is run as it is, and no guard stands over it", severity: "error" as const }]
      : []),
    ...(prompt.trim() !== "" && command !== undefined ? [{ path: `${id}.prompt`, message: "is not used: the job has a command, and that is run" }] : []),
    ...(agents.includes(agent)
      ? []
      : [{ path: `${id}.agent`, message: `names no agent of this file; runs of the job fail unless a plugin brings '${agent}'` }]),
    ...(sendAnswer === true && notify === undefined ? [{ path: `${id}.sendAnswer`, message: "needs notify: it says where the answer goes" }] : []),
    ...[remarkOn(schedule)].flatMap((message) => (message === undefined ? [] : [{ path: `${id}.schedule`, message }])),
  ]);
}

/** `onError` as a list. */
export const onErrorOf = ({ onError }: Pick<JobSettings, "onError">): readonly OnError[] => [onError].flat() as readonly OnError[];

/** A job whose creation the operator has not approved yet: it never runs, by any way (CRON-04). */
export const isPending = ({ approval }: Pick<JobSettings, "approval">): boolean => approval?.action === "create";
