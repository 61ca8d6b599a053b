/** Work in order within each line; lines side by side. */
export interface Lines {
  /** Runs after all earlier work of that line. Never rejects: what fails is told to `failed`. */
  add(line: string, work: () => Promise<void>): void;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
}

/** Makes lines; one without work is forgotten. */
export function createLines(failed: (error: unknown) => void): Lines {
  const tails = new Map<string, Promise<void>>();
  return {
    add(line, work) {
      const done = (tails.get(line) ?? Promise.resolve()).then(work).catch(failed);
      tails.set(line, done);
      void done.then(() => {
        if (tails.get(line) === done) tails.delete(line);
      });
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}
