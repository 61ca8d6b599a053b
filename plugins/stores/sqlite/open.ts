import { type Log, put, type StoreDriver } from "@svc/sdk";
import { Connection } from "./connection.ts";
import { DocumentTable } from "./document-table.ts";
import { restoreRecords, storedRecords } from "./records.ts";
import { createScopes, type DatabaseScope } from "./scopes.ts";
import { type ClockNote, SteadyClock } from "./steady-clock.ts";

/** Options of opening a database. */
export interface DatabaseOptions {
  /** A path, or ":memory:". */
  readonly file: string;
  readonly log?: Log;
  /** Unix milliseconds; the wall clock by default. */
  readonly now?: () => number;
  /** Milliseconds since the operating system started; its own clock by default. */
  readonly monotonic?: () => number;
}

/** Where the steady time is noted, and how often it is looked whether that is needed. */
const MARKS = "core/marks";
const CLOCK = "clock";
const LOOK_EVERY_MS = 30_000;

/** The daemon's durable state in one database: a driver that leaves nothing out. */
export interface SqliteStore
  extends Required<Omit<StoreDriver, "scope" | "size" | "nodes" | "tell" | "time" | "exchange" | "hints" | "onDrain" | "leaving" | "work">> {
  scope(owner: string): DatabaseScope;
  size(): { readonly used: number; readonly free: number };
}

/**
 * Opens the store. Throws `SVC_STORE_CORRUPT`, `SVC_STORE_NEWER`, `SVC_STORE_BUSY`. One process writes: the kernel holds the folder's lock.
 */
export function openStore({ file, log, now = Date.now, monotonic }: DatabaseOptions): SqliteStore {
  const connection = new Connection(file, log);
  const marks = new DocumentTable(connection.database, MARKS);
  const clock = new SteadyClock(now, monotonic, marks.created ? marks.get<ClockNote>(CLOCK)?.value : undefined);
  const scopes = createScopes(connection, clock.now, now, log);

  /** Not worth a sync: without it, a restart asks the wall clock how long nothing ran. */
  function noteClock(): void {
    const note = clock.note();
    if (note !== undefined) scopes.commit("", [put(MARKS, CLOCK, note)], true).catch(() => {});
  }
  noteClock();
  const noting = setInterval(noteClock, LOOK_EVERY_MS);
  noting.unref();

  return {
    scope: scopes.scope,
    reclaim: scopes.reclaim,
    records: () => storedRecords(connection.database, clock.now),
    restore: (records) => restoreRecords(file, records, clock.now),
    health() {
      const reason = connection.trouble;
      return reason === undefined ? { ok: true } : { ok: false, reason };
    },
    size: () => connection.size(),
    diskBytes: () => connection.diskBytes(),
    shrink: () => connection.shrink(),
    steady: clock.now,
    onFailure: (listener) => connection.onFailure(listener),
    close() {
      clearInterval(noting);
      noteClock();
      return connection.close();
    },
  };
}
