import type { ActionEnvelope } from "./action.ts";
import type { Usage } from "./messages.ts";

/** Capability `traces`: read the records of tasks, and add a step to one. */
export interface Traces {
  /** For a task that runs here, its current state. */
  get(id: string): Promise<Trace | undefined>;
  /** Newest first, at most `limit` (default 50). */
  list(query?: TraceQuery & { /** Tasks that began before that time, in Unix milliseconds. */ readonly before?: number }): Promise<readonly Trace[]>;
  /**
   * Ids alone, newest first, at most `limit` (default 1,000): read from the indexes, which hundred thousands of tasks do not make slow. Ids
   * of tasks sort by the time when they were accepted.
   */
  ids(query?: TraceQuery): Promise<readonly string[]>;
}

/** Filter of tasks. */
export interface TraceQuery {
  readonly agent?: string;
  readonly channel?: string;
  readonly status?: string;
  /** Tasks whose message belongs to that run. */
  readonly runId?: string;
  /** Tasks with a smaller id than this one: the last id of a page gives the next page. */
  readonly below?: string;
  /** Tasks that were accepted at that time or later, in Unix milliseconds. */
  readonly since?: number;
  readonly limit?: number;
}

/** One per task (000:L116). Times in Unix milliseconds. */
export interface Trace {
  readonly id: string;
  readonly rootId: string;
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
  readonly account?: string;
  readonly thread?: string;
  readonly conversation: string;
  readonly entry: string;
  readonly sender?: string;
  readonly runId?: string;
  /** Where its agent lives, when not here. */
  readonly node?: string;
  readonly status: "in-flight" | "ok" | "error" | "timeout";
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly durationMs?: number;
  /** The original message, whole. Rows from before schema version 8 have only `messagePreview`. */
  readonly message?: string;
  readonly messagePreview?: string;
  /** Task ids answered by this turn, where several were collected; only in the trace of the first one. */
  readonly tasks?: readonly string[];
  /**
   * The task whose turn answered this one too. Its trace holds steps, usage and answer; `get` shows the answer (or the error) here as
   * well, `list` does not.
   */
  readonly lead?: string;
  /** Also of an answer that is withheld. */
  readonly response?: string;
  /** Value of a typed answer; also of a withheld one. */
  readonly output?: unknown;
  /** The delivery that keeps a withheld answer, while no decision about it has been made. */
  readonly withheld?: string;
  readonly error?: string;
  readonly errorKind?: string;
  /** 143 where the run passed its time limit and was terminated. */
  readonly exitCode?: number;
  readonly model?: string;
  readonly sessionId?: string;
  readonly usage?: Usage;
  readonly attempts: number;
  readonly steps: readonly TraceStep[];
  readonly autonomyBlocks?: readonly { readonly tool: string; readonly reason: string }[];
  /** Restriction of a run of restricted autonomy. */
  readonly guard?: { readonly level: "wall" | "narrow"; readonly reason?: string };
  /** Composition of its engine's context, by parts: never the text itself. Absent where the turn got no context here. */
  readonly context?: readonly ContextPart[];
}

/** One part of the context of a turn: `system`, a layer by its name, `messages` (the history) or `prompt`. */
export interface ContextPart {
  readonly name: string;
  /** Characters (UTF-16 code units) of its text; of `messages`, of all of them together. */
  readonly characters: number;
  /** The first 16 hexadecimal digits of the SHA-256 of its text; of `messages`, of their number, `characters` and the newest 32. */
  readonly hash: string;
}

/** One step of a task. */
export interface TraceStep {
  readonly name: string;
  /** `prepare`, `tool`, `action`, `tier` or `deliver`. */
  readonly kind: string;
  readonly at: number;
  readonly durationMs?: number;
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
  readonly envelope?: ActionEnvelope;
}
