import { createRequire } from "node:module";
import {
  codeOf,
  type Delivery,
  type Envelope,
  type Inbound,
  type Rejection,
  type Route,
  reasonOf,
  type TierEvent,
  type Turn,
  type TurnContext,
} from "@svc/sdk";
import type * as Tapable from "tapable";
import { fail } from "../../base/errors.ts";
import { eachFrozen, frozenObjects } from "../../base/frozen.ts";
import { fitsHook } from "../../base/hook-answers.ts";
import { isPromise } from "../../base/promise.ts";
import { abandon } from "./abandon.ts";
import { begin, type Callee } from "./call.ts";
import type { CallConsequence } from "./incident.ts";
import { PendingAnswer } from "./pending-answer.ts";
import type { HookName, Scope, Tap } from "./scope.ts";

// Required, not imported: looking for the names of its exports would take as long as running it. One by one: the package loads nine more.
const hook = <K extends keyof typeof Tapable>(name: K): (typeof Tapable)[K] => createRequire(import.meta.url)(`tapable/lib/${name}.js`);
const [AsyncSeriesBailHook, AsyncSeriesWaterfallHook, SyncHook] = [hook("AsyncSeriesBailHook"), hook("AsyncSeriesWaterfallHook"), hook("SyncHook")];

/** Longest time a tap may take, in milliseconds; a tap may ask for less. */
export const HOOK_LIMITS: Readonly<Record<HookName, number>> = {
  inbound: 2_000,
  route: 2_000,
  assembleContext: 30_000,
  dispatch: 5_000,
  deliver: 2_000,
  emit: 1_000,
};

/** Values of a turn for its taps, with which they can be aborted and observed. */
export interface HookRun {
  readonly signal?: AbortSignal;
  /** The tap that runs now, by its step name. */
  readonly step?: (name: string) => void;
  /** Called for a skipped tap: it failed, was too slow, or its breaker is open. */
  readonly skipped?: (name: string, reason: string) => void;
}

type Stream = AsyncIterable<TierEvent>;

type MaybePromise<T> = T | Promise<T>;

/**
 * The six hooks with their current taps. Immutable: a change of taps creates a new one. A hook without taps costs nothing; one whose taps all answer
 * synchronously returns or throws synchronously.
 */
export interface LiveHooks {
  inbound(message: Inbound, run?: HookRun): MaybePromise<Rejection | undefined>;
  route(message: Inbound, run?: HookRun): MaybePromise<Route | undefined>;
  assembleContext(context: TurnContext, turn: Turn, run?: HookRun): MaybePromise<TurnContext>;
  dispatch(turn: Turn, context: TurnContext, run?: HookRun): MaybePromise<Stream | undefined>;
  deliver(delivery: Delivery, run?: HookRun): MaybePromise<Delivery>;
  emit(envelope: Envelope): void;
  /** The taps of `inbound` and `route` answered at once when they were asked last. */
  readonly routesAtOnce: boolean;
  /** A required `deliver` tap must see the whole answer: nothing may be streamed before it has. */
  readonly holdsStream: boolean;
}

/** Called for every failed call, with the decision of the breaker. */
export type OnFailure = (scope: Scope, what: string, error: unknown, consequence: CallConsequence) => void;

/** Compiles the taps of all live scopes. */
export function compileHooks(taps: readonly Tap[], onFailure: OnFailure): LiveHooks {
  const of = (hook: HookName) => taps.filter((tap) => tap.hook === hook);
  const inbound = bail<[Inbound], Rejection>(of("inbound"), onFailure);
  const route = bail<[Inbound], Route>(of("route"), onFailure);
  const dispatch = bail<[Turn, TurnContext], Stream>(of("dispatch"), onFailure);
  const context = waterfall<TurnContext, [Turn]>(of("assembleContext"), onFailure);
  const deliver = waterfall<Delivery, []>(of("deliver"), onFailure);
  const emit = everyone(of("emit"), onFailure);
  const late = { inbound: false, route: false };
  const noted = <R>(hook: keyof typeof late, answer: MaybePromise<R>): MaybePromise<R> => {
    late[hook] = isPromise(answer);
    return answer;
  };
  return {
    inbound: (message, run = {}) => noted("inbound", inbound([message], run)),
    route: (message, run = {}) => noted("route", route([message], run)),
    assembleContext: (value, turn, run = {}) => context(value, [turn], run),
    dispatch: (turn, value, run = {}) => dispatch([turn, value], run),
    deliver: (delivery, run = {}) => deliver(delivery, [], run),
    emit,
    get routesAtOnce() {
      return !late.inbound && !late.route;
    },
    holdsStream: of("deliver").some((tap) => tap.options.required === true),
  };
}

type Done<R> = (error: Error | null, result?: R) => void;

const NO_RUN: HookRun = {};
const ignore = (): void => {};

function bail<A extends unknown[], R>(taps: readonly Tap[], onFailure: OnFailure): (args: A, run: HookRun) => MaybePromise<R | undefined> {
  if (taps.length === 0) return () => undefined;
  const hook = new AsyncSeriesBailHook<[A, HookRun], R | undefined>(["args", "run"]);
  for (const tap of taps) {
    const asked = prepare<R | undefined>(tap, onFailure);
    hook.tapAsync(named(tap), (args, run, done) => ask(asked, args, run, undefined, done as unknown as Done<R | undefined>));
  }
  return (args, run) => answered<R | undefined>((done) => hook.callAsync(eachFrozen(args), run, done as never));
}

function waterfall<T, A extends unknown[]>(taps: readonly Tap[], onFailure: OnFailure): (value: T, args: A, run: HookRun) => MaybePromise<T> {
  if (taps.length === 0) return (value) => value;
  const hook = new AsyncSeriesWaterfallHook<[T, A, HookRun]>(["value", "args", "run"]);
  for (const tap of taps) {
    const asked = prepare<T>(tap, onFailure);
    hook.tapAsync(named(tap), (value, args, run, done) => ask(asked, [frozenObjects(value), ...args], run, value as T, done as unknown as Done<T>));
  }
  return (value, args, run) => answered<T>((done) => hook.callAsync(value as never, eachFrozen(args), run, done as never));
}

/** Converts a callback into a value or a promise: returns or throws if `start` calls it before it returns, else promises. */
function answered<R>(start: (done: Done<R>) => void): MaybePromise<R> {
  let now: { readonly error: Error | null; readonly result: R | undefined } | undefined;
  let later: { readonly resolve: (result: R) => void; readonly reject: (error: Error) => void } | undefined;
  start((error, result) => {
    if (later === undefined) now = { error, result };
    else if (error) later.reject(error);
    else later.resolve(result as R);
  });
  if (now === undefined) return new Promise<R>((resolve, reject) => (later = { resolve, reject }));
  if (now.error) throw now.error;
  return now.result as R;
}

function everyone(taps: readonly Tap[], onFailure: OnFailure): (envelope: Envelope) => void {
  if (taps.length === 0) return () => {};
  const hook = new SyncHook<[Envelope]>(["envelope"]);
  for (const tap of taps) {
    const asked = prepare<void>(tap, onFailure);
    hook.tap(named(tap), (envelope) => ask(asked, [envelope], NO_RUN, undefined, ignore));
  }
  return (envelope) => hook.call(envelope);
}

/** tapable takes a list of names in `before`, though its types speak of one. */
const named = ({ scope, options }: Tap) => ({
  name: scope.id as string,
  stage: options.stage ?? 0,
  ...(options.before === undefined ? {} : { before: options.before as string }),
});

/** A tap with the precomputed parts of its calls. */
interface Asked<R> {
  readonly tap: Tap;
  readonly step: string;
  readonly callee: Callee<unknown[], R>;
  readonly onFailure: OnFailure;
}

function prepare<R>(tap: Tap, onFailure: OnFailure): Asked<R> {
  const { scope, hook, options } = tap;
  const callee: Callee<unknown[], R> = {
    scope,
    what: `hook ${hook}`,
    limitMs: Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, HOOK_LIMITS[hook]),
    run: tap.run as unknown as Callee<unknown[], R>["run"],
    ...(hook === "dispatch" ? { late: (stream: R) => fitsHook(hook, stream) && abandon(stream as Stream, scope) } : {}),
  };
  return { tap, step: options.step ?? scope.id.slice(scope.id.indexOf("-") + 1), callee, onFailure };
}

/** Call one tap. A failure is passed over with `otherwise`, unless the tap is required: then the message fails. */
function ask<R>(asked: Asked<R>, args: unknown[], run: HookRun, otherwise: R, done: Done<R>): void {
  const { tap, step, callee } = asked;
  if (!tap.breaker.closed) {
    const { scope, hook, options } = tap;
    if (options.required) done(fail("SVC_HOOK_REQUIRED", { plugin: scope.id, hook, reason: "it failed too often and is switched off for now" }));
    else {
      run.skipped?.(step, "switched off after repeated failures");
      done(null, otherwise);
    }
    return;
  }
  run.step?.(step);
  let answer: R | PendingAnswer<R>;
  try {
    answer = begin(callee, args, run.signal);
  } catch (error) {
    passOver(asked, error, run, otherwise, done);
    return;
  }
  if (!(answer instanceof PendingAnswer)) settle(asked, answer, run, otherwise, done);
  else
    answer.settle(
      (value) => settle(asked, value, run, otherwise, done),
      (error) => passOver(asked, error, run, otherwise, done),
    );
}

function settle<R>(asked: Asked<R>, value: R, run: HookRun, otherwise: R, done: Done<R>): void {
  const { hook, scope } = asked.tap;
  if (value === undefined || value === null || hook === "emit") done(null, otherwise);
  else if (fitsHook(hook, value)) {
    if (hook === "dispatch") owners.set(value as object, scope);
    done(null, value);
  } else passOver(asked, new Error(`answered ${hook} with something else than it asks for`), run, otherwise, done);
}

function passOver<R>({ tap, step, callee, onFailure }: Asked<R>, error: unknown, run: HookRun, otherwise: R, done: Done<R>): void {
  const { scope, hook, options } = tap;
  // A crash of the isolated process was counted already, and the process restarts by itself: the tap must not stay disabled after that.
  if (!isAway(error)) onFailure(scope, callee.what, error, tap.breaker.fail());
  if (options.required) done(fail("SVC_HOOK_REQUIRED", { plugin: scope.id, hook, reason: reasonOf(error), cause: error }));
  else {
    run.skipped?.(step, reasonOf(error));
    done(null, otherwise);
  }
}

function isAway(error: unknown): boolean {
  try {
    return codeOf(error) === "SVC_ISOLATION_DOWN";
  } catch {
    return false;
  }
}

const owners = new WeakMap<object, Scope>();

/** The plugin whose tap answered `dispatch` with this stream. */
export function ownerOf(stream: Stream): Scope {
  return owners.get(stream) as Scope;
}
