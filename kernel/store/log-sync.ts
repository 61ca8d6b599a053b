import { close, fdatasync, openSync } from "node:fs";

/**
 * Brings SQLite's log of changes to the disk off the main thread, which would stand still for as long as the disk takes. With
 * `synchronous = NORMAL` a commit writes to the log and does not wait; what it wrote is durable once a sync that began afterwards
 * has ended, and from then on as with FULL. The log is one file for as long as a handle on the database is open.
 */
export class LogSync {
  readonly #file: string;
  #handle: number | undefined;
  #running = false;
  #closed = false;

  constructor(file: string) {
    this.#file = `${file}-wal`;
  }

  /** Calls `done` when what is in the log now is on the disk, or with the disk's error. One at a time. */
  run(done: (error: NodeJS.ErrnoException | null) => void): void {
    this.#running = true;
    try {
      this.#handle ??= openSync(this.#file, "r+");
    } catch (error) {
      setImmediate(done, error as NodeJS.ErrnoException);
      return;
    }
    fdatasync(this.#handle, (error) => {
      this.#running = false;
      if (this.#closed) this.#release();
      done(error);
    });
  }

  close(): void {
    this.#closed = true;
    if (!this.#running) this.#release();
  }

  #release(): void {
    if (this.#handle !== undefined) close(this.#handle);
    this.#handle = undefined;
  }
}
