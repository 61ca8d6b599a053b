import type { Doc, Query, StorePrune, StoreScan, StoreScanned, StoreScannedKeys } from "@svc/sdk";
import type { Database, Statement } from "better-sqlite3";
import { fail } from "./errors.ts";
import { type Bound, jsonText, rowLimit, type Table, type Write } from "./table.ts";

interface Row {
  readonly key: string;
  readonly version: number;
  readonly value: string;
}

const FIELD = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/;
/** Entries of an index that one step of a scan looks at: some milliseconds, also where each document must be fetched for it. */
const LOOK = 2_000;
/** Bytes of documents after which one step of pruning takes no more: each page of a long one is read and freed. */
const PRUNED_BYTES = 1_048_576;

/**
 * A collection: one table of key, version and JSON text, with a column for each declared index. The column comes before the text
 * and each index holds all of them, so that a filtered page reads the documents it returns and no others. A field with dots is a path
 * into the documents, which only the kernel declares: its index is not filled at once for documents that are there already, but by `fill`,
 * step by step; those without the field then count as having an empty text.
 */
export class DocumentTable implements Table {
  readonly name: string;
  created: boolean;
  /** Indexed fields, in the order their values are bound. */
  readonly #fields: string[];
  /** Path fields whose index may lack documents. */
  readonly #unfilled = new Set<string>();
  readonly #database: Database;
  readonly #table: string;
  readonly #statements = new Map<string, Statement<Bound[]>>();

  constructor(database: Database, name: string) {
    this.name = name;
    this.#database = database;
    this.#table = `"documents:${name}"`;
    this.#fields = [...this.#storedFields()];
    for (const field of this.#fields) if (isPath(field)) this.#unfilled.add(field);
    this.created = this.#stored();
  }

  /** Adds indexed fields. Throws `SVC_STORE_NAME` for a text that names no field, or that differs from another by case alone. */
  declare(fields: readonly string[]): void {
    for (const field of fields) {
      if (this.#fields.includes(field)) continue;
      const taken = this.#fields.some((other) => other.toLowerCase() === field.toLowerCase());
      if (taken || !FIELD.test(field)) throw fail("SVC_STORE_NAME", { name: `${this.name}.${field}` });
      this.#fields.push(field);
      if (isPath(field)) this.#unfilled.add(field);
      this.created = false;
      this.#statements.clear();
    }
  }

  create(): void {
    if (!this.#stored()) {
      const columns = this.#fields.map((field) => `${column(field)}, `).join("");
      this.#database.exec(
        `CREATE TABLE ${this.#table} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, ${columns}value TEXT NOT NULL)`,
      );
    }
    const stored = this.#storedFields();
    for (const field of this.#fields.filter((wanted) => !stored.includes(wanted))) {
      this.#database.exec(`ALTER TABLE ${this.#table} ADD COLUMN ${column(field)}`);
      if (isPath(field)) continue;
      this.#database.exec(
        `UPDATE ${this.#table} SET ${column(field)} = value ->> '$.${field}' WHERE json_type(value, '$.${field}') IN ('text', 'integer', 'real')`,
      );
    }
    for (const field of this.#fields) {
      const covered = this.#fields.filter((other) => other !== field).map((other) => `, ${column(other)}`);
      this.#database.exec(`CREATE INDEX IF NOT EXISTS ${this.#index(field)} ON ${this.#table} (${column(field)}, key${covered.join("")})`);
    }
  }

  bind(write: Write): readonly Bound[] {
    if (write.op !== "put" && write.op !== "set") return [];
    return this.#row(write.key, jsonText(write.value, this.name, write.key), write.value);
  }

  apply(write: Write, bound: readonly Bound[]): number | undefined {
    if (write.op === "set") return this.#put(write.key, bound, write.expect, true);
    if (write.op === "put") this.#put(write.key, bound, write.expect, false);
    if (write.op === "delete") this.#delete(write.key, write.expect);
    if (write.op === "prune") return this.#prune(write);
    if (write.op === "fill") return this.#fill(write.rows);
    return undefined;
  }

  get<T>(key: string): Doc<T> | undefined {
    const row = this.#prepared("SELECT key, version, value FROM $").get(key) as Row | undefined;
    return row && document<T>(row);
  }

  /** Throws `SVC_STORE_INDEX` for a field that is not declared and `SVC_STORE_CURSOR` when `after` is gone from an index. */
  list<T>(query: Query): readonly Doc<T>[] {
    const bound: Bound[] = [];
    const order = query.by === undefined ? "key" : this.#column(query.by);
    const terms = this.#terms(query, bound);
    const direction = query.reverse === true ? "DESC" : "ASC";
    if (query.after !== undefined) terms.push(this.#cursor(query.after, query.by, query.reverse === true ? "<" : ">", bound));
    const source = query.by === undefined ? this.#table : `${this.#table} INDEXED BY ${this.#index(query.by)}`;
    const where = terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`;
    const by = query.by === undefined ? `key ${direction}` : `${order} ${direction}, key ${direction}`;
    bound.push(rowLimit(query.limit));
    const rows = this.#statement(`SELECT key, version, value FROM ${source}${where} ORDER BY ${by} LIMIT ?`).all(...bound) as Row[];
    return rows.map((row) => document<T>(row));
  }

  /**
   * One step of a scan, a few milliseconds long whatever it looks for: what it found, and the key below which to go on, unless it is at
   * the end. The index with the fewest candidates leads.
   */
  scan<T>(scan: StoreScan): StoreScanned<T> {
    const { rows, below } = this.#step<Row>("key, version, value", { ...scan, limit: rowLimit(scan.limit) });
    return { docs: rows.map((row) => document<T>(row)), ...(below === undefined ? {} : { below }) };
  }

  /** The same for the keys alone: an index has all that it looks at. */
  scanKeys(scan: StoreScan): StoreScannedKeys {
    const { rows, below } = this.#step<Pick<Row, "key">>("key", { ...scan, limit: Math.max(0, Math.min(LOOK, Math.trunc(scan.limit))) });
    return { keys: rows.map(({ key }) => key), ...(below === undefined ? {} : { below }) };
  }

  #step<T extends { readonly key: string }>(columns: string, { where, below, limit }: StoreScan): { readonly rows: T[]; readonly below: string | undefined } {
    const lead = this.#lead(where, below);
    const source = lead === undefined ? this.#table : `${this.#table} INDEXED BY ${this.#index(lead)}`;
    const bound: Bound[] = [];
    const led: string[] = [];
    if (lead !== undefined) {
      led.push(`${this.#column(lead)} = ?`);
      bound.push(where[lead] as Bound);
    }
    if (below !== undefined) {
      led.push("key < ?");
      bound.push(below);
    }
    const others = Object.keys(where).filter((field) => field !== lead);
    const clause = (terms: readonly string[]) => (terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`);
    let last: string | undefined;
    const terms = [...led];
    if (others.length > 0) {
      last = this.#statement(`SELECT key FROM ${source}${clause(led)} ORDER BY key DESC LIMIT 1 OFFSET ${LOOK - 1}`)
        .pluck()
        .get(...bound) as string | undefined;
      if (last !== undefined) {
        terms.push("key >= ?");
        bound.push(last);
      }
      for (const field of others) {
        terms.push(this.#unfilled.has(field) ? `coalesce(${this.#column(field)}, ${extract(field)}) = ?` : `${this.#column(field)} = ?`);
        bound.push(where[field] as Bound);
      }
    }
    const rows = this.#statement(`SELECT ${columns} FROM ${source}${clause(terms)} ORDER BY key DESC LIMIT ?`).all(...bound, limit) as T[];
    return { rows, below: rows.length === limit ? rows.at(-1)?.key : last };
  }

  /** The key that has `count` later ones; undefined where there are fewer. */
  keyBefore(count: number): string | undefined {
    return this.#statement(`SELECT key FROM ${this.#table} ORDER BY key DESC LIMIT 1 OFFSET ?`).pluck().get(count) as string | undefined;
  }

  /** The field of `where` with the fewest candidates, counted up to a step's worth. */
  #lead(where: StoreScan["where"], below: string | undefined): string | undefined {
    const fields = Object.keys(where).filter((field) => !this.#unfilled.has(field));
    if (fields.length < 2) return fields[0];
    let best: { readonly field: string; readonly found: number } | undefined;
    for (const field of fields) {
      const bound: Bound[] = [where[field] as Bound, ...(below === undefined ? [] : [below])];
      const from = `${this.#table} INDEXED BY ${this.#index(field)} WHERE ${this.#column(field)} = ?${below === undefined ? "" : " AND key < ?"}`;
      const found = this.#statement(`SELECT count(*) FROM (SELECT 1 FROM ${from} LIMIT ${LOOK})`)
        .pluck()
        .get(...bound) as number;
      if (best === undefined || found < best.found) best = { field, found };
    }
    return best?.field;
  }

  #prune({ from, below, spare, rows }: StorePrune): number {
    const bound: Bound[] = [spare.value];
    const terms = [`${this.#column(spare.field)} IS NOT ?`];
    if (from !== undefined) terms.push("key >= ?") && bound.push(from);
    if (below !== undefined) terms.push("key < ?") && bound.push(below);
    const first = `SELECT id, key, octet_length(value) AS size FROM ${this.#table} WHERE ${terms.join(" AND ")} ORDER BY key LIMIT ?`;
    const few = `SELECT id, sum(size) OVER (ORDER BY key) - size AS before FROM (${first})`;
    return this.#statement(`DELETE FROM ${this.#table} WHERE id IN (SELECT id FROM (${few}) WHERE before < ${PRUNED_BYTES})`).run(...bound, rows).changes;
  }

  #fill(rows: number): number {
    for (const field of this.#unfilled) {
      const empty = `SELECT id FROM ${this.#table} INDEXED BY ${this.#index(field)} WHERE ${column(field)} IS NULL LIMIT ?`;
      const sql = `UPDATE ${this.#table} SET ${column(field)} = coalesce(${extract(field)}, '') WHERE id IN (${empty})`;
      const { changes } = this.#statement(sql).run(rows);
      if (changes > 0) return changes;
      this.#unfilled.delete(field);
    }
    return 0;
  }

  count(query: Pick<Query, "where" | "by" | "from" | "to">): number {
    const bound: Bound[] = [];
    const terms = this.#terms(query, bound);
    const where = terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`;
    return (this.#statement(`SELECT count(*) AS n FROM ${this.#table}${where}`).get(...bound) as { n: number }).n;
  }

  /** Answers with the version when it is known, or asked for: SQLite takes half as long again to tell it. */
  #put(key: string, bound: readonly Bound[], expect: number | "absent" | undefined, asked: boolean): number | undefined {
    // Indexes may have been declared between the call and its transaction.
    const row = bound.length === this.#fields.length + 2 ? bound : this.#row(key, bound[0] as string, JSON.parse(bound[0] as string));
    if (expect === undefined && asked) return (this.#prepared("UPSERT RETURNING").get(...row) as { version: number }).version;
    if (expect === undefined) {
      this.#prepared("UPSERT").run(...row);
      return undefined;
    }
    const changed = expect === "absent" ? this.#prepared("INSERT").run(...row).changes : this.#prepared("UPDATE").run(...row, expect).changes;
    if (changed === 0) throw this.#conflict(key);
    return expect === "absent" ? 1 : expect + 1;
  }

  #delete(key: string, expect: number | "absent" | undefined): void {
    if (expect === undefined) {
      this.#prepared("DELETE FROM $").run(key);
    } else if (expect === "absent") {
      if (this.#prepared("SELECT key, version, value FROM $").get(key) !== undefined) throw this.#conflict(key);
    } else if (this.#statement(`DELETE FROM ${this.#table} WHERE key = ? AND version = ?`).run(key, expect).changes === 0) {
      throw this.#conflict(key);
    }
  }

  /** Text, fields, key: the order in which an insert and an update both name them. */
  #row(key: string, text: string, value: unknown): Bound[] {
    const row: Bound[] = [text];
    for (const field of this.#fields) {
      const found = isPath(field) ? atPath(value, field) : (value as Record<string, unknown> | null)?.[field];
      row.push(typeof found === "string" || typeof found === "number" ? found : isPath(field) ? "" : null);
    }
    row.push(key);
    return row;
  }

  #terms(query: Pick<Query, "where" | "by" | "from" | "to">, bound: Bound[]): string[] {
    const terms: string[] = [];
    for (const [field, value] of Object.entries(query.where ?? {})) {
      terms.push(`${this.#column(field)} IS ?`);
      bound.push(value);
    }
    const order = query.by === undefined ? "key" : this.#column(query.by);
    if (query.by !== undefined) terms.push(`${order} IS NOT NULL`);
    if (query.from !== undefined) {
      terms.push(`${order} >= ?`);
      bound.push(query.from);
    }
    if (query.to !== undefined) {
      terms.push(`${order} < ?`);
      bound.push(query.to);
    }
    return terms;
  }

  #cursor(after: string, by: string | undefined, comparison: "<" | ">", bound: Bound[]): string {
    if (by === undefined) {
      bound.push(after);
      return `key ${comparison} ?`;
    }
    const order = this.#column(by);
    const last = this.#statement(`SELECT ${order} AS at FROM ${this.#table} WHERE key = ?`).get(after) as { at: Bound } | undefined;
    if (last === undefined || last.at === null) throw fail("SVC_STORE_CURSOR", { collection: this.name, key: after });
    bound.push(last.at, after);
    return `(${order}, key) ${comparison} (?, ?)`;
  }

  #column(field: string): string {
    if (!this.#fields.includes(field)) throw fail("SVC_STORE_INDEX", { collection: this.name, field });
    return column(field);
  }

  #index(field: string): string {
    return `"documents:${this.name}:${field}"`;
  }

  #stored(): boolean {
    return this.#database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(`documents:${this.name}`) !== undefined;
  }

  #storedFields(): string[] {
    const columns = this.#database.pragma(`table_info(${this.#table})`) as { name: string }[];
    return columns.filter(({ name }) => name.startsWith(":")).map(({ name }) => name.slice(1));
  }

  #conflict(key: string) {
    return fail("SVC_STORE_CONFLICT", { collection: this.name, key });
  }

  /** The statements of the hot path, by a short name. */
  #prepared(name: "SELECT key, version, value FROM $" | "DELETE FROM $" | "INSERT" | "UPDATE" | "UPSERT" | "UPSERT RETURNING"): Statement<Bound[]> {
    return this.#statements.get(name) ?? this.#prepare(name, this.#hotSql(name));
  }

  #hotSql(name: string): string {
    const columns = this.#fields.map((field) => `, ${column(field)}`).join("");
    const marks = "?, ".repeat(this.#fields.length + 2);
    const insert = `INSERT INTO ${this.#table} (value${columns}, key, version) VALUES (${marks}1) ON CONFLICT (key)`;
    const assign = (from: (field: string) => string) => this.#fields.map((field) => `, ${column(field)} = ${from(field)}`).join("");
    switch (name) {
      case "INSERT":
        return `${insert} DO NOTHING`;
      case "UPSERT":
        return `${insert} DO UPDATE SET version = version + 1, value = excluded.value${assign((field) => `excluded.${column(field)}`)}`;
      case "UPSERT RETURNING":
        return `${this.#hotSql("UPSERT")} RETURNING version`;
      case "UPDATE":
        return `UPDATE ${this.#table} SET version = version + 1, value = ?${assign(() => "?")} WHERE key = ? AND version = ?`;
      default:
        return `${name.replace("$", this.#table)} WHERE key = ?`;
    }
  }

  #statement(sql: string): Statement<Bound[]> {
    return this.#statements.get(sql) ?? this.#prepare(sql, sql);
  }

  #prepare(name: string, sql: string): Statement<Bound[]> {
    const statement = this.#database.prepare<Bound[]>(sql);
    this.#statements.set(name, statement);
    return statement;
  }
}

const isPath = (field: string): boolean => field.includes(".");

const atPath = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, name) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[name] : undefined), value);

const extract = (field: string): string => `value ->> '$.${field}'`;

/** The colon keeps a field called `key` or `value` apart from the table's own columns. */
function column(field: string): string {
  return `":${field}"`;
}

function document<T>(row: Row): Doc<T> {
  return { key: row.key, value: JSON.parse(row.value), version: row.version };
}
