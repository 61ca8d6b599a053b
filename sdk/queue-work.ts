import { codeOf, reasonOf } from "./errors.ts";
import { backoffMs } from "./retry.ts";
import { type Claimed, complete, type Op, type QueueWork, release, type StoredQueue, type WorkOptions } from "./store.ts";

/** Timers stop while the machine is suspended: limit every wait, so that an item that became due meanwhile is late by no more than this. */
const LONGEST_WAIT_MS = 60_000;
const LONGEST_RETRY_MS = 600_000;

/** An item in progress. */
interface Run {
  readonly abort: AbortController;
  /** When its lease was renewed last, by the monotonic clock. */
  held: number;
  renew(): Promise<void>;
}

/** Runs a worker on the queue `name`, as `Queue.work` specifies. `commit` writes the outcome of an item; `ended` is called when the worker has stopped. */
export function workQueue<T>(
  name: string,
  queue: Pick<StoredQueue<T>, "claim" | "extend" | "nextDue">,
  commit: (ops: readonly Op[]) => Promise<void>,
  handler: (item: Claimed<T>, signal: AbortSignal) => Promise<void> | void,
  { leaseMs = 60_000, parallel = 1, retryMs = 1_000, failed, ended }: WorkOptions<T> & { readonly ended?: () => void } = {},
): QueueWork {
  const running = new Map<Promise<void>, Run>();
  let looking: Promise<void> | undefined;
  let asked = false;
  let stopping: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;

  function wake(): void {
    asked = true;
    if (stopping === undefined) looking ??= look();
  }

  function wakeIn(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(wake, Math.max(0, Math.min(ms, LONGEST_WAIT_MS))).unref();
  }

  async function look(): Promise<void> {
    while (asked && stopping === undefined) {
      asked = false;
      try {
        await take(parallel - running.size);
        failures = 0;
      } catch (error) {
        failures += 1;
        const pauseMs = backoffMs(failures);
        failed?.(error, undefined, pauseMs);
        wakeIn(pauseMs);
      }
    }
    looking = undefined;
  }

  /** Takes up to `free` items. Where there are fewer it waits for the next one; where there are more, the end of a handler looks again. */
  async function take(free: number): Promise<void> {
    if (free <= 0) return;
    clearTimeout(timer);
    // After a suspend of the machine or a stalled process: renew first, so that `claim` does not return an item of this worker.
    const now = performance.now();
    await Promise.all([...running.values()].filter(({ held }) => now - held > leaseMs / 2).map((run) => run.renew()));
    const items = await queue.claim(free, leaseMs);
    for (const item of items) start(item);
    if (items.length === free) return;
    const ms = await queue.nextDue();
    if (ms !== undefined && stopping === undefined) wakeIn(ms);
  }

  function start(item: Claimed<T>): void {
    const abort = new AbortController();
    // Claimed while stopping: released without a run.
    if (stopping !== undefined) abort.abort(stopped());
    const run: Run = { abort, held: performance.now(), renew: () => renew(item, run) };
    const end = work(item, run).finally(() => {
      running.delete(end);
      wake();
    });
    running.set(end, run);
  }

  async function work(item: Claimed<T>, run: Run): Promise<void> {
    const { id, attempt } = item;
    const { signal } = run.abort;
    const renewal = setInterval(run.renew, Math.max(1, Math.min(leaseMs, LONGEST_WAIT_MS) / 3)).unref();
    let outcome: Op;
    try {
      signal.throwIfAborted();
      await handler(item, signal);
      outcome = complete(name, id, attempt);
    } catch (error) {
      const delayMs = signal.aborted ? 0 : backoffMs(attempt, { firstMs: retryMs, longestMs: Math.max(retryMs, LONGEST_RETRY_MS) });
      outcome = release(name, id, { delayMs, attempt });
      if (!signal.aborted) failed?.(error, item, delayMs);
    }
    clearInterval(renewal);
    try {
      await commit([outcome]);
    } catch (error) {
      // Another attempt has the item by now, or the handler itself completed or released it in a commit with its results.
      if (codeOf(error) !== "SVC_STORE_CONFLICT") failed?.(error, item, leaseMs);
    }
  }

  /** Renews the lease; aborts the handler when the item is no longer this worker's. */
  async function renew({ id, attempt }: Claimed<T>, run: Run): Promise<void> {
    const lost = (why: string) => run.abort.abort(new Error(`the item '${id}' of the queue '${name}' is no longer this worker's: ${why}`));
    const now = performance.now();
    try {
      if (await queue.extend(id, attempt, leaseMs)) run.held = now;
      else lost("it was handed out again, given back or completed");
    } catch (error) {
      if (now - run.held >= leaseMs) lost(`its lease could not be renewed: ${reasonOf(error)}`);
    }
  }

  async function stop(): Promise<void> {
    clearTimeout(timer);
    for (const { abort } of running.values()) abort.abort(stopped());
    await looking;
    await Promise.all(running.keys());
    ended?.();
  }

  const stopped = () => new Error(`the worker of the queue '${name}' was stopped`);
  wake();
  return { wake, stop: () => (stopping ??= stop()) };
}
