import { type Collection, codeOf } from "@svc/sdk";
import { fail } from "./errors.ts";

interface Hours {
  /** When agents have rung or asked for a camera, oldest first. */
  readonly at: readonly number[];
}

const HOUR_MS = 3_600_000;
const KEY = "rings";
const TRIES = 20;

/** Rate limit of agents calling people: one count for calls and camera requests, kept over restarts (CHAN-09). */
export interface HourlyLimit {
  /** Counts one more, or throws `SVC_CALLS_HOUR` with when the next one may ring. */
  take(): Promise<void>;
}

/** Opens the count. */
export function openHourlyLimit(rows: Collection<Hours>, most: () => number, now: () => number): HourlyLimit {
  return {
    async take() {
      for (let tries = 0; ; tries += 1) {
        const row = await rows.get(KEY);
        const at = now();
        // Entries in the future, after a clock was set back, count as now.
        const used = (row?.value.at ?? []).map((one) => Math.min(one, at)).filter((one) => one > at - HOUR_MS);
        if (used.length >= most()) {
          const free = (used[used.length - most()] as number) + HOUR_MS;
          throw fail("SVC_CALLS_HOUR", { used: used.length, most: most(), at: new Date(free).toISOString(), retryAfterMs: Math.max(1_000, free - at) });
        }
        try {
          await rows.put(KEY, { at: [...used, at] }, row?.version ?? "absent");
          return;
        } catch (error) {
          if (codeOf(error) !== "SVC_STORE_CONFLICT" || tries === TRIES) throw error;
        }
      }
    },
  };
}
