import type { CallConsequence } from "./incident.ts";

/** Thresholds of the circuit breaker. Times in milliseconds. */
export const BREAKER = { failures: 5, windowMs: 60_000, openMs: 60_000, openings: 3, openingsWindowMs: 3_600_000 } as const;

/**
 * Keeps a failing piece of a plugin from being called again and again: five failures in a minute open it for a minute, then two,
 * then four; three openings within an hour disable it until it is set up again.
 */
export interface Breaker {
  /** Whether it may be called now. */
  readonly closed: boolean;
  /** Count a failure. Answers `opened` or `disabled` at the moment that happens. */
  fail(): CallConsequence;
}

/** Makes a circuit breaker; `now` is monotonic, in milliseconds. */
export function createBreaker(now: () => number = () => performance.now()): Breaker {
  let failures: number[] = [];
  let openings: number[] = [];
  let openUntil = 0;
  let disabled = false;
  return {
    get closed() {
      return !disabled && (openUntil === 0 || now() >= openUntil);
    },
    fail() {
      const at = now();
      failures = failures.filter((time) => at - time < BREAKER.windowMs);
      failures.push(at);
      if (failures.length < BREAKER.failures) return "counted";
      failures = [];
      openings = openings.filter((time) => at - time < BREAKER.openingsWindowMs);
      openings.push(at);
      if (openings.length >= BREAKER.openings) {
        disabled = true;
        return "disabled";
      }
      openUntil = at + BREAKER.openMs * 2 ** (openings.length - 1);
      return "opened";
    },
  };
}
