import { sleep } from "./time.ts";

/** How long to wait between tries. */
export interface Backoff {
  /** The first pause, in milliseconds; default 200. It doubles with each failure in a row. */
  readonly firstMs?: number;
  /** The longest pause, in milliseconds; default 60,000. */
  readonly longestMs?: number;
}

/**
 * The pause before the next try after `failures` in a row (1 for the first), in milliseconds: it doubles up to `longestMs` and is spread
 * by up to a fifth, so that many who wait do not come back at once.
 */
export function backoffMs(failures: number, { firstMs = 200, longestMs = 60_000 }: Backoff = {}): number {
  return Math.round(Math.min(firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30), longestMs) * (1 + Math.random() / 5));
}

/** How `keepTrying` goes on. */
export interface KeepTrying extends Backoff {
  /** Ends it: the error of the last try is thrown. */
  readonly signal: AbortSignal;
  /** Told before each pause. */
  readonly failed?: (error: unknown, failures: number, pauseMs: number) => void;
}

/**
 * Does `work` until it succeeds, with growing pauses. For a platform that hands a message out once and never again:
 * `await keepTrying(() => ctx.tasks.accept(message), { signal: ctx.signal })`, in the order of arrival. What is tried again lives in
 * memory: a daemon that ends meanwhile has lost it.
 */
export async function keepTrying<T>(work: () => Promise<T>, { signal, failed, ...backoff }: KeepTrying): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      const pauseMs = backoffMs(failures, backoff);
      failed?.(error, failures, pauseMs);
      await sleep(pauseMs, signal);
      if (signal.aborted) throw error;
    }
  }
}
