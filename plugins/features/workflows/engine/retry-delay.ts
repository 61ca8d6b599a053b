import type { Retry } from "./definition.ts";
import { durationMs } from "./duration.ts";

/** Milliseconds before the next attempt, after `used` of them: min(maxDelay, delay * factor^(used-1)). */
export function retryDelay(retry: Retry | undefined, used: number): number {
  const delay = durationMs(retry?.delay ?? "1s") ?? 1_000;
  const longest = durationMs(retry?.maxDelay ?? "5m") ?? 300_000;
  return Math.min(longest, Math.round(delay * (retry?.factor ?? 2) ** Math.max(0, used - 1)));
}
