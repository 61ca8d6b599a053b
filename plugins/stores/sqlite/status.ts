import { existsSync, statSync } from "node:fs";
import type { StoreMigrated, StoreStatus } from "@svc/sdk";
import type Database from "better-sqlite3";
import { openDatabase, storeError } from "./database.ts";
import { openFile } from "./driver.ts";
import { SCHEMA_VERSION, waitingAfter } from "./migrations.ts";

/** Returns the status of the database and its contents: reads it and changes nothing. Throws `SVC_STORE_BUSY`, `SVC_STORE_CORRUPT`, `SVC_STORE_FAILED`. */
export function databaseStatus(file: string): StoreStatus {
  const about = { file, known: SCHEMA_VERSION, settings: { file } };
  if (!existsSync(file)) return { ...about, version: undefined, waiting: waitingAfter(0), bytes: 0, rows: {} };
  return reading(file, (database) => {
    const version = database.pragma("user_version", { simple: true }) as number;
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name").pluck().all();
    const count = (name: string) =>
      database
        .prepare(`SELECT count(*) FROM "${name.replaceAll('"', '""')}"`)
        .pluck()
        .get() as number;
    const rows = Object.fromEntries((tables as string[]).map((name) => [name, count(name)]));
    const bytes = [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
    return { ...about, version, waiting: waitingAfter(version), bytes, rows };
  });
}

/** Makes the database, or brings it to this program's version. Throws as `openDatabase`. */
export function migrateDatabase(file: string): StoreMigrated {
  const from = existsSync(file) ? reading(file, (database) => database.pragma("user_version", { simple: true }) as number) : 0;
  openDatabase(file).close();
  return { file, from, to: SCHEMA_VERSION, applied: waitingAfter(from) };
}

function reading<T>(file: string, read: (database: Database.Database) => T): T {
  let database: Database.Database | undefined;
  try {
    database = openFile(file, { readonly: true, fileMustExist: true, timeout: 250 });
    return read(database);
  } catch (error) {
    throw storeError(error, file);
  } finally {
    database?.close();
  }
}
