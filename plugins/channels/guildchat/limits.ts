import { channelError, sleep } from "@svc/sdk";

/** Rate limits that the platform has announced. */
export interface Limits {
  /** Waits out a short pause; a longer one is thrown as `retry`, with its length. */
  pass(bucket: string, signal: AbortSignal): Promise<void>;
  /** Reads the remaining quota from the headers of an answer. */
  note(bucket: string, headers: Readonly<Record<string, string>>): void;
  /** Too many: of this bucket, or of everything. */
  refused(bucket: string, restMs: number, everything: boolean): void;
}

/** A pause up to this long is waited for in place. */
const SHORT_MS = 1_500;
const REMEMBERED = 500;

/** Makes them. `now` must run evenly: a clock that can be set would make a pause as long as it was set back. */
export function createLimits(now: () => number = () => performance.now()): Limits {
  /** Until when a bucket is empty. */
  const holds = new Map<string, number>();
  let everything = 0;

  const hold = (bucket: string, ms: number): void => {
    if (holds.size > REMEMBERED) for (const [old, until] of holds) if (until <= now()) holds.delete(old);
    holds.set(bucket, now() + ms);
  };
  return {
    async pass(bucket, signal) {
      const wait = Math.max(holds.get(bucket) ?? 0, everything) - now();
      if (wait <= 0) return;
      if (wait > SHORT_MS) throw channelError("retry", "the platform takes no more for now", Math.ceil(wait));
      await sleep(wait, signal);
    },
    note(bucket, headers) {
      const reset = Number(headers["x-ratelimit-reset-after"]);
      if (headers["x-ratelimit-remaining"] === "0" && Number.isFinite(reset)) hold(bucket, Math.min(reset, 3_600) * 1_000);
      else holds.delete(bucket);
    },
    refused(bucket, restMs, all) {
      if (all) everything = now() + restMs;
      else hold(bucket, restMs);
    },
  };
}
