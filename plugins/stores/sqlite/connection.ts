import { statSync } from "node:fs";
import type { Log, SvcError } from "@svc/sdk";
import type { Database } from "better-sqlite3";
import { Checkpointer } from "./checkpointer.ts";
import { openDatabase, sqliteFailure, storeError } from "./database.ts";
import { fail } from "./errors.ts";
import { LogSync } from "./log-sync.ts";
import { Presence } from "./presence.ts";
import { Reserve } from "./reserve.ts";
import { type BoundWrite, grows, isRepeatable, settle, type Table, type WriteJob } from "./table.ts";

/** Writes one transaction takes: what keeps the loop for a few milliseconds at most. */
const GROUP = 128;
const BUSY_MS = 250;
const BUSY_PAUSE_MS = 20;
/** Of `auto_vacuum`. */
const INCREMENTAL = 2;
/** A megabyte. */
const SHRUNK_PAGES = 256;

/**
 * The one handle on the database. Reads run at once. Writes wait for the end of the tick and share a transaction with the others
 * of it; they apply in the order of the calls and resolve after the transaction is on disk.
 *
 *   write -> waiting -> group -> BEGIN IMMEDIATE -> each job (or back to its savepoint) -> COMMIT -> fsync -> resolve or reject
 *                         |  locked by another process: again after 20 ms, SVC_STORE_BUSY after 250 ms
 *                         |  disk full: what adds is rejected with SVC_STORE_FULL, the rest goes again with the reserve's room
 *                         '  any other failure, and one of the fsync: SVC_STORE_FAILED for this group and all that follow
 *
 * The fsync does not block the event loop; writes that arrive meanwhile form the next group. A read may see data that is not on the disk yet: callers
 * that need durability await a write.
 */
export class Connection {
  readonly database: Database;
  readonly #file: string;
  readonly #log: Log | undefined;
  readonly #reserve: Reserve | undefined;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #presence: Presence | undefined;
  readonly #listeners = new Set<(error: SvcError) => void>();
  readonly #sql;
  /** Declared and not yet on disk. */
  readonly #missing = new Set<Table>();
  #waiting: WriteJob[] = [];
  #group: WriteJob[] = [];
  #scheduled = false;
  #busySince: number | undefined;
  /** The group met a full disk before. */
  #retried = false;
  #failure: SvcError | undefined;
  #closing: Promise<void> | undefined;
  readonly #sync: LogSync | undefined;
  /** Committed, and on the way to the disk. */
  #syncing: readonly WriteJob[] | undefined;
  #idle: (() => void) | undefined;

  constructor(file: string, log?: Log) {
    this.#file = file;
    this.#log = log;
    this.database = openDatabase(file);
    if (file !== ":memory:") {
      // From here on the syncs are ours.
      this.database.pragma("synchronous = NORMAL");
      this.#sync = new LogSync(file);
      const reserve = new Reserve(this.database, file, log);
      this.#reserve = reserve;
      this.#checkpointer = new Checkpointer(
        file,
        // What is left in the log must fit into the reserve when the disk is full.
        () => reserve.bytes / 2,
        () => this.#schedule(),
        (error) => this.#checkpointFailed(error),
        () => this.#presence?.look(),
      );
      this.#presence = new Presence([file, `${file}-wal`], (reason) => this.#fail(new Error(reason)));
    }
    const prepare = (sql: string) => this.database.prepare<[]>(sql);
    this.#sql = {
      begin: prepare("BEGIN IMMEDIATE"),
      commit: prepare("COMMIT"),
      rollback: prepare("ROLLBACK"),
      savepoint: prepare("SAVEPOINT job"),
      undo: prepare("ROLLBACK TO job"),
      release: prepare("RELEASE job"),
    };
  }

  /** Why nothing is stored any more, or why only deletes are. */
  get trouble(): string | undefined {
    if (this.#failure !== undefined) return this.#failure.message;
    return this.#reserve?.restored() === false ? fail("SVC_STORE_FULL", { file: this.#file }).message : undefined;
  }

  /** Hears once when the handle has failed; returns the way to stop listening. */
  onFailure(listener: (error: SvcError) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Brings what `table` declares to disk with the next transaction. */
  declare(table: Table): void {
    if (table.created) return;
    this.#missing.add(table);
  }

  /** Resolves with the answer of the last step, after the commit. `noted`: that commit need not be synced to the disk. */
  write(steps: readonly BoundWrite[], noted = false): Promise<unknown> {
    const refusal = this.#failure ?? (this.#closing === undefined ? undefined : fail("SVC_STORE_CLOSED"));
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ steps, noted, resolve, reject, answer: undefined, error: undefined });
      this.#schedule();
    });
  }

  /** Runs a read of `table` on the committed state. */
  async read<T>(table: Table, run: () => T): Promise<T> {
    if (!table.created) await this.write([]);
    if (this.#closing !== undefined) throw fail("SVC_STORE_CLOSED");
    try {
      return run();
    } catch (error) {
      if (sqliteFailure(error) === "corrupt") this.#fail(error);
      throw storeError(error, this.#file);
    }
  }

  /** Bytes in use and bytes free inside the file. */
  size(): { readonly used: number; readonly free: number } {
    const page = this.#number("page_size");
    const free = this.#number("freelist_count");
    return { used: (this.#number("page_count") - free) * page, free: free * page };
  }

  /** Bytes of the database and of what waits to be written into it; undefined in memory. */
  diskBytes(): number | undefined {
    const sizes = [this.#file, `${this.#file}-wal`].flatMap((file) => statSync(file, { throwIfNoEntry: false })?.size ?? []);
    return sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Takes free pages off the end of the file; false when there were none to take. Another process at work is no trouble: later. */
  shrink(): boolean {
    if (this.#failure !== undefined || this.#closing !== undefined || this.#number("auto_vacuum") !== INCREMENTAL) return false;
    const before = this.#number("freelist_count");
    if (before === 0) return false;
    try {
      this.database.pragma(`incremental_vacuum(${SHRUNK_PAGES})`);
    } catch (error) {
      if (sqliteFailure(error) !== "busy") throw storeError(error, this.#file);
    }
    this.#checkpointer?.dirty(true);
    return this.#number("freelist_count") < before;
  }

  #number(pragma: string): number {
    return this.database.pragma(pragma, { simple: true }) as number;
  }

  /** Stores what was handed over, then closes. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#unsettled) await new Promise<void>((resolve) => (this.#idle = resolve));
    this.#presence?.close();
    await this.#checkpointer?.close();
    this.#sync?.close();
    try {
      this.database.close();
    } catch (error) {
      this.#log?.warn({ file: this.#file, reason: (error as Error).message }, "the database could not be closed cleanly");
    }
  }

  get #unsettled(): boolean {
    return this.#group.length > 0 || this.#waiting.length > 0 || this.#syncing !== undefined;
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (delayMs === 0) setImmediate(this.#flush);
    else setTimeout(this.#flush, delayMs);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    // The end of the pause, or of the sync, schedules the next one.
    if (this.#checkpointer?.paused === true || this.#syncing !== undefined) return;
    if (this.#group.length === 0) this.#group = this.#next();
    try {
      if (this.#reserve?.restored() === false) this.#refuseGrowth();
      this.#transact();
    } catch (error) {
      this.#recover(error);
    }
    if (this.#syncing !== undefined) return;
    if (this.#unsettled) this.#schedule(this.#busySince === undefined ? 0 : BUSY_PAUSE_MS);
    else this.#idle?.();
  };

  /** The oldest jobs that fit in a group; a longer one goes alone. */
  #next(): WriteJob[] {
    let jobs = 0;
    let steps = 0;
    for (const job of this.#waiting) {
      steps += job.steps.length;
      if (jobs > 0 && steps > GROUP) break;
      jobs += 1;
    }
    if (jobs < this.#waiting.length) return this.#waiting.splice(0, jobs);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }

  #transact(): void {
    this.#sql.begin.run();
    for (const table of this.#missing) table.create();
    for (const job of this.#group) this.#apply(job);
    this.#sql.commit.run();
    this.#committed();
  }

  #apply(job: WriteJob): void {
    const { steps } = job;
    const guarded = steps.length > 1 || (steps.length === 1 && isRepeatable(steps[0] as BoundWrite));
    let index = 0;
    try {
      if (guarded) this.#sql.savepoint.run();
      for (const step of steps) {
        job.answer = step.table.apply(step.write, step.bound);
        index += 1;
      }
      if (guarded) this.#sql.release.run();
    } catch (error) {
      const failure = sqliteFailure(error);
      if ((failure !== undefined && failure !== "refused") || !this.database.inTransaction) throw error;
      if (guarded) {
        this.#sql.undo.run();
        this.#sql.release.run();
      }
      job.error = Object.assign(error as Error, { index });
    }
  }

  #committed(): void {
    const group = this.#group;
    const syncs = this.#sync !== undefined && (this.#missing.size > 0 || group.some(({ noted }) => !noted));
    this.#group = [];
    this.#busySince = undefined;
    this.#retried = false;
    for (const table of this.#missing) table.created = true;
    this.#missing.clear();
    // A full disk's room is for the log until the reserve has seen that it fits.
    if (this.#reserve?.exhausted === false) this.#checkpointer?.dirty();
    if (!syncs) {
      settle(group);
      return;
    }
    settle(group.filter(({ noted }) => noted));
    this.#syncing = group.filter(({ noted }) => !noted);
    this.#sync?.run(this.#synced);
  }

  readonly #synced = (error: Error | null): void => {
    const group = this.#syncing ?? [];
    this.#syncing = undefined;
    if (error === null) settle(group);
    else {
      this.#fail(error);
      this.#reject(group, this.#failure as SvcError);
    }
    if (this.#unsettled) this.#schedule();
    else this.#idle?.();
  };

  /** Nothing of the group was stored. */
  #recover(error: unknown): void {
    try {
      if (this.database.inTransaction) this.#sql.rollback.run();
    } catch (worse) {
      this.#fail(worse);
      return;
    }
    for (const job of this.#group) job.error = undefined;
    const failure = sqliteFailure(error);
    if (failure === "busy") {
      this.#busySince ??= performance.now();
      if (performance.now() - this.#busySince < BUSY_MS) return;
      this.#busySince = undefined;
      this.#reject(this.#group.splice(0), storeError(error, this.#file));
    } else if (failure === "full" && this.#reserve !== undefined) {
      this.#busySince = undefined;
      this.#checkpointer?.rest();
      const room = this.#reserve.spend() && !this.#retried;
      this.#refuseGrowth();
      if (!room) this.#reject(this.#group.splice(0), storeError(error, this.#file));
      this.#retried = this.#group.length > 0;
    } else {
      this.#fail(error);
    }
  }

  #refuseGrowth(): void {
    const refused = this.#group.filter(grows);
    if (refused.length === 0) return;
    this.#group = this.#group.filter((job) => !grows(job));
    this.#reject(refused, fail("SVC_STORE_FULL", { file: this.#file }));
  }

  #reject(jobs: readonly WriteJob[], error: unknown): void {
    for (const job of jobs) job.reject(error);
  }

  #fail(cause: unknown): void {
    this.#busySince = undefined;
    if (this.#failure === undefined) {
      const { code, message } = cause as SvcError;
      this.#failure = fail("SVC_STORE_FAILED", { file: this.#file, reason: code === undefined ? message : `${code}: ${message}`, cause });
      this.#log?.error({ file: this.#file, code, reason: message }, "the database failed; nothing more is stored");
      queueMicrotask(() => {
        for (const listener of this.#listeners) listener(this.#failure as SvcError);
      });
    }
    this.#reject([...this.#group.splice(0), ...this.#waiting.splice(0)], this.#failure);
  }

  #checkpointFailed(error: Error): void {
    const failure = sqliteFailure(error);
    if (failure === "busy") return;
    if (failure === "full") {
      this.#checkpointer?.rest();
      this.#reserve?.spend();
    } else if (failure === "failed" || failure === "corrupt") this.#fail(error);
    else {
      this.#log?.warn({ file: this.#file, reason: error.message }, "checkpoints run on the main thread: their own could not");
      this.database.pragma("wal_autocheckpoint = 1000");
    }
  }
}
