import { writeFileSync } from "node:fs";
import { firstOf } from "../daemon.harness.ts";

const HOUR_MS = 3_600_000;
const LIBRARY = firstOf([
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/local/lib/faketime/libfaketime.so.1",
]);

/** Why the clock of a daemon cannot be set here; undefined where it can. */
export const NO_CLOCK = LIBRARY === undefined ? "libfaketime is not installed" : undefined;

/** The wall clock of one daemon. Timers run on as they do: what is set is what the daemon reads as the time of day. */
export interface WeekClock {
  /** For the daemon's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What the daemon reads now. */
  now(): number;
  /** Sets it to this long before the next hour that is a multiple of `hours`. */
  hop(hours: number, leftMs: number): void;
  /** Sets it forward or back by so many milliseconds; the same negative puts it right again. */
  turn(ms: number): void;
}

/** Starts at some time in the past that is the same in each run. */
export function createClock(file: string, start: number): WeekClock {
  let offset = start - Date.now();
  const write = () => writeFileSync(file, `${offset >= 0 ? "+" : ""}${(offset / 1_000).toFixed(3)}\n`);
  write();
  const now = () => Date.now() + offset;
  return {
    env: { LD_PRELOAD: LIBRARY ?? "", FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1", DONT_FAKE_MONOTONIC: "1", FAKETIME_DONT_RESET: "1" },
    now,
    hop(hours, leftMs) {
      const step = hours * HOUR_MS;
      offset += (Math.floor(now() / step) + 1) * step - leftMs - now();
      write();
    },
    turn(ms) {
      offset += ms;
      write();
    },
  };
}
