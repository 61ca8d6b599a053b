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

/** That plugin's id as it was known before any of its code ran: what a quarantine is kept under. */
export function blame(): string | undefined {
  return running.getStore()?.origin;
}

/** Run plugin code so that whatever it starts can be traced back to it. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return running.run(scope, work);
}

/** The last argument of a tap. The signal is made only when a tap asks for it: most never do. */
export class GuardedCall implements HookCall {
  readonly deadline: number;
  // Fields of the language's own privacy would double what a call costs.
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

  /** The call is over: nothing of it stays attached to the turn's signal. */
  end(reason?: Error): void {
    if (this.own === undefined) return;
    this.release?.();
    if (reason !== undefined) this.own.abort(reason);
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
  const began = begin(callee, args, parent);
  if (!(began instanceof PendingAnswer)) return began;
  return new Promise<R>((resolve, reject) => began.settle(resolve, reject));
}

/** As `call`; an answer that is a promise comes as `PendingAnswer`, whose caller needs no second promise to hear of it. */
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
