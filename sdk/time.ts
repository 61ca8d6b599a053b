/** `setTimeout` runs a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms`, or at once when `signal` aborts; never rejects: check the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    const stop = onAbort(signal, end);
  });
}

/**
 * Settles as `work` does, or after `ms` with the result of `late` or its error. `signal` ends the wait earlier, also with `late`. The work itself
 * continues: end it by a signal of its own.
 */
export function withTimeout<T, L = never>(work: PromiseLike<T>, ms: number, late: () => L, signal?: AbortSignal): Promise<T | L> {
  return new Promise<T | L>((resolve, reject) => {
    let stop = (): void => {};
    const over = (): void => {
      clearTimeout(timer);
      stop();
    };
    const giveUp = (): void => {
      over();
      resolve(new Promise((answer) => answer(late())));
    };
    const timer = setTimeout(giveUp, Math.min(ms, LONGEST_TIMER_MS));
    stop = onAbort(signal, giveUp);
    work.then(
      (answer) => {
        over();
        resolve(answer);
      },
      (error) => {
        over();
        reject(error);
      },
    );
  });
}

/** Runs `run` with the reason when `signal` aborts, at once where it has aborted. The answer takes it back: call it when the work is over. */
export function onAbort(signal: AbortSignal | undefined, run: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const listener = (): void => run(signal.reason);
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** A signal of one's own that others abort as well. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Follows the others no more: for work that ends while they live on. */
  release(): void;
}

/** Aborts by itself, and with the reason of the first of `signals` that aborts. Call `release` when the work is over. */
export function linked(...signals: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const own = new AbortController();
  const stops = signals.map((signal) => onAbort(signal, (reason) => own.abort(reason)));
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release: () => {
      for (const stop of stops) stop();
    },
  };
}
