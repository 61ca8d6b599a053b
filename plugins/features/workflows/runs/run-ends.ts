/** An end that is waited for. */
export interface AwaitedEnd {
  /** Resolves when the run may have ended: look. */
  readonly promise: Promise<void>;
  release(): void;
}

/** Another daemon may end a run. */
const LOOK_MS = 5_000;

/** Waiters for the ends of runs. */
export class RunEnds {
  readonly #heard = new Map<string, Set<() => void>>();

  ended(runId: string): void {
    for (const hear of this.#heard.get(runId) ?? []) hear();
  }

  next(runId: string, signal?: AbortSignal): AwaitedEnd {
    const heard = this.#heard.get(runId) ?? new Set<() => void>();
    this.#heard.set(runId, heard);
    let resolve = (): void => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const timer = setTimeout(resolve, LOOK_MS);
    heard.add(resolve);
    signal?.addEventListener("abort", resolve, { once: true });
    return {
      promise,
      release: () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", resolve);
        heard.delete(resolve);
        if (heard.size === 0) this.#heard.delete(runId);
      },
    };
  }
}
