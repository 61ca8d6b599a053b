import type { Envelope } from "./events.ts";
import type { Delivery, Inbound, Route } from "./messages.ts";
import type { TierEvent, Turn, TurnContext } from "./tier.ts";

/** Last argument of every tap. */
export interface HookCall {
  /** Unix time in milliseconds after which the kernel continues without the tap. */
  readonly deadline: number;
  /**
   * Aborts at the deadline and when the turn is cancelled. On `dispatch` it covers the stream that the tap returns until the turn ends: it aborts
   * when the turn is cancelled, over its time limit or interrupted.
   */
  readonly signal: AbortSignal;
}

/**
 * Phase of a tap of `assembleContext`, in the order in which they run. `session`: which native session continues. `history`: the previous messages.
 * `strategy`: which of them the turn needs. `layers`: further instructions for the turn. `fit`: trimming all of it to its limits.
 */
export type ContextPhase = "session" | "history" | "strategy" | "layers" | "fit";

/** When and how a tap runs. */
export interface TapOptions {
  /** Only on `assembleContext`: when the tap runs; default `layers`. Taps of one phase run in the order in which their plugins are set up. */
  readonly phase?: ContextPhase;
  /**
   * Smaller runs earlier; default 0. On `assembleContext` name a `phase` instead: without one a number sorts the tap among the phases,
   * which are at -100, -50, -10, 0 and 100.
   */
  readonly stage?: number;
  /** Ids of plugins whose taps must come after this one. */
  readonly before?: string | readonly string[];
  /**
   * A failure or timeout of this tap fails the message instead of being ignored: for policies that must not be bypassed. On `deliver` it also
   * prevents streaming the answer before the tap has seen all of it. Default false.
   */
  readonly required?: boolean;
  /** Milliseconds, at most the hook's own limit. */
  readonly timeoutMs?: number;
  /** On `assembleContext`: name of the task's `step` while this tap runs; default the plugin's name. */
  readonly step?: string;
}

/** Why `inbound` drops a message: shown in the event and, where the entry can, sent to the sender. */
export interface Rejection {
  readonly reject: string;
}

type MaybePromise<T> = T | Promise<T>;
/** One hook point of the context: `tap` registers a function. */
export interface HookPoint<F> {
  tap(tap: F, options?: TapOptions): void;
}

/** The six hook points. The hook's kind is the answer rule. */
export interface Hooks {
  /** The first rejection drops the message. Limit 2 s a tap. */
  readonly inbound: HookPoint<(message: Inbound, call: HookCall) => MaybePromise<Rejection | undefined | void>>;
  /** The first route wins. Limit 2 s a tap. */
  readonly route: HookPoint<(message: Inbound, call: HookCall) => MaybePromise<Route | undefined | void>>;
  /** Each tap returns the context with its part added. Limit 30 s a tap; a tap over it is skipped. */
  readonly assembleContext: HookPoint<(context: TurnContext, turn: Turn, call: HookCall) => MaybePromise<TurnContext>>;
  /** The first stream takes the turn over; else the agent's tier runs it. Limit 5 s to answer. */
  readonly dispatch: HookPoint<(turn: Turn, context: TurnContext, call: HookCall) => MaybePromise<AsyncIterable<TierEvent> | undefined | void>>;
  /** Each tap returns the delivery, changed or held. Limit 2 s a tap. */
  readonly deliver: HookPoint<(delivery: Delivery, call: HookCall) => MaybePromise<Delivery>>;
  /** After the fact and synchronous: every tap receives it, none can fail the message. */
  readonly emit: HookPoint<(envelope: Envelope, call: HookCall) => void>;
}
