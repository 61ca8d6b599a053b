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

/** What a sequence tells of numbers that do not come. */
export interface SequenceTold {
  /** Each event, in order. */
  take(event: Dispatch): void;
  /** One is missing: the session is to be taken up again after `last`. What came behind it is told once more then. */
  again(): void;
  /** It did not come then either, and is given up; one that comes later after all is taken then. */
  lost(): void;
}

/** Makes the order of one session after the other. */
export function createSequence({ take, again, lost }: SequenceTold, patienceMs = PATIENCE_MS): Sequence {
  const early = new Map<number, Dispatch>();
  const missing = new Set<number>();
  let last = 0;
  /** The hole for which the session was taken up again. */
  let tried: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  const wait = (): void => {
    clearTimeout(timer);
    timer = early.size === 0 ? undefined : setTimeout(giveUp, patienceMs);
  };
  const release = (): void => {
    for (let next = early.get(last + 1); next !== undefined; next = early.get(last + 1)) {
      early.delete(next.s);
      last = next.s;
      take(next);
    }
  };
  function giveUp(): void {
    timer = undefined;
    if (tried !== last) {
      tried = last;
      early.clear();
      again();
      return;
    }
    const next = Math.min(...early.keys());
    for (let s = last + 1; s < next && missing.size < REMEMBERED; s += 1) missing.add(s);
    last = next - 1;
    release();
    lost();
    wait();
  }
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
      tried = undefined;
    },
    push(event) {
      const { s } = event;
      if (s <= last) {
        if (missing.delete(s)) take(event);
        return;
      }
      const before = last;
      early.set(s, event);
      release();
      if (early.size === 0 || last !== before || timer === undefined) wait();
    },
    stop,
  };
}
