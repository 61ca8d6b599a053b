import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Log } from "@svc/sdk";
import type { Database } from "better-sqlite3";

const BYTES = 300 * 1024;
const LOOK_EVERY_MS = 1000;

/**
 * Room kept for a full disk. A delete in WAL mode needs room too, so without it nothing could be freed: a ballast file beside the
 * database is given up when the disk is full, and written anew when there is room again.
 */
export class Reserve {
  /** The disk was full and no room has been seen since: only what adds nothing should be tried. */
  exhausted = false;
  readonly #database: Database;
  readonly #ballast: string;
  readonly #log: Log | undefined;
  #lookedAt = 0;

  constructor(database: Database, file: string, log?: Log) {
    this.#database = database;
    this.#ballast = join(dirname(file), "ballast");
    this.#log = log;
    if (!existsSync(this.#ballast)) this.#write();
  }

  /** Gives the ballast up and empties the log of changes as far as that is possible. */
  spend(): void {
    if (!this.exhausted) this.#log?.error({ ballast: this.#ballast }, "the disk is full: nothing more is stored until there is room; deleting works");
    this.exhausted = true;
    this.#lookedAt = performance.now();
    rmSync(this.#ballast, { force: true });
    try {
      this.#database.pragma("wal_checkpoint(TRUNCATE)");
    } catch {
      // As full as before; the next delete tries again.
    }
  }

  /** Whether writes that add may be tried again: looks once a second for room on the disk or in the database. */
  restored(): boolean {
    if (!this.exhausted) return true;
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return false;
    this.#lookedAt = performance.now();
    if (!this.#write() && !this.#roomInside()) return false;
    this.exhausted = false;
    this.#log?.info({ ballast: this.#ballast }, "there is room again: the store takes everything");
    return true;
  }

  /** Pages that deletes left free take new rows although the disk has no room. */
  #roomInside(): boolean {
    const free = this.#database.pragma("freelist_count", { simple: true }) as number;
    return free * (this.#database.pragma("page_size", { simple: true }) as number) >= BYTES;
  }

  #write(): boolean {
    try {
      const handle = openSync(this.#ballast, "w", 0o600);
      try {
        // Not zeros: some file systems store those in no room at all.
        const bytes = Buffer.alloc(BYTES, "svc keeps this room for a full disk. ");
        for (let written = 0; written < BYTES; ) written += writeSync(handle, bytes, written);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      return true;
    } catch {
      rmSync(this.#ballast, { force: true });
      return false;
    }
  }
}
