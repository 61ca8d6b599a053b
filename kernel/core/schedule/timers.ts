/** setTimeout takes 24.8 days at most; anything longer fires at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** Timers that do not keep the process alive and end together. */
export interface Timers {
  /** Once, after any number of milliseconds, by a monotonic clock. The answer cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Every `ms` milliseconds, at most 24.8 days. */
  again(ms: number, run: () => void): void;
  /** No timer fires from then on. */
  stop(): void;
}

/** Makes a set of timers. */
export function createTimers(): Timers {
  const stops = new Set<() => void>();
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
    again(ms, run) {
      const timer = setInterval(run, ms).unref();
      stops.add(() => clearInterval(timer));
    },
    stop() {
      for (const stop of [...stops]) stop();
    },
  };
}
