import { randomUUID } from "node:crypto";
import {
  append,
  type Claimed,
  type Collection,
  complete,
  type Journal,
  type Log,
  type Op,
  type Query,
  remove,
  type StoredQueue,
  type StoreScope,
} from "@svc/sdk";
import type { Connection } from "./connection.ts";
import { DocumentTable } from "./document-table.ts";
import { JournalTable } from "./journal-table.ts";
import { QueueTable } from "./queue-table.ts";
import { type BoundWrite, checkedName, type Table, type Write } from "./table.ts";

/** One owner's part of a database, of which nothing is left out. Who uses it alone needs no leases. */
export type DatabaseScope = Required<Omit<StoreScope, "lease" | "shared">>;

/** Every owner's part of one database. */
export interface Scopes {
  /** The part of one owner, such as `core` or a plugin's id: its name `sessions` is `<owner>/sessions` in the database. */
  scope(owner: string): DatabaseScope;
  /** As `Store.commit`, of names that begin with `prefix` in the database; `noted` as `StoreScope.note`. */
  commit(prefix: string, ops: readonly Op[], noted?: boolean): Promise<void>;
  /** Ends every lease; the items are handed out again as `redelivered`. */
  reclaim(): Promise<void>;
}

/** Collections, queues and journals of one owner above which that is warned of: each is tables and indexes. */
const MANY_NAMES = 100;

/** The parts of the owners over `connection`. Queues count by `steady`, journals tell the time of `now`; both in milliseconds. */
export function createScopes(connection: Connection, steady: () => number, now: () => number, log?: Pick<Log, "warn">): Scopes {
  const { database } = connection;
  const documents = new Map<string, DocumentTable>();
  const queues = new Map<string, QueueTable>();
  const journals = new Map<string, JournalTable>();

  const documentTable = (name: string) => tableOf(documents, name, () => new DocumentTable(database, name));
  const queueTable = (name: string) => tableOf(queues, name, () => new QueueTable(database, name, steady));
  const journalTable = (name: string) => tableOf(journals, name, () => new JournalTable(database, name, now));

  function tableOf<T extends Table>(known: Map<string, T>, name: string, make: () => T): T {
    let table = known.get(name);
    if (table === undefined) {
      checkedName(name);
      table = make();
      known.set(name, table);
      if (!table.created) countName(name.slice(0, name.indexOf("/")));
    }
    connection.declare(table);
    return table;
  }

  /** Number of names of each owner that created one. */
  const names = new Map<string, number>();

  function countName(owner: string): void {
    const count = (names.get(owner) ?? namesOf(owner)) + 1;
    const warned = names.has(owner) && count > MANY_NAMES + 1;
    names.set(owner, count);
    if (count <= MANY_NAMES || warned) return;
    log?.warn(
      { owner, names: count },
      `${owner} keeps ${count} collections, queues and journals, each with tables of its own: it should keep one, with keys such as <run>/<000001> (see 'State' in the README of @svc/sdk)`,
    );
  }

  function namesOf(owner: string): number {
    const stored = database.prepare(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND substr(name, instr(name, ':') + 1, ?) = ? AND name NOT LIKE 'seen:%'",
    );
    return stored.pluck().get(owner.length + 1, `${owner}/`) as number;
  }

  function bound(table: Table, write: Write): BoundWrite {
    return { table, write, bound: table.bind(write) };
  }

  /** `T` is what the table's `apply` answers to that operation. */
  function write<T = void>(table: Table, operation: Write, noted = false): Promise<T> {
    return attempt(() => connection.write([bound(table, operation)], noted));
  }

  function commit(prefix: string, ops: readonly Op[], noted = false): Promise<void> {
    return attempt(() =>
      connection.write(
        ops.map((op) => {
          if ("collection" in op) return bound(documentTable(prefix + op.collection), op);
          return bound("queue" in op ? queueTable(prefix + op.queue) : journalTable(prefix + op.journal), op);
        }),
        noted,
      ),
    );
  }

  function collection<T>(name: string, indexes: readonly string[]): Collection<T> {
    const table = documentTable(name);
    table.declare(indexes);
    connection.declare(table);
    return {
      get: (key) => connection.read(table, () => table.get<T>(key)),
      list: (query: Query = {}) => connection.read(table, () => table.list<T>(query)),
      count: (query = {}) => connection.read(table, () => table.count(query)),
      put: (key, value, expect) => write<number>(table, { op: "set", collection: name, key, value, expect }),
      delete: (key, expect) => write(table, remove(name, key, expect)),
    };
  }

  function queue<T>(name: string): StoredQueue<T> {
    const table = queueTable(name);
    return {
      push: (value, options = {}) => write<string | undefined>(table, { op: "offer", queue: name, id: options.id ?? randomUUID(), value, options }),
      claim: (limit, leaseMs) => write<readonly Claimed<T>[]>(table, { op: "claim", queue: name, limit, leaseMs }),
      complete: (id) => write(table, complete(name, id)),
      release: (id, delayMs, value) => write(table, { op: "release", queue: name, id, delayMs, value }),
      // As the lease itself, it need not outlive a power cut.
      extend: (id, attempt, leaseMs) => write<boolean>(table, { op: "extend", queue: name, id, attempt, leaseMs }, true),
      nextDue: () => connection.read(table, () => table.nextDue()),
      size: (group) => connection.read(table, () => table.size(group)),
      list: (limit) => connection.read(table, () => table.list<T>(limit)),
    };
  }

  function journal<T>(name: string): Journal<T> {
    const table = journalTable(name);
    return {
      append: (value) => write<number>(table, append(name, value)),
      read: (after, limit) => connection.read(table, () => table.read<T>(after, limit)),
      tail: (limit) => connection.read(table, () => table.tail<T>(limit)),
      trim: (keep) => write(table, { op: "trim", journal: name, keep }),
    };
  }

  function scope(owner: string): DatabaseScope {
    const inside = `${checkedName(owner)}/`;
    return {
      collection: (name, options = {}) => collection(inside + name, options.indexes ?? []),
      queue: (name) => queue(inside + name),
      journal: (name) => journal(inside + name),
      commit: (ops) => commit(inside, ops),
      note: (ops) => commit(inside, ops, true),
      scan: (name, query) => {
        const table = documentTable(inside + name);
        return connection.read(table, () => table.scan(query));
      },
      scanKeys: (name, query) => {
        const table = documentTable(inside + name);
        return connection.read(table, () => table.scanKeys(query));
      },
      prune: (name, prune) => write<number>(documentTable(inside + name), { op: "prune", collection: inside + name, ...prune }),
      keyBefore: (name, count) => {
        const table = documentTable(inside + name);
        return connection.read(table, () => table.keyBefore(count));
      },
      fill: (name, rows) => write<number>(documentTable(inside + name), { op: "fill", collection: inside + name, rows }),
    };
  }

  return {
    scope,
    commit,
    async reclaim() {
      const names = database.prepare("SELECT substr(name, 7) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'queue:%'").pluck().all() as string[];
      await connection.write(names.map((name) => bound(queueTable(name), { op: "reclaim", queue: name })));
    },
  };
}

/** Makes invalid values reject, too. No async function: each one costs two more promises, at every write. */
function attempt<T>(work: () => Promise<unknown>): Promise<T> {
  try {
    return work() as Promise<T>;
  } catch (error) {
    return Promise.reject(error);
  }
}
