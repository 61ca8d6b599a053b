import { randomUUID } from "node:crypto";
import {
  append,
  type Claimed,
  type Collection,
  complete,
  type Journal,
  type Log,
  type Op,
  put,
  type Query,
  type Queue,
  remove,
  type StoreDriver,
  type StoreScope,
} from "@svc/sdk";
import { Connection } from "./connection.ts";
import { DocumentTable } from "./document-table.ts";
import { JournalTable } from "./journal-table.ts";
import { QueueTable } from "./queue-table.ts";
import { type ClockNote, SteadyClock } from "./steady-clock.ts";
import { checkedName, type Step, type Table, type Write } from "./table.ts";

export interface StoreOptions {
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
export interface SqliteStore extends Required<Omit<StoreDriver, "scope" | "size">> {
  scope(owner: string): Required<StoreScope>;
  size(): { readonly used: number; readonly free: number };
  /** As `Store.commit`, with full names: one transaction over several owners' state. */
  commit(ops: readonly Op[]): Promise<void>;
}

/**
 * Opens the store. Throws `SVC_STORE_CORRUPT`, `SVC_STORE_NEWER`, `SVC_STORE_BUSY`. One process writes: take `lockFolder` first.
 */
export function openStore({ file, log, now = Date.now, monotonic }: StoreOptions): SqliteStore {
  const connection = new Connection(file, log);
  const { database } = connection;
  const marks = new DocumentTable(database, MARKS);
  const clock = new SteadyClock(now, monotonic, marks.created ? marks.get<ClockNote>(CLOCK)?.value : undefined);
  const documents = new Map<string, DocumentTable>();
  const queues = new Map<string, QueueTable>();
  const journals = new Map<string, JournalTable>();

  const documentTable = (name: string) => tableOf(documents, name, () => new DocumentTable(database, name));
  const queueTable = (name: string) => tableOf(queues, name, () => new QueueTable(database, name, clock.now));
  const journalTable = (name: string) => tableOf(journals, name, () => new JournalTable(database, name, now));

  function tableOf<T extends Table>(known: Map<string, T>, name: string, make: () => T): T {
    let table = known.get(name);
    if (table === undefined) {
      checkedName(name);
      table = make();
      known.set(name, table);
    }
    connection.declare(table);
    return table;
  }

  function step(table: Table, write: Write): Step {
    return { table, write, bound: table.bind(write) };
  }

  /** `T` is what the table's `apply` answers to that operation. */
  function write<T = void>(table: Table, operation: Write): Promise<T> {
    return attempt(() => connection.write([step(table, operation)]));
  }

  function commit(prefix: string, ops: readonly Op[], noted = false): Promise<void> {
    return attempt(() =>
      connection.write(
        ops.map((op) => {
          if ("collection" in op) return step(documentTable(prefix + op.collection), op);
          return step("queue" in op ? queueTable(prefix + op.queue) : journalTable(prefix + op.journal), op);
        }),
        noted,
      ),
    );
  }

  /** Not worth a sync: without it, a restart asks the wall clock how long nothing ran. */
  function noteClock(): void {
    const note = clock.note();
    if (note !== undefined) commit("", [put(MARKS, CLOCK, note)], true).catch(() => {});
  }
  noteClock();
  const noting = setInterval(noteClock, LOOK_EVERY_MS);
  noting.unref();

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

  function queue<T>(name: string): Queue<T> {
    const table = queueTable(name);
    return {
      push: (value, options = {}) => write<string | undefined>(table, { op: "offer", queue: name, id: options.id ?? randomUUID(), value, options }),
      claim: (limit, leaseMs) => write<readonly Claimed<T>[]>(table, { op: "claim", queue: name, limit, leaseMs }),
      complete: (id) => write(table, complete(name, id)),
      release: (id, delayMs, value) => write(table, { op: "release", queue: name, id, delayMs, value }),
      size: () => connection.read(table, () => table.size()),
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

  function scope(prefix: string): Required<StoreScope> {
    const inside = `${checkedName(prefix)}/`;
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
    commit: (ops) => commit("", ops),
    async reclaim() {
      const names = database.prepare("SELECT substr(name, 7) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'queue:%'").pluck().all() as string[];
      await connection.write(names.map((name) => step(queueTable(name), { op: "reclaim", queue: name })));
    },
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

/** What is wrong with the values themselves rejects, too. No async function: each one takes two more promises, at every write. */
function attempt<T>(work: () => Promise<unknown>): Promise<T> {
  try {
    return work() as Promise<T>;
  } catch (error) {
    return Promise.reject(error);
  }
}
