import type { Journal, Log, Publication } from "@svc/sdk";
import type { SessionSettings } from "./settings.ts";

/** Cold runs of `cli-a` in the last hour and the last five (000:L359). */
export interface Budget {
  /**
   * Counts one cold run at `now`, in Unix milliseconds, unless a window is full: then the answer says which, and when there is room again. Runs of
   * other daemons on the state count as soon as they are stored. Never rejects.
   */
  spend(now: number, limits: SessionSettings): Promise<string | undefined>;
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
/** The clocks of daemons differ by less; runs of later times are from before a clock was set back. */
const AHEAD_MS = HOUR_MS;
const PAGE = 1000;
/** The largest cap that the configuration allows. */
const KEPT = 50_000;

/** The share of a cap, 64 of 80 and 144 of 180, at which the operator is warned. */
const warningAt = (cap: number): number => Math.ceil((cap * 4) / 5);

/** The budget over a journal of cold runs; warnings go to `publish`. */
export function createBudget(journal: () => Journal<number>, log: Log, publish: (event: Publication) => void): Budget {
  /** By the journal, up to the entry `seen`. */
  let stored: number[] = [];
  let seen = 0;
  let reading: Promise<void> = Promise.resolve();
  /** Runs of this daemon, until they were read back. */
  let own: { readonly at: number; seq?: number }[] = [];
  const warned = new Map<Window, number>();
  const within = (spent: readonly number[], window: Window, now: number) => spent.filter((at) => at > now - window.ms).length;

  async function read(): Promise<void> {
    for (;;) {
      const page = await journal().read(seen, PAGE);
      stored.push(...page.map(({ value }) => value));
      seen = page.at(-1)?.seq ?? seen;
      if (page.length < PAGE) return;
    }
  }

  /** Returns the uses within the longest window, oldest first. */
  function spentAt(now: number): readonly number[] {
    const counts = (at: number) => at > now - LONGEST_MS && at <= now + AHEAD_MS;
    stored = stored.filter(counts);
    own = own.filter(({ at, seq }) => counts(at) && (seq === undefined || seq > seen));
    return [...stored, ...own.map(({ at }) => at)].sort((left, right) => left - right);
  }

  function warn(window: Window, count: number, cap: number, now: number): void {
    const last = warned.get(window);
    if (count < warningAt(cap) || (last !== undefined && Math.abs(now - last) < window.ms)) return;
    warned.set(window, now);
    const summary = `${count} of ${cap} cold cli-a runs in the last ${window.name}`;
    log.warn({ count, cap, setting: `session.${window.key}` }, `${summary}; further ones are refused at the cap`);
    publish({ kind: "status", type: "budget:warned", summary, data: { count, cap, window: window.name } });
  }

  return {
    async spend(now, limits) {
      reading = reading.then(read).catch((error) => log.warn({ err: error }, "the cold runs of other nodes were not read: they are not counted"));
      await reading;
      // From here to the count of this run nothing may come between.
      const spent = spentAt(now);
      for (const window of WINDOWS) {
        const cap = limits[window.key];
        if (within(spent, window, now) < cap) continue;
        const minutes = Math.max(1, Math.ceil(((spent.at(-cap) ?? now) + window.ms - now) / 60_000));
        return `The budget for cold cli-a runs is used up: ${cap} in the last ${window.name} (session.${window.key}). There is room again in ${minutes} min.`;
      }
      const one: (typeof own)[number] = { at: now };
      own.push(one);
      journal()
        .append(now)
        .then(
          (seq) => Object.assign(one, { seq }),
          (error) => log.error({ err: error }, "a cold run was not stored; a restart would forget it"),
        );
      for (const window of WINDOWS) warn(window, within(spent, window, now) + 1, limits[window.key], now);
      return undefined;
    },
    trim: () => journal().trim(KEPT),
  };
}
