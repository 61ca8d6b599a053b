import type { RunningTask, Trace, Usage } from "@svc/sdk";

/** State of a task, in the terms of the pages. */
export type TaskState = "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";

/** A task as a line of a list: no whole text is in it. */
export interface TaskRow {
  readonly id: string;
  readonly state: TaskState;
  readonly agent: string;
  readonly node?: string;
  /** The beginning of the message. */
  readonly text: string;
  readonly channel: string;
  readonly chat: string;
  readonly sender?: string;
  readonly entry: string;
  readonly runId?: string;
  readonly startedAt: number;
  readonly durationMs?: number;
  readonly tokens?: number;
  /** In US dollars, where the engine told it. */
  readonly cost?: number;
  readonly error?: string;
  readonly errorKind?: string;
}

const TEXT = 240;
const REASON = 300;

/** The beginning of a text in one line, whole code points. */
export function shortened(text: string, most: number): string {
  const line = text
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  const points = [...line];
  return points.length <= most && text.length <= most * 4 ? line : `${points.slice(0, most).join("")}…`;
}

/** Returns the tokens of a task: of the question including cache reads, and of the answer. */
export const tokensOf = ({ input, output, cacheRead = 0, cacheCreate = 0 }: Usage): number => input + output + cacheRead + cacheCreate;

/** Returns the state of a stored task; one in flight is `working`, or waits for the end of a start if it is not in progress here. */
export function stateOf({ status, errorKind }: Pick<Trace, "status" | "errorKind">, working?: "running" | "waiting" | "queued"): TaskState {
  if (status === "in-flight") return working ?? "queued";
  if (status === "timeout") return "timed-out";
  if (status === "error") return errorKind === "cancelled" ? "cancelled" : "failed";
  return "ok";
}

/** Returns the tasks in progress, by id. */
export function workingOf(running: readonly RunningTask[], queued: readonly RunningTask[]): ReadonlyMap<string, "running" | "waiting" | "queued"> {
  return new Map([
    ...queued.map(({ id }) => [id, "queued"] as const),
    ...running.flatMap(({ id, step, with: others = [] }) => [id, ...others].map((one) => [one, step === "waiting" ? "waiting" : "running"] as const)),
  ]);
}

/** A trace as a line. */
export function rowOf(trace: Trace, working?: "running" | "waiting" | "queued"): TaskRow {
  const { id, agent, node, channel, chat, sender, entry, runId, startedAt, durationMs, usage, error, errorKind } = trace;
  return {
    id,
    state: stateOf(trace, working),
    agent,
    ...(node === undefined ? {} : { node }),
    text: shortened(trace.message ?? trace.messagePreview ?? "", TEXT),
    channel: channel ?? "",
    chat: chat ?? "",
    ...(sender === undefined ? {} : { sender }),
    entry: entry ?? "",
    ...(runId === undefined ? {} : { runId }),
    startedAt,
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(usage === undefined ? {} : { tokens: tokensOf(usage) }),
    ...(usage?.cost === undefined ? {} : { cost: usage.cost }),
    ...(error === undefined ? {} : { error: shortened(error, REASON) }),
    ...(errorKind === undefined ? {} : { errorKind }),
  };
}
