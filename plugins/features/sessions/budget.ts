import type { Journal, Log, Publication } from "@svc/sdk";
import type { SessionSettings } from "./settings.ts";

/** Cold runs of `cli-a` in the last hour and the last five (000:L359). */
export interface Budget {
  /** Reads what earlier runs of the daemon have used. */
  restore(): Promise<void>;
  /** Counts one cold run at `now`, in Unix milliseconds, unless a window is full: then the answer says which, and when there is room again. */
  spend(now: number, limits: SessionSettings): string | undefined;
  /** Drops stored entries that no window can reach. */
  trim(): Promise<void>;
}

interface Window {
  readonly ms: number;
  readonly name: string;
  readonly key: "maxClaudeCodeDispatchesPerHour" | "maxClaudeCodeDispatchesPer5h";
}

const HOUR_MS = 3_600_000;
const WINDOWS: readonly Window[] = [
  { ms: HOUR_MS, name: "hour", key: "maxClaudeCodeDispatchesPerHour" },
  { ms: 5 * HOUR_MS, name: "5 hours", key: "maxClaudeCodeDispatchesPer5h" },
];
const LONGEST_MS = 5 * HOUR_MS;
const PAGE = 1000;
/** The largest cap that the configuration allows. */
const KEPT = 50_000;

/** The share of a cap, 64 of 80 and 144 of 180, at which the operator is warned. */
const warningAt = (cap: number): number => Math.ceil((cap * 4) / 5);

/** The budget over a journal of cold runs; warnings go to `publish`. */
export function createBudget(journal: () => Journal<number>, log: Log, publish: (event: Publication) => void): Budget {
  let spent: number[] = [];
  const warned = new Map<Window, number>();
  const within = (window: Window, now: number) => spent.filter((at) => at > now - window.ms).length;

  function warn(window: Window, count: number, cap: number, now: number): void {
    const last = warned.get(window);
    if (count < warningAt(cap) || (last !== undefined && now - last < window.ms)) return;
    warned.set(window, now);
    const summary = `${count} of ${cap} cold cli-a runs in the last ${window.name}`;
    log.warn({ count, cap, setting: `session.${window.key}` }, `${summary}; further ones are refused at the cap`);
    publish({ kind: "status", type: "budget:warned", summary, data: { count, cap, window: window.name } });
  }

  return {
    async restore() {
      const found: number[] = [];
      for (let after = 0; ; ) {
        const page = await journal().read(after, PAGE);
        found.push(...page.map(({ value }) => value));
        after = page.at(-1)?.seq ?? after;
        if (page.length < PAGE) break;
      }
      spent = [...found, ...spent];
    },
    spend(now, limits) {
      spent = spent.filter((at) => at > now - LONGEST_MS);
      for (const window of WINDOWS) {
        const cap = limits[window.key];
        if (within(window, now) < cap) continue;
        const minutes = Math.max(1, Math.ceil(((spent.at(-cap) ?? now) + window.ms - now) / 60_000));
        return `The budget for cold cli-a runs is used up: ${cap} in the last ${window.name} (session.${window.key}). There is room again in ${minutes} min.`;
      }
      spent.push(now);
      journal()
        .append(now)
        .catch((error) => log.error({ err: error }, "a cold run was not stored; a restart would forget it"));
      for (const window of WINDOWS) warn(window, within(window, now), limits[window.key], now);
      return undefined;
    },
    trim: () => journal().trim(KEPT),
  };
}
