/** Hooks in the background, each of which begins a turn of its session when it is told to. One a process: a newer one ends the older. */
export class Waiters {
  readonly #waiting = new Map<string, (words: string) => void>();

  /** Resolves with the words that begin a turn, or with none when it is to end: after `ms`, for a newer one, or with `signal`. */
  wait(process: string, ms: number, signal: AbortSignal): Promise<string> {
    this.end(process);
    return new Promise((resolve) => {
      const finish = (words: string) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        if (this.#waiting.get(process) === finish) this.#waiting.delete(process);
        resolve(words);
      };
      const giveUp = () => finish("");
      const timer = setTimeout(giveUp, ms);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.set(process, finish);
      if (signal.aborted) giveUp();
    });
  }

  has(process: string): boolean {
    return this.#waiting.has(process);
  }

  /** Begins a turn. False without a waiter. */
  wake(process: string, words: string): boolean {
    const finish = this.#waiting.get(process);
    finish?.(words);
    return finish !== undefined;
  }

  end(process: string): void {
    this.#waiting.get(process)?.("");
  }

  /** All of them, each with these words. */
  endAll(words: string): void {
    for (const process of [...this.#waiting.keys()]) this.wake(process, words);
  }
}
