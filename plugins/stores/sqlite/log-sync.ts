import { closeSync, fdatasync, openSync } from "node:fs";

/**
 * Brings SQLite's log of changes to the disk off the main thread, which would stand still for as long as the disk takes. With
 * `synchronous = NORMAL` a commit writes to the log and does not wait; what it wrote is durable once a sync that began afterwards
 * has ended, and from then on as with FULL. The log is one file for as long as a handle on the database is open.
 */
export class LogSync {
  readonly #handle: number;

  /** The database must be open. Opened with it, so that a process that runs out of descriptors later can still sync. */
  constructor(file: string) {
    this.#handle = openSync(`${file}-wal`, "r+");
  }

  /** Calls `done` when the current log is on the disk, or with the disk's error. */
  run(done: (error: NodeJS.ErrnoException | null) => void): void {
    fdatasync(this.#handle, done);
  }

  /** No sync may be under way. */
  close(): void {
    closeSync(this.#handle);
  }
}
