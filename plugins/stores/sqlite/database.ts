import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, type SvcError } from "@svc/sdk";
import type Database from "better-sqlite3";
import { openFile } from "./driver.ts";
import { fail } from "./errors.ts";
import { migrate, SCHEMA_VERSION } from "./migrations.ts";

/** Milliseconds for which SQLite itself waits for another process, blocking the loop; longer waits are the caller's, between ticks. */
export const BUSY_SLICE_MS = 10;

/** Bytes of the log of changes that stay on disk for writing in place, once it starts over. */
const WAL_KEPT = 16 * 1_048_576;

/** Start-up checks every page of a database up to this size; a larger one answers for a bad page when it is met. */
const CHECKED_BYTES = 32 * 1_048_576;

/**
 * Opens `file` (or ":memory:"), made with its folder when missing (0600, 0700), durable on every commit and migrated. Throws
 * `SVC_STORE_CORRUPT` (the file is left as it is), `SVC_STORE_EMPTIED`, `SVC_STORE_NEWER` or `SVC_STORE_BUSY` after 250 ms.
 */
export function openDatabase(file: string): Database.Database {
  const memory = file === ":memory:";
  if (!memory) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    requireContent(file);
    // SQLite would create it readable for all; its companions take the mode of the file.
    closeSync(openSync(file, "a", 0o600));
  }
  let database: Database.Database | undefined;
  try {
    database = openFile(file, { timeout: 250 });
    // Only a database that is made here can have it: from an older one no space is given back to the disk, only used again.
    if (database.pragma("page_count", { simple: true }) === 0) database.pragma("auto_vacuum = INCREMENTAL");
    database.pragma("journal_mode = WAL");
    // Not stored in the file: a reopened WAL database would be NORMAL, and tables created here would not survive a power cut.
    database.pragma("synchronous = FULL");
    database.pragma("wal_autocheckpoint = 0");
    database.pragma(`journal_size_limit = ${WAL_KEPT}`);
    const size = (database.pragma("page_count", { simple: true }) as number) * (database.pragma("page_size", { simple: true }) as number);
    if (!memory && size <= CHECKED_BYTES) checkPages(database, file);
    migrate(database, file);
    database.pragma(`busy_timeout = ${BUSY_SLICE_MS}`);
    return database;
  } catch (error) {
    database?.close();
    // The statements of an opening are ours and right: one that SQLite refuses tells of a header or a schema that makes no sense.
    if (sqliteFailure(error) === "refused") throw fail("SVC_STORE_CORRUPT", { file, reason: (error as Error).message, cause: error });
    throw storeError(error, file);
  }
}

/** Returns the errors of the database: empty when it is sound, and this program can open it. Reads every page, twice unless `quick`; changes nothing. */
export function checkDatabase(file: string, { quick = false }: { readonly quick?: boolean } = {}): readonly string[] {
  let database: Database.Database | undefined;
  try {
    requireContent(file);
    database = openFile(file, { readonly: true, fileMustExist: true, timeout: 250 });
    const found = database.pragma("user_version", { simple: true }) as number;
    if (found > SCHEMA_VERSION) return [fail("SVC_STORE_NEWER", { file, found, known: SCHEMA_VERSION }).message];
    const rows = database.pragma(quick ? "quick_check" : "integrity_check") as Record<string, string>[];
    return rows.flatMap((row) => Object.values(row)).filter((text) => text !== "ok");
  } catch (error) {
    return [(error as Error).message];
  } finally {
    database?.close();
  }
}

/**
 * Throws `SVC_STORE_EMPTIED` for a file of 0 bytes that has held a database. A first start that was killed leaves an empty file, too, but not what is
 * written only beside a database: its log of changes, and the room that is kept for a full disk.
 */
function requireContent(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.size !== 0) return;
  const later = [`${file}-wal`, join(dirname(file), "ballast")].filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0);
  if (later.length > 0) throw fail("SVC_STORE_EMPTIED", { file, beside: later.join(" and "), remove: [file, ...later].join(" ") });
}

/** The kind of an SQLite error; undefined for any other error. */
export function sqliteFailure(error: unknown): "busy" | "full" | "corrupt" | "refused" | "failed" | undefined {
  const code = codeOf(error);
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return "busy";
  // Without room for its shared index SQLite reports an I/O error.
  if (code === "SQLITE_FULL" || code === "SQLITE_IOERR_SHMSIZE") return "full";
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return "corrupt";
  if (code.startsWith("SQLITE_CONSTRAINT") || code === "SQLITE_TOOBIG" || code === "SQLITE_MISMATCH" || code === "SQLITE_ERROR") return "refused";
  return "failed";
}

/** An error of SQLite as the store's own; any other error unchanged. */
export function storeError(error: unknown, file: string): unknown {
  const { message, code } = error as SvcError;
  switch (sqliteFailure(error)) {
    case "busy":
      return fail("SVC_STORE_BUSY", { file, cause: error });
    case "full":
      return fail("SVC_STORE_FULL", { file, cause: error });
    case "corrupt":
      return fail("SVC_STORE_CORRUPT", { file, reason: message, cause: error });
    case "failed":
      return fail("SVC_STORE_FAILED", { file, reason: `${code}: ${message}`, cause: error });
    default:
      return error;
  }
}

function checkPages(database: Database.Database, file: string): void {
  const [first] = database.pragma("quick_check(1)") as { quick_check: string }[];
  if (first !== undefined && first.quick_check !== "ok") throw fail("SVC_STORE_CORRUPT", { file, reason: first.quick_check });
}
