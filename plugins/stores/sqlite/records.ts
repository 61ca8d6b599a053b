import type { StoreRecord } from "@svc/sdk";
import type { Database } from "better-sqlite3";
import { openDatabase } from "./database.ts";
import { DocumentTable } from "./document-table.ts";
import { fail } from "./errors.ts";
import { JournalTable } from "./journal-table.ts";
import { QueueTable } from "./queue-table.ts";

interface ItemRow {
  readonly item: string;
  readonly line: string | null;
  readonly due: number;
  readonly leased: number;
  readonly attempt: number;
  readonly again: number;
  readonly value: string;
}

/** The document in which this store notes how its own clock runs: no other store has a use for it. */
const CLOCK = { name: "core/marks", key: "clock" };
const isClock = (name: string, key: string): boolean => name === CLOCK.name && key === CLOCK.key;

/** Yields the whole content of the database. Requires that no other writer is active. */
export async function* storedRecords(database: Database, steady: () => number): AsyncGenerator<StoreRecord> {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%:%' ORDER BY name").pluck().all() as string[];
  const all = (table: string, order: string) => database.prepare(`SELECT * FROM "${table}" ORDER BY ${order}`).iterate();
  for (const table of tables) {
    const name = table.slice(table.indexOf(":") + 1);
    if (table.startsWith("documents:")) {
      const columns = database.pragma(`table_info("${table}")`) as { readonly name: string }[];
      const indexes = columns.filter((column) => column.name.startsWith(":")).map((column) => column.name.slice(1));
      yield { kind: "collection", name, indexes };
      for (const row of all(table, "key")) {
        const { key, version, value } = row as { key: string; version: number; value: string };
        if (!isClock(name, key)) yield { kind: "document", name, key, version, value };
      }
    } else if (table.startsWith("queue:")) {
      for (const row of all(table, "id")) yield itemOf(name, row as ItemRow, steady());
    } else if (table.startsWith("seen:")) {
      for (const row of all(table, "key")) {
        const { key, at } = row as { key: string; at: number };
        yield { kind: "seen", name, key, ageMs: steady() - at };
      }
    } else if (table.startsWith("journal:")) {
      const last = (database.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").pluck().get(table) as number | undefined) ?? 0;
      yield { kind: "journal", name, last };
      for (const row of all(table, "seq")) yield { kind: "entry", name, ...(row as { seq: number; at: number; value: string }) };
    }
  }
}

function itemOf(name: string, { item, line, due, leased, attempt, again, value }: ItemRow, now: number): StoreRecord {
  return {
    kind: "item",
    name,
    id: item,
    ...(line === null ? {} : { group: line }),
    dueInMs: Math.max(0, due - now),
    leased: leased === 1,
    redelivered: again === 1,
    attempt,
    value,
  };
}

/**
 * Stores what another store gave: all of it or nothing, also where the process is killed. Over a handle of its own, so that what the store
 * writes by itself waits for the end of that one transaction. Throws `SVC_STORE_CONFLICT` where the database has state already.
 */
export async function restoreRecords(file: string, records: AsyncIterable<StoreRecord>, steady: () => number): Promise<void> {
  const database = openDatabase(file);
  try {
    database.exec("BEGIN IMMEDIATE");
    for await (const record of storedRecords(database, steady)) {
      if (record.kind !== "collection") throw fail("SVC_STORE_CONFLICT", { collection: record.name, key: "any" });
    }
    const store = storing(database, steady);
    for await (const record of records) store(record);
    database.exec("COMMIT");
  } finally {
    // Without the commit nothing of it stays.
    database.close();
  }
}

/** Returns the function that stores one record after the other. */
function storing(database: Database, steady: () => number): (record: StoreRecord) => unknown {
  const made = new Set<string>();
  const inserts = new Map<string, (record: StoreRecord & { readonly kind: "document" }) => void>();
  const make = (table: string, create: () => { create(): void }) => {
    if (!made.has(table)) create().create();
    made.add(table);
  };
  return (record) => {
    const { name } = record;
    switch (record.kind) {
      case "collection":
        inserts.set(name, documentInsert(database, name, record.indexes));
        return;
      case "document":
        inserts.get(name)?.(record);
        return;
      case "item":
        make(`queue:${name}`, () => new QueueTable(database, name, steady));
        return insertItem(database, record, steady());
      case "seen":
        make(`queue:${name}`, () => new QueueTable(database, name, steady));
        return database.prepare(`INSERT INTO "seen:${name}" (key, at) VALUES (?, ?)`).run(record.key, steady() - record.ageMs);
      case "journal":
        make(`journal:${name}`, () => new JournalTable(database, name, Date.now));
        if (record.last > 0) database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(`journal:${name}`, record.last);
        return;
      default:
        return database.prepare(`INSERT INTO "journal:${name}" (seq, at, value) VALUES (?, ?, ?)`).run(record.seq, record.at, record.value);
    }
  };
}

/** Makes the collection, and the way to store a document of it with the version that it had. */
function documentInsert(database: Database, name: string, indexes: readonly string[]) {
  const table = new DocumentTable(database, name);
  table.declare(indexes);
  table.create();
  const columns = indexes.map((field) => `, ":${field}"`).join("");
  const insert = database.prepare(`INSERT INTO "documents:${name}" (value${columns}, key, version) VALUES (${"?, ".repeat(indexes.length + 2)}?)`);
  return ({ key, version, value }: StoreRecord & { readonly kind: "document" }): void => {
    const [, ...fields] = table.bind({ op: "put", collection: name, key, value: JSON.parse(value) });
    insert.run(value, ...fields, version);
  };
}

function insertItem(
  database: Database,
  { name, id, group, dueInMs, leased, redelivered, attempt, value }: StoreRecord & { readonly kind: "item" },
  now: number,
): void {
  const table = `"queue:${name}"`;
  const line = group ?? null;
  const head = line === null || database.prepare(`SELECT 1 FROM ${table} WHERE line = ? LIMIT 1`).get(line) === undefined ? 1 : 0;
  database
    .prepare(`INSERT INTO ${table} (item, line, head, due, since, leased, attempt, again, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(id, line, head, dueInMs > 0 ? now + dueInMs : 0, now, leased ? 1 : 0, attempt, redelivered ? 1 : 0, value);
}
