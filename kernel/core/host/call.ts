import { AsyncLocalStorage } from "node:async_hooks";
import { type HookCall, onAbort } from "@svc/sdk";
import { isPromise } from "../../base/promise.ts";
import { PendingAnswer } from "./pending-answer.ts";
import type { Scope } from "./scope.ts";

const running = new AsyncLocalStorage<Scope>();

/** The plugin whose code is running now, or whose timer, promise or socket has called back. */
export function currentScope(): Scope | undefined {
  return running.getStore();
}

/** Returns that plugin's id as known before any of its code ran: the key of a quarantine. */
export function blame(): string | undefined {
  return running.getStore()?.origin;
}

/** Run plugin code so that whatever it starts can be traced back to it. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return running.run(scope, work);
}

/** The last argument of a tap. The signal is created lazily: most taps never read it. */
export class GuardedCall implements HookCall {
  readonly deadline: number;
  // `private` instead of `#`: `#` fields would double the cost of a call.
  private readonly parent: AbortSignal | undefined;
  private own: AbortController | undefined = undefined;
  private release: (() => void) | undefined = undefined;

  constructor(limitMs: number, parent: AbortSignal | undefined) {
    this.deadline = Date.now() + limitMs;
    this.parent = parent;
  }

  get signal(): AbortSignal {
    if (this.own === undefined) {
      const own = new AbortController();
      this.own = own;
      this.release = onAbort(this.parent, (reason) => own.abort(reason));
    }
    return this.own.signal;
  }

  /** Ends the call: detaches it from the turn's signal. */
  end(reason?: Error): void {
    if (this.own === undefined) return;
    this.release?.();
    if (reason !== undefined) this.own.abort(reason);
  }
}

/** One thing to call in a plugin, and how long it may take. */
export interface Callee<A extends unknown[], R> {
  readonly scope: Scope;
  /** Name of the call, for the error: `hook inbound`, `start`, `action http.fetch`. */
  readonly what: string;
  readonly limitMs: number;
  readonly run: (...args: [...A, HookCall]) => R | Promise<R>;
  /** For an answer that continues after the call and keeps its signal: receives one that came after the deadline, to dispose it. */
  readonly late?: (answer: R) => void;
}

/**
 * Calls a plugin with a deadline. A synchronous answer is returned synchronously and sets no timer. Rejects or throws with the plugin's own error, or
 * `SVC_PLUGIN_TIMEOUT`; a late answer is ignored, or passed to `late`.
 */
export function call<A extends unknown[], R>(callee: Callee<A, R>, args: A, parent?: AbortSignal): R | Promise<R> {
  const began = begin(callee, args, parent);
  if (!(began instanceof PendingAnswer)) return began;
  return new Promise<R>((resolve, reject) => began.settle(resolve, reject));
}

/** As `call`, but returns a pending promise as `PendingAnswer`, so that the caller needs no second promise. */
export function begin<A extends unknown[], R>(callee: Callee<A, R>, args: A, parent?: AbortSignal): R | PendingAnswer<R> {
  const handle = new GuardedCall(callee.limitMs, parent);
  try {
    const answer = running.run(callee.scope, callee.run, ...args, handle);
    if (isPromise(answer)) return new PendingAnswer(answer, callee, handle);
    if (callee.late === undefined) handle.end();
    return answer;
  } catch (error) {
    handle.end();
    throw error;
  }
}
