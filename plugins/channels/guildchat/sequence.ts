/** An event of the gateway. */
export interface Dispatch {
  readonly s: number;
  readonly t: string;
  readonly d: unknown;
}

/** Brings the events of a session into the order of their numbers, each once. */
export interface Sequence {
  /** The highest number up to which nothing is outstanding. */
  readonly last: number;
  /** A session begins, or goes on, after this number. */
  begin(last: number): void;
  push(event: Dispatch): void;
  stop(): void;
}

/** How long a missing event may still come, in milliseconds. */
const PATIENCE_MS = 250;
const REMEMBERED = 1_000;

/** `take` gets each event in order; `lost` is told once when events are given up. One that comes later after all is taken then. */
export function createSequence(take: (event: Dispatch) => void, lost: () => void, patienceMs = PATIENCE_MS): Sequence {
  const early = new Map<number, Dispatch>();
  const missing = new Set<number>();
  let last = 0;
  let timer: NodeJS.Timeout | undefined;

  const release = (): void => {
    for (let next = early.get(last + 1); next !== undefined; next = early.get(last + 1)) {
      early.delete(next.s);
      last = next.s;
      take(next);
    }
    if (early.size > 0 || timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
  };
  const giveUp = (): void => {
    timer = undefined;
    const next = Math.min(...early.keys());
    for (let s = last + 1; s < next && missing.size < REMEMBERED; s += 1) missing.add(s);
    last = next - 1;
    release();
    lost();
    if (early.size > 0) timer ??= setTimeout(giveUp, patienceMs);
  };
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    early.clear();
    missing.clear();
  };

  return {
    get last() {
      return last;
    },
    begin(from) {
      stop();
      last = from;
    },
    push(event) {
      const { s } = event;
      if (s <= last) {
        if (missing.delete(s)) take(event);
        return;
      }
      early.set(s, event);
      release();
      if (early.size > 0) timer ??= setTimeout(giveUp, patienceMs);
    },
    stop,
  };
}
