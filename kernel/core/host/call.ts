import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { type HookCall, onAbort } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import type { Scope } from "./scope.ts";

const running = new AsyncLocalStorage<Scope>();
/** The timer belongs to no plugin, though one's call starts it. */
const outside = new AsyncResource("svc.call");

/** The plugin whose code is running now, or whose timer, promise or socket has called back. */
export function currentScope(): Scope | undefined {
  return running.getStore();
}

/** That plugin's id as it was known before any of its code ran: what a quarantine is kept under. */
export function blame(): string | undefined {
  return running.getStore()?.origin;
}

/** Run plugin code so that whatever it starts can be traced back to it. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return running.run(scope, work);
}

/** The last argument of a tap. The signal is made only when a tap asks for it: most never do. */
class GuardedCall implements HookCall {
  readonly deadline: number;
  readonly #parent: AbortSignal | undefined;
  #own: AbortController | undefined;
  #release: (() => void) | undefined;

  constructor(limitMs: number, parent: AbortSignal | undefined) {
    this.deadline = Date.now() + limitMs;
    this.#parent = parent;
  }

  get signal(): AbortSignal {
    if (this.#own === undefined) {
      const own = new AbortController();
      this.#own = own;
      this.#release = onAbort(this.#parent, (reason) => own.abort(reason));
    }
    return this.#own.signal;
  }

  /** The call is over: nothing of it stays attached to the turn's signal. */
  end(reason?: Error): void {
    if (this.#own === undefined) return;
    this.#release?.();
    if (reason !== undefined) this.#own.abort(reason);
  }
}

/** One thing to call in a plugin, and how long it may take. */
export interface Callee<A extends unknown[], R> {
  readonly scope: Scope;
  /** What is called, for the error: `hook inbound`, `start`, `action http.fetch`. */
  readonly what: string;
  readonly limitMs: number;
  readonly run: (...args: [...A, HookCall]) => R | Promise<R>;
  /** For an answer that goes on after the call, which keeps its signal: given one that came after the deadline, to put it away. */
  readonly late?: (answer: R) => void;
}

/**
 * Call into a plugin with a deadline. A synchronous answer comes back synchronously and sets no timer.
 * Rejects or throws with the plugin's own error, or `SVC_PLUGIN_TIMEOUT`; a late answer is ignored, or
 * handed to `late`.
 */
export function call<A extends unknown[], R>(callee: Callee<A, R>, args: A, parent?: AbortSignal): R | Promise<R> {
  const handle = new GuardedCall(callee.limitMs, parent);
  let answer: R | Promise<R>;
  try {
    answer = running.run(callee.scope, callee.run, ...args, handle);
    if (isPromise(answer)) return withDeadline(answer, callee, handle);
  } catch (error) {
    handle.end();
    throw error;
  }
  if (callee.late === undefined) handle.end();
  return answer;
}

function withDeadline<A extends unknown[], R>(answer: Promise<R>, { scope, what, limitMs, late }: Callee<A, R>, handle: GuardedCall): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    let expired = false;
    const waiting = watch(limitMs, () => {
      expired = true;
      const error = fail("SVC_PLUGIN_TIMEOUT", { plugin: scope.id, what, ms: limitMs });
      handle.end(error);
      reject(error);
    });
    answer.then(
      (value) => {
        if (expired) return late?.(value);
        unwatch(waiting);
        if (late === undefined) handle.end();
        resolve(value);
      },
      (error) => {
        unwatch(waiting);
        handle.end();
        reject(error);
      },
    );
  });
}

/** A call whose promise has not settled yet, in a list of them: a set would keep what has passed through it. */
interface PendingCall {
  readonly until: number;
  readonly expire: () => void;
  before: PendingCall | undefined;
  after: PendingCall | undefined;
  listed: boolean;
}

const LOOK_MS = 20;
let newest: PendingCall | undefined;
let look: NodeJS.Timeout | undefined;

/** One timer for all calls that are under way: a timer for each would cost as much as most of what plugins do in a hook. */
function watch(limitMs: number, expire: () => void): PendingCall {
  const waiting: PendingCall = { until: performance.now() + limitMs, expire, before: newest, after: undefined, listed: true };
  if (newest !== undefined) newest.after = waiting;
  newest = waiting;
  look ??= outside.runInAsyncScope(() => setInterval(expireLate, LOOK_MS));
  return waiting;
}

function unwatch(waiting: PendingCall): void {
  if (!waiting.listed) return;
  const { before, after } = waiting;
  waiting.listed = false;
  if (before !== undefined) before.after = after;
  if (after === undefined) newest = before;
  else after.before = before;
}

function expireLate(): void {
  const now = performance.now();
  for (let at = newest; at !== undefined; ) {
    const { before } = at;
    if (at.until <= now) {
      unwatch(at);
      at.expire();
    }
    at = before;
  }
  if (newest !== undefined) return;
  clearInterval(look);
  look = undefined;
}
