import { AsyncResource } from "node:async_hooks";
import { fail } from "./errors.ts";

/** setTimeout takes 24.8 days at most; anything longer fires at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** Interval at which a wait checks the clock: timers do not advance while the machine sleeps and ignore a changed system clock. */
const LOOK_MS = 10_000;

/** Timers that do not keep the process alive and end together. */
export interface Timers {
  /** Once, after any number of milliseconds, by a monotonic clock. The answer cancels it. */
  after(ms: number, run: () => void): () => void;
  /**
   * Once, when the wall clock shows `time` or later, in Unix milliseconds: a time that has passed comes at once, though not within the call.
   * `run` must not throw. The answer cancels it.
   */
  at(time: number, run: () => void): () => void;
  /** Every `ms` milliseconds, at most 24.8 days. */
  again(ms: number, run: () => void): void;
  /** No timer fires from then on. */
  stop(): void;
}

interface Dated {
  readonly time: number;
  readonly run: () => void;
  live: boolean;
}

/** Makes a set of timers; `now` is the wall clock. */
export function createTimers(now: () => number = Date.now): Timers {
  const stops = new Set<() => void>();
  /** By their times, those of one time in order of the calls. */
  const dated: Dated[] = [];
  let looking: NodeJS.Timeout | undefined;

  function look(): void {
    const reached = now();
    const due = dated.splice(0, placeOf(dated, reached));
    arm();
    for (const one of due) if (one.live) one.run();
  }

  function arm(): void {
    clearTimeout(looking);
    const first = dated[0];
    looking = first === undefined ? undefined : setTimeout(look, Math.max(0, Math.min(first.time - now(), LOOK_MS))).unref();
  }

  return {
    after(ms, run) {
      const due = performance.now() + ms;
      let timer: NodeJS.Timeout;
      const stop = () => {
        clearTimeout(timer);
        stops.delete(stop);
      };
      const wait = () => {
        const left = due - performance.now();
        timer = setTimeout(left > LONGEST_TIMEOUT ? wait : finish, Math.max(0, Math.min(left, LONGEST_TIMEOUT))).unref();
      };
      const finish = () => {
        stops.delete(stop);
        run();
      };
      stops.add(stop);
      wait();
      return stop;
    },
    at(time, run) {
      const one: Dated = { time, run: AsyncResource.bind(run), live: true };
      dated.splice(placeOf(dated, time), 0, one);
      if (dated[0] === one) arm();
      return () => {
        one.live = false;
        const place = dated.indexOf(one);
        if (place !== -1) dated.splice(place, 1);
        if (place === 0) arm();
      };
    },
    again(ms, run) {
      const timer = setInterval(run, ms).unref();
      stops.add(() => clearInterval(timer));
    },
    stop() {
      for (const stop of [...stops]) stop();
      for (const one of dated.splice(0)) one.live = false;
      clearTimeout(looking);
    },
  };
}

/** Converts an argument of `Jobs.at` to Unix milliseconds. Throws `SVC_TIME_INVALID` for an invalid time. */
export function timeOf(time: Date | number): number {
  const given = Number(time);
  if (Number.isNaN(new Date(given).getTime())) throw fail("SVC_TIME_INVALID", { time: String(time).slice(0, 60) });
  return given;
}

/** Checks an argument of `Jobs.every`. Throws `SVC_INTERVAL_INVALID` for one that would leave no pause. */
export function intervalOf(ms: number): number {
  if (!(ms >= 1)) throw fail("SVC_INTERVAL_INVALID", { ms: String(ms).slice(0, 60) });
  return ms;
}

/** Returns the number of `dated` that are due at `time`. */
function placeOf(dated: readonly Dated[], time: number): number {
  let [low, high] = [0, dated.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((dated[middle] as Dated).time <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
