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

/** Time in which a missing event may still arrive, in milliseconds. */
const PATIENCE_MS = 250;
const REMEMBERED = 1_000;

/** Callbacks about missing numbers. */
export interface SequenceTold {
  /** Each event, in order. */
  take(event: Dispatch): void;
  /** One is missing: the session is to be taken up again after `last`. What came behind it is told once more then. */
  again(): void;
  /** The event did not arrive then either: numbers are skipped here, and gaps are ignored from now on. */
  lost(): void;
}

/** Makes the order of one session after the other. */
export function createSequence({ take, again, lost }: SequenceTold, patienceMs = PATIENCE_MS): Sequence {
  const early = new Map<number, Dispatch>();
  /** Taken lately, where numbers are left out: one that is lower than the last may be late, or told twice. */
  const taken = new Set<number>();
  let last = 0;
  /** The hole for which the session was taken up again. */
  let tried: number | undefined;
  let holes = false;
  let timer: NodeJS.Timeout | undefined;

  const wait = (): void => {
    clearTimeout(timer);
    timer = early.size === 0 ? undefined : setTimeout(giveUp, patienceMs);
  };
  const release = (): void => {
    for (let next = early.get(last + 1); next !== undefined; next = early.get(last + 1)) {
      early.delete(next.s);
      last = next.s;
      if (tried !== undefined && last > tried) tried = undefined;
      take(next);
    }
  };
  const takeAsTold = (event: Dispatch): void => {
    if (taken.has(event.s)) return;
    taken.add(event.s);
    if (taken.size > REMEMBERED) taken.delete(taken.values().next().value as number);
    if (event.s > last) last = event.s;
    take(event);
  };
  function giveUp(): void {
    timer = undefined;
    if (tried !== last) {
      tried = last;
      early.clear();
      again();
      return;
    }
    holes = true;
    const held = [...early.values()].sort((one, other) => one.s - other.s);
    early.clear();
    for (const event of held) takeAsTold(event);
    lost();
  }
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    early.clear();
    taken.clear();
  };

  return {
    get last() {
      return last;
    },
    begin(from) {
      stop();
      last = from;
      // To ask for what was missing has cost the session: not for a second time.
      if (tried !== undefined) holes = true;
      tried = undefined;
    },
    push(event) {
      if (holes) {
        takeAsTold(event);
        return;
      }
      const { s } = event;
      if (s <= last) return;
      const before = last;
      early.set(s, event);
      release();
      if (early.size === 0 || last !== before || timer === undefined) wait();
    },
    stop,
  };
}
