import { AsyncResource } from "node:async_hooks";
import { fail } from "../../base/errors.ts";
import type { Callee, GuardedCall } from "./call.ts";

type Promised<R> = Pick<Callee<never[], R>, "scope" | "what" | "limitMs" | "late">;

/**
 * A plugin's pending answer, with its deadline. Pending answers form a linked list: a set would retain memory, and a timer for each would cost as
 * much as most of the work of plugins in a hook.
 */
export class PendingAnswer<R> {
  private readonly answer: Promise<R>;
  private readonly callee: Promised<R>;
  private readonly handle: GuardedCall;
  /** By the steady clock, in milliseconds. */
  until = 0;
  listed = false;
  expire: () => void = ignore;
  before: PendingAnswer<unknown> | undefined = undefined;
  after: PendingAnswer<unknown> | undefined = undefined;

  constructor(answer: Promise<R>, callee: Promised<R>, handle: GuardedCall) {
    this.answer = answer;
    this.callee = callee;
    this.handle = handle;
  }

  /** Calls one of both, once: with the answer, or with the plugin's error or that of the deadline, which counts from here. */
  settle(done: (answer: R) => void, failed: (error: unknown) => void): void {
    const [callee, handle] = [this.callee, this.handle];
    let state: "waiting" | "expired" | "over" = "waiting";
    this.until = performance.now() + callee.limitMs;
    this.expire = () => {
      state = "expired";
      const error = fail("SVC_PLUGIN_TIMEOUT", { plugin: callee.scope.id, what: callee.what, ms: callee.limitMs });
      handle.end(error);
      failed(error);
    };
    enlist(this as PendingAnswer<unknown>);
    const over = (): boolean => {
      if (state !== "waiting") return false;
      state = "over";
      delist(this as PendingAnswer<unknown>);
      return true;
    };
    const reject = (error: unknown): void => {
      if (!over()) return;
      handle.end();
      failed(error);
    };
    try {
      this.answer.then((value) => {
        if (state === "expired") callee.late?.(value);
        else if (over()) {
          if (callee.late === undefined) handle.end();
          done(value);
        }
      }, reject);
    } catch (error) {
      // No promise of the language's own.
      reject(error);
    }
  }
}

const ignore = (): void => {};

const LOOK_MS = 20;
/** The timer belongs to no plugin, though one's call starts it. */
const outside = new AsyncResource("svc.call");
let newest: PendingAnswer<unknown> | undefined;
let look: NodeJS.Timeout | undefined;

/** One timer for all pending calls. */
function enlist(pending: PendingAnswer<unknown>): void {
  pending.listed = true;
  pending.before = newest;
  if (newest !== undefined) newest.after = pending;
  newest = pending;
  look ??= outside.runInAsyncScope(() => setInterval(expireLate, LOOK_MS));
}

function delist(pending: PendingAnswer<unknown>): void {
  const { before, after } = pending;
  pending.listed = false;
  if (before !== undefined) before.after = after;
  if (after === undefined) newest = before;
  else after.before = before;
}

function expireLate(): void {
  const now = performance.now();
  for (let at = newest; at !== undefined; ) {
    const { before } = at;
    // One that expired before may have settled this one.
    if (at.listed && at.until <= now) {
      delist(at);
      at.expire();
    }
    at = before;
  }
  if (newest !== undefined) return;
  clearInterval(look);
  look = undefined;
}
