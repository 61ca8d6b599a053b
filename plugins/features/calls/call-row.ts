import type { Target } from "@svc/sdk";

/** A chat in which people are rung. */
export type Place = Pick<Target, "channel" | "chat" | "account">;

/** Why a call has ended. */
export type EndReason = "hung up" | "declined" | "missed" | "limit" | "failed" | "restarted";

/** End of a call. */
export interface Ending {
  readonly reason: EndReason;
  /** Who ended it, as text for people. */
  readonly by?: string;
  /** Error, as text for people. */
  readonly words?: string;
}

/** A call or a camera session as it is stored. Times in Unix milliseconds. */
export interface CallRow {
  readonly id: string;
  readonly kind: "call" | "camera";
  /** `in`: somebody calls an agent. `out`: an agent rings people. */
  readonly direction: "in" | "out";
  readonly agent: string;
  /** The daemon that serves it: it holds a lease of this name. */
  readonly owner: string;
  /** Caller: a peer, this machine, or the agent. */
  readonly caller: string;
  /** The person at the other end, as far as it is known. */
  readonly person: string;
  readonly why?: string;
  readonly state: "ringing" | "running" | "ended";
  /** 1 until it has ended: an index. */
  readonly live: 0 | 1;
  /** 1 until everybody has been told how it ended: an index. */
  readonly owed: 0 | 1;
  readonly at: number;
  readonly ringUntil: number;
  readonly startedAt?: number;
  readonly limitAt?: number;
  readonly endedAt?: number;
  readonly end?: Ending;
  /** Notices with choices that went out, and where to. */
  readonly rings: readonly (Place & { readonly delivery: string })[];
  /** Who took the call, and on which surface. */
  readonly answered?: { readonly by: string; readonly surface: string };
  /** Lines of the transcript: said, on their way to the chat (`sending` to `said`), and there. */
  readonly said: number;
  readonly sending?: { readonly from: number; readonly to: number };
  readonly sent: number;
  readonly frames: number;
}

/** One line of a transcript. */
export interface Line {
  readonly call: string;
  readonly n: number;
  /** Milliseconds since the call began. */
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** View of a call for pages and the command line. */
export interface CallView
  extends Pick<CallRow, "id" | "kind" | "direction" | "agent" | "caller" | "person" | "why" | "state" | "said" | "frames" | "end" | "answered"> {
  /** ISO 8601. */
  readonly at: string;
  readonly ringUntil: string;
  readonly startedAt?: string;
  readonly limitAt?: string;
  readonly endedAt?: string;
}

const iso = (at: number): string => new Date(at).toISOString();

/** A row as it is shown. */
export function viewOf(row: CallRow): CallView {
  const { id, kind, direction, agent, caller, person, why, state, said, frames, end, answered, at, ringUntil, startedAt, limitAt, endedAt } = row;
  return {
    id,
    kind,
    direction,
    agent,
    caller,
    person,
    state,
    said,
    frames,
    at: iso(at),
    ringUntil: iso(ringUntil),
    ...(why === undefined ? {} : { why }),
    ...(end === undefined ? {} : { end }),
    ...(answered === undefined ? {} : { answered }),
    ...(startedAt === undefined ? {} : { startedAt: iso(startedAt) }),
    ...(limitAt === undefined ? {} : { limitAt: iso(limitAt) }),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
  };
}

/** Whole seconds as people say them: `3 min 12 s`. */
export function durationWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** Describes the end of a call in a few words. */
export function endWords({ end, startedAt, endedAt, limitAt }: Pick<CallRow, "end" | "startedAt" | "endedAt" | "limitAt">): string {
  if (end === undefined) return "not ended";
  const { reason, by, words } = end;
  const long = startedAt === undefined || endedAt === undefined ? "" : ` after ${durationWords(endedAt - startedAt)}`;
  if (reason === "missed") return "nobody answered in time";
  if (reason === "limit" && startedAt !== undefined && limitAt !== undefined)
    return `ended by itself after ${durationWords(limitAt - startedAt)}, the longest that it may last`;
  if (reason === "restarted") return `cut off${startedAt === undefined ? " while it rang" : ""}: the daemon was restarted`;
  const done = reason === "failed" ? `failed${long}` : reason === "declined" ? "declined" : `ended${long}`;
  return `${done}${by === undefined ? "" : ` by ${by}`}${words === undefined ? "" : `: ${words}`}`;
}
