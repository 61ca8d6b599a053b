import type { Claimed, PushOptions } from "@svc/sdk";
import type { Database, Statement } from "better-sqlite3";
import { fail } from "./errors.ts";
import { type Bound, jsonText, rowLimit, type Table, type Write } from "./table.ts";

interface Row {
  readonly id: number;
  readonly item: string;
  readonly line: string | null;
  readonly due: number;
  readonly since: number;
  readonly leased: number;
  readonly attempt: number;
  readonly again: number;
  readonly value: string;
}

const DAY = 86_400_000;
/** Retention of a dedup key. */
const REMEMBERED = 7 * DAY;
const PRUNE_EVERY = 60_000;
const PRUNE_ROWS = 1000;

/**
 * A queue: a row an item, the row id giving the order. `head` marks items that no earlier one of their group blocks, so that a claim reads heads
 * only. `due` is the time from which it may be claimed, at the end of a delay or of a lease; 0 is at once. `since` is the time at which `due` was
 * set: if it lies in the future, the delay counts as over. Times are the store's steady ones, which do not follow a clock that is set.
 */
export class QueueTable implements Table {
  readonly name: string;
  created: boolean;
  readonly #database: Database;
  readonly #now: () => number;
  readonly #table: string;
  readonly #seen: string;
  #prunedAt = 0;
  #prepared: Statements | undefined;

  constructor(database: Database, name: string, now: () => number) {
    this.name = name;
    this.#database = database;
    this.#now = now;
    this.#table = `"queue:${name}"`;
    this.#seen = `"seen:${name}"`;
    this.created = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(`queue:${name}`) !== undefined;
  }

  create(): void {
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS ${this.#table} (
        id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, line TEXT, head INTEGER NOT NULL, due INTEGER NOT NULL, since INTEGER NOT NULL,
        leased INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0, again INTEGER NOT NULL DEFAULT 0, value TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS "queue:${this.name}:line" ON ${this.#table} (line, id) WHERE line IS NOT NULL;
      CREATE INDEX IF NOT EXISTS "queue:${this.name}:head" ON ${this.#table} (id, due, since, leased) WHERE head = 1;
      CREATE TABLE IF NOT EXISTS ${this.#seen} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, at INTEGER NOT NULL)`);
  }

  bind(write: Write): readonly Bound[] {
    if (write.op !== "push" && write.op !== "offer" && write.op !== "release") return [];
    return write.op === "release" && write.value === undefined ? [null] : [jsonText(write.value, this.name, write.id)];
  }

  apply(write: Write, bound: readonly Bound[]): unknown {
    switch (write.op) {
      case "push":
      case "offer":
        if (this.#push(write.id, bound[0] as string, write.options)) return write.id;
        if (write.op === "offer") return undefined;
        throw this.#conflict(write.options.dedupKey ?? write.id);
      case "complete":
        return this.#complete(write.id, write.attempt);
      case "claim":
        return this.#claim(write.limit, write.leaseMs);
      case "release":
        return this.#release(write.id, write.delayMs, bound[0] ?? null, write.attempt);
      case "extend": {
        const now = this.#now();
        return this.#statements.extend.run(now + write.leaseMs, now, write.id, write.attempt).changes === 1;
      }
      case "reclaim":
        this.#statements.reclaim.run();
        return undefined;
      default:
        return undefined;
    }
  }

  nextDue(): number | undefined {
    const now = this.#now();
    const { n, due } = this.#statements.next.get(now) as { n: number; due: number | null };
    return n === 0 ? undefined : Math.max(0, (due ?? now) - now);
  }

  size(group?: string): number {
    const found = group === undefined ? this.#statements.size.get() : this.#statements.sizeOf.get(group);
    return (found as { n: number }).n;
  }

  list<T>(limit?: number): readonly (Claimed<T> & { readonly dueAt: number; readonly group?: string })[] {
    return (this.#statements.list.all(rowLimit(limit)) as Row[]).map((row) => ({
      id: row.item,
      value: JSON.parse(row.value),
      attempt: row.attempt,
      redelivered: row.again === 1,
      dueAt: row.due === 0 ? row.since : row.due,
      ...(row.line === null ? {} : { group: row.line }),
    }));
  }

  /** False when the dedup key was seen before. */
  #push(item: string, text: string, { group, delayMs = 0, dedupKey }: PushOptions): boolean {
    const now = this.#now();
    if (dedupKey !== undefined && !this.#remember(dedupKey, now)) return false;
    const line = group ?? null;
    const head = line !== null && this.#statements.busy.get(line) !== undefined ? 0 : 1;
    const { changes } = this.#statements.push.run(item, line, head, delayMs > 0 ? now + delayMs : 0, now, text);
    if (changes === 0) throw this.#conflict(item);
    return true;
  }

  #remember(key: string, now: number): boolean {
    if (now - this.#prunedAt > PRUNE_EVERY) {
      this.#prunedAt = now;
      this.#statements.prune.run(now - REMEMBERED);
    }
    if (this.#statements.remember.run(key, now).changes === 1) return true;
    const forgotten = this.#statements.forget.run(key, now - REMEMBERED).changes === 1;
    return forgotten && this.#statements.remember.run(key, now).changes === 1;
  }

  #complete(item: string, attempt: number | undefined): void {
    const { complete, completeLeased } = this.#statements;
    const row = (attempt === undefined ? complete.get(item) : completeLeased.get(item, attempt)) as { line: string | null } | undefined;
    if (row === undefined && attempt !== undefined) throw this.#conflict(item);
    if (row !== undefined && row.line !== null) this.#statements.promote.run(row.line);
  }

  #release(item: string, delayMs: number, text: Bound, attempt: number | undefined): void {
    const now = this.#now();
    const due = delayMs > 0 ? now + delayMs : 0;
    const { release, releaseLeased } = this.#statements;
    if (attempt === undefined) release.run(due, now, text, item);
    else if (releaseLeased.run(due, now, text, item, attempt).changes === 0) throw this.#conflict(item);
  }

  #claim(limit: number, leaseMs: number): readonly Claimed<unknown>[] {
    const now = this.#now();
    const rows = this.#statements.due.all(now, now, rowLimit(limit)) as Row[];
    for (const row of rows) this.#statements.lease.run(now + leaseMs, now, row.leased, row.id);
    return rows.map((row) => ({ id: row.item, value: JSON.parse(row.value), attempt: row.attempt + 1, redelivered: row.leased === 1 }));
  }

  #conflict(key: string) {
    return fail("SVC_STORE_CONFLICT", { collection: this.name, key });
  }

  get #statements(): Statements {
    this.#prepared ??= prepareStatements(this.#database, this.#table, this.#seen);
    return this.#prepared;
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: Database, table: string, seen: string) {
  const prepare = (sql: string): Statement<Bound[]> => database.prepare<Bound[]>(sql);
  return {
    push: prepare(`INSERT INTO ${table} (item, line, head, due, since, value) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (item) DO NOTHING`),
    busy: prepare(`SELECT 1 FROM ${table} WHERE line = ? LIMIT 1`),
    complete: prepare(`DELETE FROM ${table} WHERE item = ? RETURNING line`),
    completeLeased: prepare(`DELETE FROM ${table} WHERE item = ? AND attempt = ? AND leased = 1 RETURNING line`),
    promote: prepare(`UPDATE ${table} SET head = 1 WHERE id = (SELECT min(id) FROM ${table} WHERE line = ?)`),
    due: prepare(`SELECT * FROM ${table} WHERE head = 1 AND (due <= ? OR (leased = 0 AND since > ?)) ORDER BY id LIMIT ?`),
    lease: prepare(`UPDATE ${table} SET due = ?, since = ?, again = ?, leased = 1, attempt = attempt + 1 WHERE id = ?`),
    release: prepare(`UPDATE ${table} SET due = ?, since = ?, leased = 0, value = coalesce(?, value) WHERE item = ?`),
    releaseLeased: prepare(`UPDATE ${table} SET due = ?, since = ?, leased = 0, value = coalesce(?, value) WHERE item = ? AND attempt = ? AND leased = 1`),
    extend: prepare(`UPDATE ${table} SET due = ?, since = ? WHERE item = ? AND attempt = ? AND leased = 1`),
    next: prepare(`SELECT count(*) AS n, min(iif(leased = 0 AND since > ?, 0, due)) AS due FROM ${table} WHERE head = 1`),
    reclaim: prepare(`UPDATE ${table} SET due = 0 WHERE leased = 1`),
    size: prepare(`SELECT count(*) AS n FROM ${table}`),
    sizeOf: prepare(`SELECT count(*) AS n FROM ${table} WHERE line = ?`),
    list: prepare(`SELECT * FROM ${table} ORDER BY id LIMIT ?`),
    remember: prepare(`INSERT INTO ${seen} (key, at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`),
    forget: prepare(`DELETE FROM ${seen} WHERE key = ? AND at < ?`),
    prune: prepare(`DELETE FROM ${seen} WHERE id IN (SELECT id FROM ${seen} ORDER BY id LIMIT ${PRUNE_ROWS}) AND at < ?`),
  };
}
