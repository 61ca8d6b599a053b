import { sleep } from "./time.ts";

/** Backoff between retries. */
export interface Backoff {
  /** The first pause, in milliseconds; default 200. It doubles with each failure in a row. */
  readonly firstMs?: number;
  /** The longest pause, in milliseconds; default 60,000. */
  readonly longestMs?: number;
}

/**
 * Returns the pause in milliseconds before the next try after `failures` in a row (1 for the first): exponential up to `longestMs`, with up to a
 * fifth of jitter, so that clients do not retry in step.
 */
export function backoffMs(failures: number, { firstMs = 200, longestMs = 60_000 }: Backoff = {}): number {
  return Math.round(Math.min(firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30), longestMs) * (1 + Math.random() / 5));
}

/** Options of `keepTrying`. */
export interface KeepTrying extends Backoff {
  /** Ends it: the error of the last try is thrown. */
  readonly signal: AbortSignal;
  /** Called before each pause. */
  readonly failed?: (error: unknown, failures: number, pauseMs: number) => void;
}

/**
 * Retries `work` with backoff until it succeeds. For a platform that delivers a message only once: `await keepTrying(() => ctx.tasks.accept(message),
 * { signal: ctx.signal })`, in the order of arrival. Pending work lives in memory: it is lost when the daemon ends meanwhile.
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
