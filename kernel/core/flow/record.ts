import { codeOf, type Inbound, type Message, type Op, put, type Route, type Store, type Trace, type TraceStep } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { present } from "../../base/present.ts";
import { mergedFacts, type RunFacts } from "./run-facts.ts";

/** The one durable row of a task: its message until it has run, and its trace from then on. Stored whole at each change. */
export interface TaskRecord extends RunFacts {
  readonly id: string;
  readonly inbound: Inbound;
  /** `node.id` of the daemon that accepted it, or took it up again. */
  readonly owner?: string;
  status: Trace["status"];
  agent: string;
  conversation: string;
  route?: Route;
  /** Set by a follow-up: the task stays in the conversation of the task it follows. */
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
  steps: TraceStep[];
}

/** The record of a message that the node `owner` has just accepted under that id. */
export function newRecord(message: Message, { id, rootId, at }: Pick<Inbound, "id" | "rootId" | "at">, owner: string, pinned?: Route): TaskRecord {
  const inbound: Inbound = { ...message, id, rootId, at, attempts: 0 };
  const begun = { id, inbound, owner, status: "in-flight" as const, agent: message.agent ?? "", conversation: "", attempts: 0, startedAt: at, steps: [] };
  return pinned === undefined ? begun : { ...begun, pinned };
}

/** The collection of records. */
export const TRACES = "traces";
/** Indexes for listing traces. */
export const TRACE_INDEXES = ["status", "agent", "inbound.channel", "inbound.runId"] as const;

/** The collection that remembers by dedup key which task a message became. */
export const DEDUP = "dedup";

/** The message that a dedup key stood for first. */
interface FirstOfKey {
  readonly taskId: string;
  readonly rootId: string;
  readonly digest?: string;
}

/** Store a new record, and `more`, with its dedup key. Of a key that was seen before it answers with the first task, or throws if that was another request. */
export async function storeNew(store: Store, record: TaskRecord, more: readonly Op[] = []): Promise<FirstOfKey | undefined> {
  const { dedupKey, dedupDigest: digest, rootId, at } = record.inbound;
  const ops: Op[] = [put(TRACES, record.id, record, "absent"), ...more];
  if (dedupKey !== undefined) ops.unshift(put(DEDUP, dedupKey, { taskId: record.id, rootId, at, ...present({ digest }) }, "absent"));
  try {
    await store.commit(ops);
    return undefined;
  } catch (error) {
    if (dedupKey === undefined || codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
    const earlier = (await store.collection<FirstOfKey>(DEDUP).get(dedupKey))?.value;
    if (earlier === undefined) throw error;
    if ((digest ?? earlier.digest) !== (earlier.digest ?? digest)) throw fail("SVC_TASK_KEY_REUSED", { task: earlier.taskId });
    return earlier;
  }
}

/** Returns the row of a task that another task's turn has answered: only the leading task has the details of the turn. */
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
export function withLead(record: TaskRecord, lead: TaskRecord): TaskRecord {
  return { ...record, ...(lead.response === undefined ? {} : { response: lead.response }), ...mergedFacts(lead) };
}

/**
 * Returns the writes that record a decision about a withheld answer in the tasks of its turn: released, the task has succeeded with that response;
 * refused, it has failed with that error. Empty if the records no longer exist or the task failed by itself.
 */
export async function decideHeld(
  store: Store,
  taskId: string | undefined,
  delivery: string,
  decision: { readonly response: string } | { readonly error: string },
): Promise<Op[]> {
  const records = store.collection<TaskRecord>(TRACES);
  const found = taskId === undefined ? undefined : await records.get(taskId);
  if (found?.value.withheld !== delivery) return [];
  const { withheld: _withheld, error: _error, errorKind, ...rest } = found.value;
  const decided: TaskRecord = "response" in decision ? { ...rest, status: "ok", ...decision } : { ...rest, ...decision, ...(errorKind ? { errorKind } : {}) };
  const others = await Promise.all((rest.tasks ?? []).filter((id) => id !== taskId).map((id) => records.get(id)));
  const merged = others.flatMap((other) => (other === undefined ? [] : [put(TRACES, other.key, { ...other.value, status: decided.status }, other.version)]));
  return [put(TRACES, found.key, decided, found.version), ...merged];
}

/** Returns the record as `GET /traces` shows it; rows from before schema version 8 have only a preview of the message. */
export function traceOf(record: TaskRecord & { messagePreview?: string }): Trace {
  const { inbound, route, pinned: _pinned, silent: _silent, owner: _owner, ...rest } = record;
  if (inbound === undefined) return rest as unknown as Trace;
  return {
    ...rest,
    rootId: inbound.rootId,
    channel: inbound.channel,
    chat: inbound.chat,
    ...present({ account: inbound.account, thread: inbound.thread, sender: inbound.sender?.id, node: route?.node, runId: inbound.runId }),
    entry: inbound.entry,
    message: inbound.text,
    ...(record.endedAt === undefined ? {} : { durationMs: record.endedAt - record.startedAt }),
  };
}

let last = 0;
let count = 0;

/** Returns a lower bound of the ids of tasks accepted at that time or later. */
export const firstTaskIdAt = (at: number): string => `task_${Math.max(0, Math.trunc(at)).toString(36).padStart(9, "0")}`;

/** A task id: sorts by the time it was made, unique within and over restarts. */
export function newTaskId(now: number): string {
  if (now > last) {
    last = now;
    count = 0;
  } else count += 1;
  return `${firstTaskIdAt(last)}${count.toString(36).padStart(3, "0")}${Math.floor(Math.random() * 0x7fffffff).toString(36)}`;
}
