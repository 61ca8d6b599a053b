import { sleep } from "@svc/sdk";
import type { IngestSettings } from "../settings.ts";

/** The one gate of all live reads. */
export interface Throttle {
  /** Resolves when one more read may be made. Rejects when `signal` aborts. */
  take(signal: AbortSignal): Promise<void>;
}

const MINUTE_MS = 60_000;

/** Makes the gate. Monotonic: a clock that is set does not open or close it. */
export function createThrottle(
  { minMsBetweenCalls = 1_500, maxCallsPerMinute = 20 }: NonNullable<IngestSettings["throttle"]>,
  now = () => performance.now(),
): Throttle {
  let order: Promise<unknown> = Promise.resolve();
  let taken: number[] = [];

  async function next(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      taken = taken.filter((at) => at > now() - MINUTE_MS);
      const last = taken.at(-1);
      const spacing = last === undefined ? 0 : last + minMsBetweenCalls - now();
      const quota = taken.length < maxCallsPerMinute ? 0 : (taken[taken.length - maxCallsPerMinute] as number) + MINUTE_MS - now();
      const wait = Math.max(spacing, quota);
      if (wait <= 0) break;
      await sleep(Math.ceil(wait), signal);
    }
    taken.push(now());
  }

  return {
    take(signal) {
      const turn = order.then(() => next(signal));
      order = turn.catch(() => {});
      return turn;
    },
  };
}
