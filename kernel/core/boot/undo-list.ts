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

  /** Runs one step and registers `undo` for it if it succeeds. `name` identifies the step in the log if `undo` fails. */
  async step<T>(name: string, run: () => T | Promise<T>, undo: (made: T) => unknown): Promise<T> {
    const made = await run();
    this.defer(name, () => undo(made));
    return made;
  }

  /** Registers an undo, which also runs if the step fails half way. */
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
