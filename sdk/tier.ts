import type { Agent } from "./agents.ts";
import type { TierFailure } from "./failure.ts";
import type { Inbound, Media, Route, TaskResult, Usage } from "./messages.ts";
import type { TierAbilities } from "./tier-abilities.ts";

/** One run of an agent: what it is about and who asked. */
export interface Turn {
  /** The task id; also the trace id. */
  readonly id: string;
  readonly agent: Agent;
  readonly route: Route;
  /** The message, or several queued ones in order (`queueMode: collect`). At least one. */
  readonly messages: readonly [Inbound, ...Inbound[]];
  /** Who shall build the context: the task's word, else the agent's, else the configuration's (000:L37). Empty where no plugin builds one. */
  readonly strategy: string;
  /** The agent's tier keeps conversations itself: what was said before is in the session, unless it is a new one. */
  readonly nativeSessions: boolean;
  /** Names of the daemon's actions that the agent can call during the turn, by its tier's word. */
  readonly actions?: readonly string[];
  readonly rootId: string;
  /** 1 for the first try of the preparation, 2 for its one retry. */
  readonly attempt: number;
  /** Unix time in milliseconds. */
  readonly startedAt: number;
  /** The session it went on with turned out to be lost or full, and nothing was said yet: it is prepared once more, without it. */
  readonly afresh?: true;
  /** The node on whose machine the native session of the conversation is, where that is another one: what is known of it cannot be resumed here. */
  readonly movedFrom?: string;
  /**
   * A turn of the past, prepared once more to see what its context would be: no engine runs and nothing goes out. What was said after
   * `startedAt` is no part of it.
   */
  readonly rehearsed?: true;
  /**
   * The end of the turn. Resolves once, when it is stored or can no longer be, and never rejects. What waits on it and needs neither I/O
   * nor a timer has run before the next turn of the conversation is prepared: a plugin sets there what that turn must know, in memory, and
   * stores it in its own time. A tap or a tier must not wait for it: the turn would wait for itself.
   */
  readonly ended: Promise<TurnEnd>;
}

/** How a turn ended. */
export interface TurnEnd {
  /** As the caller of the turn's first message gets it. */
  readonly result: TaskResult;
  /** The answer as the `deliver` taps left it; absent where the turn failed or its answer is withheld. */
  readonly answer?: string;
  readonly usage?: Usage;
  /** The native session that the engine named. */
  readonly session?: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** This preparation was given up for another one (`attempt` 2, `afresh`): the end is that of the other, and what this one prepared was not used. */
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

/** What `assembleContext` builds and a tier consumes. Each tap returns a new one. */
export interface TurnContext {
  /** The stable preamble: byte-identical between turns so that vendors can cache it. */
  readonly system: string;
  readonly layers: readonly Layer[];
  /** The user's words, notes on queued messages included, layers not. */
  readonly prompt: string;
  readonly media: readonly Media[];
  /** The native session to resume; unset starts a new one. */
  readonly session?: string;
  /** Who built it; unset until a strategy has. The last tap, that of the default strategy, takes what no other one took (000:L36). */
  readonly strategy?: string;
  /** Earlier messages, oldest first. When the context is ready: only for tiers without native sessions. */
  readonly history: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
}

/** The words of a turn for a model: the layers in the order of `priority`, then the prompt, with an empty line between. */
export function turnText(context: Pick<TurnContext, "layers" | "prompt">): string {
  const layers = [...context.layers].sort((left, right) => left.priority - right.priority).map((layer) => layer.text);
  return [...layers, context.prompt].filter((text) => text !== "").join("\n\n");
}

/** What a history costs at most: 6000 tokens of four characters (000:L34, CTX-09). */
const HISTORY_CHARACTERS = 24_000;

/**
 * The newest messages that fit the cap together, oldest first, from a message of the user on: for tiers that hand the history to
 * a model themselves. A history that has grown over the cap is cut in steps of a quarter of it, so that many turns in a row begin with
 * the same words, which vendors keep in a cache. `share` is how much of the cap may be used.
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
 * What a tier says while it runs. The stream ends with exactly one `done` or `error`; a stream that ends without one failed.
 * `done.text`, where given, is the whole answer and wins over the deltas.
 */
export type TierEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "step"; readonly step: Step }
  | { readonly type: "usage"; readonly usage: Usage; readonly model?: string }
  | { readonly type: "session"; readonly id: string }
  | { readonly type: "blocked"; readonly tool: string; readonly reason: string }
  /** What holds a run of restricted autonomy: the operating system (`wall`), or the reading of its commands (`narrow`) and why no better. */
  | { readonly type: "guard"; readonly level: "wall" | "narrow"; readonly reason?: string }
  /**
   * The engine waits for its vendor and tries again after so many milliseconds: silence until then is meant. `person`: it waits for the
   * answer of a person instead, for so long at most; until its next event of another kind the run's time limit does not count.
   */
  | { readonly type: "waiting"; readonly reason: string; readonly retryAfterMs: number; readonly person?: true }
  /**
   * Of a stream that a `dispatch` tap handed over: the turn waits for something outside and gives its agent's slot to others. With the next
   * event of another kind it takes one again, waiting for it if need be; `step`, `done` and `error` need none. Its time limit stands meanwhile.
   */
  | { readonly type: "parked"; readonly reason: string }
  /**
   * Of such a stream, before its first text: the turn is given back. The agent's own tier runs it, with the context that was prepared and
   * its whole time limit. Ends the stream like `done`.
   */
  | { readonly type: "pass"; readonly reason: string }
  | { readonly type: "done"; readonly text?: string }
  | TierFailure;

/** An execution engine. */
export interface Tier {
  readonly name: string;
  /** What its engine can do. */
  readonly abilities?: TierAbilities;
  /** @deprecated Use `abilities.nativeSessions`. */
  readonly nativeSessions?: boolean;
  /** @deprecated Use `abilities.autonomy`. */
  readonly enforcesAutonomy?: boolean;
  /**
   * Run one turn. Consumed once. When `signal` aborts, end what was started (processes included) and finish the stream;
   * the kernel waits a few seconds, then frees the slot without you.
   */
  run(turn: Turn, context: TurnContext, signal: AbortSignal): AsyncIterable<TierEvent>;
  /** Patterns (`http.*`) of the daemon's actions that the agent can call on this tier; a tier without it offers none. Told to the agent in its context. */
  actions?(agent: Agent): readonly string[];
  /** Is the engine usable here, for this agent where one is given? Shown by `svc doctor` and asked by `svc setup`. Must not throw. */
  probe?(agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }>;
}
