import type { Database, Statement } from "better-sqlite3";
import { type Bound, jsonText, rowLimit, type Table, type Write } from "./table.ts";

/** An entry of a journal; `at` in Unix milliseconds. */
export interface JournalEntry<T> {
  readonly seq: number;
  readonly at: number;
  readonly value: T;
}

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly value: string;
}

/** A journal: a row an entry. A sequence number is never given twice, also after everything was trimmed. */
export class JournalTable implements Table {
  readonly name: string;
  created: boolean;
  readonly #database: Database;
  readonly #now: () => number;
  readonly #table: string;
  #prepared: Statements | undefined;

  constructor(database: Database, name: string, now: () => number) {
    this.name = name;
    this.#database = database;
    this.#now = now;
    this.#table = `"journal:${name}"`;
    this.created = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(`journal:${name}`) !== undefined;
  }

  create(): void {
    this.#database.exec(`CREATE TABLE IF NOT EXISTS ${this.#table} (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, value TEXT NOT NULL)`);
  }

  bind(write: Write): readonly Bound[] {
    return write.op === "append" ? [jsonText(write.value, this.name, "entry")] : [];
  }

  apply(write: Write, bound: readonly Bound[]): number | undefined {
    if (write.op === "append") return Number(this.#statements.append.run(this.#now(), bound[0] as string).lastInsertRowid);
    if (write.op === "trim") this.#statements.trim.run(write.keep);
    return undefined;
  }

  read<T>(after: number, limit?: number): readonly JournalEntry<T>[] {
    return (this.#statements.read.all(after, rowLimit(limit)) as Row[]).map((row) => entry<T>(row));
  }

  tail<T>(limit: number): readonly JournalEntry<T>[] {
    return (this.#statements.tail.all(rowLimit(limit)) as Row[]).reverse().map((row) => entry<T>(row));
  }

  get #statements(): Statements {
    this.#prepared ??= prepareStatements(this.#database, this.#table);
    return this.#prepared;
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: Database, table: string) {
  const prepare = (sql: string): Statement<Bound[]> => database.prepare<Bound[]>(sql);
  return {
    append: prepare(`INSERT INTO ${table} (at, value) VALUES (?, ?)`),
    read: prepare(`SELECT * FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ?`),
    tail: prepare(`SELECT * FROM ${table} ORDER BY seq DESC LIMIT ?`),
    trim: prepare(`DELETE FROM ${table} WHERE seq <= (SELECT seq FROM ${table} ORDER BY seq DESC LIMIT 1 OFFSET ?)`),
  };
}

function entry<T>(row: Row): JournalEntry<T> {
  return { seq: row.seq, at: row.at, value: JSON.parse(row.value) };
}
