import type { Schema, Trace, TraceQuery } from "@svc/sdk";
import { stateOf, type TaskState } from "./task-row.ts";

/** Filter of a list of tasks, as in the address of the page. */
export interface TaskFilter {
  readonly agent?: string;
  readonly state?: TaskState;
  readonly channel?: string;
  readonly run?: string;
  /** Unix milliseconds. */
  readonly since?: number;
  /** Part of the message, the answer or the error, in any case. */
  readonly text?: string;
}

const STATES = ["running", "waiting", "queued", "ok", "failed", "timed-out", "cancelled"] as const satisfies readonly TaskState[];

/** The filter as a query of a route. */
export const FILTER: Readonly<Record<string, Schema>> = {
  agent: { type: "string", minLength: 1 },
  state: { enum: STATES },
  channel: { type: "string", minLength: 1 },
  run: { type: "string", minLength: 1 },
  since: { type: "integer", minimum: 0 },
  text: { type: "string", minLength: 1, maxLength: 200 },
};

const STATUS: Readonly<Record<TaskState, Trace["status"]>> = {
  running: "in-flight",
  waiting: "in-flight",
  queued: "in-flight",
  ok: "ok",
  failed: "error",
  cancelled: "error",
  "timed-out": "timeout",
};

/** Reads the filter out of a query that fits `FILTER`. */
export function readFilter({ since, ...query }: Readonly<Record<string, string | undefined>>): TaskFilter {
  const { agent, state, channel, run, text } = query;
  const given = Object.fromEntries(Object.entries({ agent, state, channel, run, text }).filter(([, value]) => value !== undefined));
  return { ...given, ...(since === undefined ? {} : { since: Number(since) }) };
}

/** Returns the query to the store. */
export function storedQuery({ agent, state, channel, run, since }: TaskFilter): TraceQuery {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(state === undefined ? {} : { status: STATUS[state] }),
    ...(channel === undefined ? {} : { channel }),
    ...(run === undefined ? {} : { runId: run }),
    ...(since === undefined ? {} : { since }),
  };
}

/** Whether the indexes of the store cover the filter: then a page is counted and found without reading the earlier ones. */
export const isIndexed = ({ state, text }: TaskFilter): boolean => text === undefined && (state === undefined || state === "ok" || state === "timed-out");

/** Whether a task that the store found is one of those that are meant. */
export function holds({ state, text }: TaskFilter, trace: Trace, working?: "running" | "waiting" | "queued"): boolean {
  if (state !== undefined && stateOf(trace, working) !== state) return false;
  if (text === undefined) return true;
  const wanted = text.toLowerCase();
  return [trace.message ?? trace.messagePreview, trace.response, trace.error].some((part) => part?.toLowerCase().includes(wanted) === true);
}
