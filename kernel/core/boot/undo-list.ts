import type { Log } from "@svc/sdk";

interface Undo {
  readonly name: string;
  readonly run: () => unknown;
}

/** The steps of a start that were done, and how each is undone. */
export class UndoList {
  readonly #log: Log;
  readonly #undos: Undo[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Runs one step; when it has succeeded, `undo` is its way back. `name` says in the log what did not close. */
  async step<T>(name: string, run: () => T | Promise<T>, undo: (made: T) => unknown): Promise<T> {
    const made = await run();
    this.defer(name, () => undo(made));
    return made;
  }

  /** From here on this is to be undone, also when what it undoes fails half way. */
  defer(name: string, undo: () => unknown): void {
    this.#undos.push({ name, run: undo });
  }

  /** Undoes all steps, the last first, each once. One that fails keeps no other from being undone; the first error is thrown at the end. */
  async undo(): Promise<void> {
    const errors: unknown[] = [];
    for (let last = this.#undos.pop(); last !== undefined; last = this.#undos.pop()) {
      try {
        await last.run();
      } catch (error) {
        this.#log.error({ err: error }, `${last.name} did not close`);
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
