import type { Agent } from "./agents.ts";
import type { TierFailure } from "./failure.ts";
import type { Inbound, Media, Route, TaskResult, Usage } from "./messages.ts";
import type { TierAbilities } from "./tier-abilities.ts";

/** One run of an agent, with its messages and their sender. */
export interface Turn {
  /** The task id; also the trace id. */
  readonly id: string;
  readonly agent: Agent;
  readonly route: Route;
  /** The message, or several queued ones in order (`queueMode: collect`). At least one. */
  readonly messages: readonly [Inbound, ...Inbound[]];
  /** Name of the context strategy: the task's, else the agent's, else the configuration's (000:L37). Empty where no plugin provides one. */
  readonly strategy: string;
  /** The agent's tier stores conversations itself: the session holds the previous messages, unless it is a new one. */
  readonly nativeSessions: boolean;
  /** Names of the daemon's actions that the agent can call during the turn, by its tier's word. */
  readonly actions?: readonly string[];
  readonly rootId: string;
  /** 1 for the first try of the preparation, 2 for its one retry. */
  readonly attempt: number;
  /** Unix time in milliseconds. */
  readonly startedAt: number;
  /** The previous session turned out to be lost or full before any output: the turn is prepared once more, without it. */
  readonly afresh?: true;
  /** Node whose machine has the native session of the conversation, if it is another one: the session cannot be resumed here. */
  readonly movedFrom?: string;
  /** Rehearsal: a past turn is prepared once more to inspect its context; no engine runs and no message is sent. Messages after `startedAt` are excluded. */
  readonly rehearsed?: true;
  /**
   * The end of the turn. Resolves once, when it is stored or can no longer be, and never rejects. Its callbacks run before the next turn of the
   * conversation is prepared, as far as they need neither I/O nor a timer: a plugin sets its in-memory state for that turn there, and stores it
   * later. A tap or a tier must not await it: that is a deadlock.
   */
  readonly ended: Promise<TurnEnd>;
}

/** Result of a turn. */
export interface TurnEnd {
  /** As the caller of the turn's first message gets it. */
  readonly result: TaskResult;
  /** The answer as the `deliver` taps left it; absent where the turn failed or its answer is withheld. */
  readonly answer?: string;
  /** Of the engine's last run, so of that session alone. Where a run was replaced by another one in the same turn, `result.usage` counts both. */
  readonly usage?: Usage;
  /** The native session that the engine named. */
  readonly session?: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** This preparation was abandoned for another one (`attempt` 2, `afresh`): the result is that of the other, and this one's context was not used. */
  readonly replaced?: true;
}

/**
 * The layers of the specification (000:L35, and 001:L50 for `references`), each with its priority. A feature that knows something
 * for one of them, such as peers for `landscape`, adds a layer of that name in a tap of `assembleContext` in the phase `layers`.
 */
export const LAYERS = {
  "channel rules": 1,
  scope: 2,
  landscape: 3,
  identity: 4,
  references: 4.7,
  intent: 5,
  artifacts: 6,
  history: 7,
  "wiki hint": 8,
} as const;

/** A piece of per-turn context. Layers are joined in the order of `priority`, smallest first; an empty one leaves nothing behind. */
export interface Layer {
  readonly name: string;
  readonly priority: number;
  readonly text: string;
  /** Characters that the text had before it was cut to fit; absent where nothing was. */
  readonly whole?: number;
}

/** Context of a turn: `assembleContext` builds it and a tier consumes it. Each tap returns a new one. */
export interface TurnContext {
  /** The stable preamble: byte-identical between turns so that vendors can cache it. */
  readonly system: string;
  readonly layers: readonly Layer[];
  /** The user's words, notes on queued messages included, layers not. */
  readonly prompt: string;
  readonly media: readonly Media[];
  /** The native session to resume; unset starts a new one. */
  readonly session?: string;
  /** The strategy that built it; unset before that. The last tap, that of the default strategy, handles turns that no other strategy did (000:L36). */
  readonly strategy?: string;
  /** Earlier messages, oldest first. When the context is ready: only for tiers without native sessions. */
  readonly history: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
}

/** Returns the text of a turn for a model: the layers in the order of `priority`, then the prompt, with an empty line between. */
export function turnText(context: Pick<TurnContext, "layers" | "prompt">): string {
  const layers = [...context.layers].sort((left, right) => left.priority - right.priority).map((layer) => layer.text);
  return [...layers, context.prompt].filter((text) => text !== "").join("\n\n");
}

/** Upper limit of a history: 6000 tokens of four characters (000:L34, CTX-09). */
const HISTORY_CHARACTERS = 24_000;

/**
 * The newest messages that fit the cap together, oldest first, from a message of the user on: for tiers that pass the history to a model themselves.
 * A history over the cap is trimmed in steps of a quarter of it, so that many turns in a row share a prefix, which vendors cache. `share` is the part
 * of the cap that may be used.
 */
export function recentHistory(history: TurnContext["history"], share = 1): TurnContext["history"] {
  const room = HISTORY_CHARACTERS * share;
  const characters = history.reduce((sum, { text }) => sum + text.length, 0);
  const excess = characters - room;
  if (excess <= 0) return fromUser(history, 0);
  const step = room / 4;
  const stepped = without(history, step > 0 ? Math.ceil(excess / step) * step : excess);
  // Where single messages are long a step may cost too much.
  return stepped.characters >= room / 2 ? stepped.history : without(history, excess).history;
}

/** Without the first messages that have so many characters together. */
function without(history: TurnContext["history"], characters: number): { readonly history: TurnContext["history"]; readonly characters: number } {
  let left = characters;
  let first = 0;
  while (first < history.length && left > 0) left -= history[first++]?.text.length ?? 0;
  const kept = fromUser(history, first);
  return { history: kept, characters: kept.reduce((sum, { text }) => sum + text.length, 0) };
}

function fromUser(history: TurnContext["history"], from: number): TurnContext["history"] {
  let first = from;
  while (first < history.length && history[first]?.role !== "user") first += 1;
  return first === 0 ? history : history.slice(first);
}

/** A tool call or another visible piece of work. `start` and `end` share `id`; `end` alone is allowed. Summaries, never whole inputs. */
export interface Step {
  readonly id: string;
  readonly name: string;
  readonly phase: "start" | "end";
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
  readonly durationMs?: number;
}

/**
 * Events of a running tier. The stream ends with exactly one `done` or `error`; a stream that ends without one failed. `done.text`, where given, is
 * the whole answer and wins over the deltas.
 */
export type TierEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "step"; readonly step: Step }
  | { readonly type: "usage"; readonly usage: Usage; readonly model?: string }
  | { readonly type: "session"; readonly id: string }
  | { readonly type: "blocked"; readonly tool: string; readonly reason: string }
  /** Restriction of a run of restricted autonomy: the operating system's sandbox (`wall`), or only an analysis of its commands (`narrow`), with the reason. */
  | { readonly type: "guard"; readonly level: "wall" | "narrow"; readonly reason?: string }
  /**
   * The engine waits for its vendor and retries after that many milliseconds: silence until then is expected. `person`: it waits for the answer of a
   * person instead, for at most that long; the run's time limit is suspended until its next event of another kind.
   */
  | { readonly type: "waiting"; readonly reason: string; readonly retryAfterMs: number; readonly person?: true }
  /**
   * From a stream of a `dispatch` tap: the turn waits for something outside and releases its agent's slot. Its next event of another kind takes a
   * slot again, waiting for one if needed; `step`, `done` and `error` need none. Its time limit is suspended meanwhile.
   */
  | { readonly type: "parked"; readonly reason: string }
  /**
   * From such a stream, before its first text: the tap declines the turn. The agent's own tier runs it, with the prepared context and its whole time
   * limit. Ends the stream like `done`.
   */
  | { readonly type: "pass"; readonly reason: string }
  | { readonly type: "done"; readonly text?: string }
  | TierFailure;

/** An execution engine. */
export interface Tier {
  readonly name: string;
  /** Abilities of its engine. */
  readonly abilities?: TierAbilities;
  /** @deprecated Use `abilities.nativeSessions`. */
  readonly nativeSessions?: boolean;
  /** @deprecated Use `abilities.autonomy`. */
  readonly enforcesAutonomy?: boolean;
  /**
   * Run one turn. Consumed once. When `signal` aborts, end all work (processes included) and finish the stream; the kernel waits a few seconds, then
   * frees the slot without you.
   */
  run(turn: Turn, context: TurnContext, signal: AbortSignal): AsyncIterable<TierEvent>;
  /** Patterns (`http.*`) of the daemon's actions that the agent can call on this tier; a tier without it offers none. The agent's context lists them. */
  actions?(agent: Agent): readonly string[];
  /** Tests whether the engine is usable here, for this agent if one is given. Shown by `svc doctor` and called by `svc setup`. Must not throw. */
  probe?(agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }>;
}
