import type { Inbound, Route, Trace, TraceStep, Usage } from "@svc/sdk";

/** The one durable row of a task: its message until it has run, and its trace from then on. Stored whole at each change. */
export interface TaskRecord {
  readonly id: string;
  readonly inbound: Inbound;
  status: Trace["status"];
  agent: string;
  conversation: string;
  route?: Route;
  /** Given by a follow-up: it stays in the conversation of the task it follows. */
  pinned?: Route;
  attempts: number;
  /** Resumed on a channel of `resume.directChannels`: its answer is not delivered. */
  silent?: boolean;
  startedAt: number;
  endedAt?: number;
  /** All task ids of a collected turn; kept with its first task alone. */
  tasks?: string[];
  /** The first task of the collected turn that answered this one: its row holds answer, error, usage and steps of both. */
  lead?: string;
  response?: string;
  error?: string;
  errorKind?: string;
  exitCode?: number;
  model?: string;
  sessionId?: string;
  usage?: Usage;
  steps: TraceStep[];
  autonomyBlocks?: { tool: string; reason: string }[];
  guard?: { level: "wall" | "narrow"; reason?: string };
}

/** The collection of records, and its indexes. */
export const TRACES = "traces";
export const TRACE_INDEXES = ["status", "agent", "inbound.channel"] as const;

/** The row of a task that the turn of another one has answered: what the turn did stands with that one alone. */
export function mergedRow({ id, inbound, agent, conversation, route, attempts, startedAt }: TaskRecord, lead: TaskRecord): TaskRecord {
  const { status, endedAt } = lead;
  return {
    id,
    inbound,
    status,
    agent,
    conversation,
    ...(route === undefined ? {} : { route }),
    attempts,
    startedAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    lead: lead.id,
    steps: [],
  };
}

/** A record of a merged task with the answer that its lead's row holds. */
export function withLead(record: TaskRecord, { response, error, errorKind, exitCode, model, sessionId }: TaskRecord): TaskRecord {
  const facts = { response, error, errorKind, exitCode, model, sessionId };
  return { ...record, ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) };
}

/** What `GET /traces` shows of a record; rows from before schema version 8 have only a preview of the message. */
export function traceOf(record: TaskRecord & { messagePreview?: string }): Trace {
  const { inbound, route: _route, pinned: _pinned, silent: _silent, ...rest } = record;
  if (inbound === undefined) return rest as unknown as Trace;
  return {
    ...rest,
    rootId: inbound.rootId,
    channel: inbound.channel,
    chat: inbound.chat,
    ...(inbound.account === undefined ? {} : { account: inbound.account }),
    ...(inbound.sender === undefined ? {} : { sender: inbound.sender.id }),
    entry: inbound.entry,
    message: inbound.text,
    ...(record.endedAt === undefined ? {} : { durationMs: record.endedAt - record.startedAt }),
  };
}

let last = 0;
let count = 0;

/** What every id of a task accepted at that time or later is not less than. */
export const firstTaskIdAt = (at: number): string => `task_${Math.max(0, Math.trunc(at)).toString(36).padStart(9, "0")}`;

/** A task id: sorts by the time it was made, unique within and over restarts. */
export function newTaskId(now: number): string {
  if (now > last) {
    last = now;
    count = 0;
  } else count += 1;
  return `${firstTaskIdAt(last)}${count.toString(36).padStart(3, "0")}${Math.floor(Math.random() * 0x7fffffff).toString(36)}`;
}
