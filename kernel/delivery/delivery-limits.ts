import { backoffMs } from "./pace.ts";

/** Time limits and retries of a delivery. */
export interface DeliveryLimits {
  /** Minutes after which an unsent delivery is given up; default 60. */
  readonly ttlMinutes: number;
  /** Sends that may fail before a delivery is given up; waiting for a rate limit does not count. Default 10. */
  readonly maxTries: number;
  /** Sends that may have arrived, on a platform that cannot tell a repeated one, before a delivery is given up; default 3. */
  readonly maxDoubts: number;
  /**
   * Unsent deliveries of a channel, or withheld ones in all, after which `send` refuses with `SVC_OUTBOX_FULL`; answers of tasks are always
   * taken, and of withheld ones the oldest then expire. Default 5,000.
   */
  readonly maxQueued: number;
  /** Hours after which a withheld delivery without a decision expires; default 168. */
  readonly withheldHours: number;
  /** Grace period of calls in progress at an end, in milliseconds; default 5,000. */
  readonly stopGraceMs: number;
  /** The pause after a failure, by the tries before it. */
  readonly backoff: (tries: number) => number;
}

/** Where nothing else is said. */
export const DEFAULTS: DeliveryLimits = {
  ttlMinutes: 60,
  maxTries: 10,
  maxDoubts: 3,
  maxQueued: 5_000,
  withheldHours: 168,
  stopGraceMs: 5_000,
  backoff: backoffMs,
};
