import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Log } from "@svc/sdk";
import type { Database } from "better-sqlite3";

const SMALL = 300 * 1024;
/** Where a gigabyte is free: room for what a quarter of a second of heavy writing leaves in the log, or what lies in it before its thread starts. */
const LARGE = 4 * 1_048_576;
/** Written at once: as much as the ballast is would stay in the process's memory. */
const PIECE = 64 * 1024;
const PLENTY = 1024 * 1_048_576;
const LOOK_EVERY_MS = 1000;

/**
 * Room kept for a full disk. In WAL mode a delete needs room too, and so does moving the log into the database; without any,
 * nothing could be freed. A ballast file beside the database is given up when the disk is full, and written anew when there is
 * room again.
 */
export class Reserve {
  /** The disk was full and no room has been seen since: only what adds nothing should be tried. */
  exhausted = false;
  readonly #database: Database;
  readonly #file: string;
  readonly #ballast: string;
  readonly #log: Log | undefined;
  #lookedAt = 0;

  constructor(database: Database, file: string, log?: Log) {
    this.#database = database;
    this.#file = file;
    this.#ballast = join(dirname(file), "ballast");
    this.#log = log;
    if (sizeOf(this.#ballast) < SMALL) this.#write();
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return sizeOf(this.#ballast);
  }

  /** The disk is full: gives up what there is. False when nothing was left to give. */
  spend(): boolean {
    if (!this.exhausted) this.#log?.error({ file: this.#file }, "the disk is full: nothing more is stored until there is room; deleting works");
    this.exhausted = true;
    this.#lookedAt = performance.now();
    const given = sizeOf(this.#ballast) > 0;
    rmSync(this.#ballast, { force: true });
    return this.#emptyLog() || given;
  }

  /** Whether writes that add may be tried again: looks once a second for room on the disk or in the database. */
  restored(): boolean {
    if (!this.exhausted) return true;
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return false;
    this.#lookedAt = performance.now();
    this.#emptyLog();
    if (this.#growth() > 0 || !(this.#write() || this.#roomInside())) return false;
    this.exhausted = false;
    this.#log?.info({ file: this.#file }, "there is room again: the store takes everything");
    return true;
  }

  /** Moves the log into the database. One that does not fit is left alone: half of it would use up the room and free none. */
  #emptyLog(): boolean {
    try {
      if (sizeOf(`${this.#file}-wal`) === 0 || this.#growth() > this.#available()) return false;
      const [result] = this.#database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
      return result?.busy === 0;
    } catch {
      return false;
    }
  }

  /** Bytes by which the file grows when it takes the log in. */
  #growth(): number {
    return this.#pages("page_count") - sizeOf(this.#file);
  }

  /** Pages that deletes left free take new rows although the disk has no room. */
  #roomInside(): boolean {
    return this.#pages("freelist_count") >= SMALL;
  }

  #pages(count: "page_count" | "freelist_count"): number {
    return (this.#database.pragma(count, { simple: true }) as number) * (this.#database.pragma("page_size", { simple: true }) as number);
  }

  #available(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    return bavail * bsize;
  }

  #write(): boolean {
    try {
      const size = this.#available() > PLENTY ? LARGE : SMALL;
      const handle = openSync(this.#ballast, "w", 0o600);
      try {
        // Not zeros: some file systems store those in no room at all.
        const bytes = Buffer.alloc(PIECE, "svc keeps this room for a full disk. ");
        for (let written = 0; written < size; ) written += writeSync(handle, bytes, 0, Math.min(PIECE, size - written));
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

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
