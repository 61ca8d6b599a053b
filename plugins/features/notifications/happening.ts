import type { Envelope } from "@svc/sdk";
import type { NotificationSettings } from "./settings.ts";

/** Something about a task that is told: numbers and names, never a word of what was said. */
export interface Happening {
  readonly what: "done" | "failed" | "queued";
  readonly task: string;
  readonly agent: string;
  readonly channel?: string;
  /** From its acceptance to its end, restarts included. */
  readonly durationMs?: number;
  /** Why it failed, in the kernel's or the tier's one word. */
  readonly errorKind?: string;
}

/** Ends that somebody asked for, or that have a message of their own. */
const NO_FAILURE: ReadonlySet<unknown> = new Set(["cancelled", "dropped"]);

/** Returns the notable part of an event, by the settings; undefined for others, and for events of other machines. */
export function happeningOf(
  { node, kind, type, agentId = "", ref = "", data = {} }: Envelope,
  here: string,
  settings: NotificationSettings,
): Happening | undefined {
  if (kind !== "agent" || node !== here) return undefined;
  const { on, longTaskThreshold } = settings;
  const { channel, durationMs, errorKind, status } = data;
  const about = { task: ref, agent: agentId, ...(typeof channel === "string" ? { channel } : {}) };
  if (type === "task:queued") return on.taskQueued ? { what: "queued", ...about } : undefined;
  if (type !== "task:completed" || NO_FAILURE.has(errorKind)) return undefined;
  const took = typeof durationMs === "number" ? { durationMs } : {};
  // Held: the run has succeeded, and somebody decides about its answer.
  if (status === "ok" || errorKind === "held") {
    const long = longTaskThreshold > 0 && (took.durationMs ?? 0) >= longTaskThreshold * 1000;
    return on.taskComplete && long ? { what: "done", ...about, ...took } : undefined;
  }
  return on.taskError ? { what: "failed", ...about, ...took, errorKind: typeof errorKind === "string" ? errorKind : String(status) } : undefined;
}
