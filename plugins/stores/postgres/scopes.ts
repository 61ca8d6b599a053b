import type { Collection, Journal, Op, StoreScope } from "@svc/sdk";
import { Documents } from "./documents.ts";
import { fail } from "./errors.ts";
import { queueWrites, storedQueue } from "./queues.ts";
import type { Server } from "./server.ts";
import { serverFailure, storeError } from "./server-error.ts";
import { checkedName, jsonText, rowLimit } from "./text.ts";
import type { LateWrite } from "./write.ts";
import type { Writer } from "./writer.ts";

/** For how long a read is tried again on other connections, and how often. */
const READ_AGAIN_MS = 2_000;
const READ_PAUSE_MS = 50;

/** Dependencies shared by the scopes of all owners. */
export interface ScopeDeps {
  readonly server: Server;
  readonly writer: Writer;
  /** Milliseconds by which pauses and leases are counted; undefined: the server's clock. */
  readonly steady: () => number | undefined;
  readonly lease: NonNullable<StoreScope["lease"]>;
  readonly closed: () => boolean;
  /** So many documents were pruned. */
  readonly pruned: (documents: number) => void;
}

/** The parts of all owners. */
export interface Scopes {
  scope(owner: string): Required<StoreScope>;
  /** An operation of an owner as the server takes it. */
  late(owner: string, op: Op): LateWrite;
}

/** Makes the part of an owner, such as `core` or a plugin's id: its name `sessions` is `<owner>/sessions` in the schema. */
export function createScopes({ server, writer, steady, lease, closed, pruned }: ScopeDeps): Scopes {
  const known = new Map<string, Documents>();

  function documents(name: string): Documents {
    const found = known.get(name) ?? new Documents(server, writer, checkedName(name));
    known.set(name, found);
    return found;
  }

  /** Errors of the server as the store's own. */
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    const since = performance.now();
    for (;;) {
      if (closed()) throw fail("SVC_STORE_CLOSED");
      try {
        return await read();
      } catch (error) {
        // A connection that broke says nothing of the server: another one is there in a moment.
        if (serverFailure(error) !== "away" || performance.now() - since > READ_AGAIN_MS) throw storeError(error, server.database);
        await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS));
      }
    }
  }

  function late(inside: string, op: Op): LateWrite {
    switch (op.op) {
      case "put":
        return documents(inside + op.collection).put(op.key, op.value, op.expect);
      case "delete":
        return documents(inside + op.collection).delete(op.key, op.expect);
      case "push":
        return queueWrites.push(checkedName(inside + op.queue), op.id, op.value, op.options);
      case "complete":
        return queueWrites.complete(checkedName(inside + op.queue), op.id, op.attempt);
      case "release":
        return queueWrites.release(checkedName(inside + op.queue), op.id, op.delayMs, op.value, op.attempt);
      case "append": {
        const name = checkedName(inside + op.journal);
        return { o: "append", j: name, v: jsonText(op.value, name, "entry") };
      }
    }
  }

  // Async, so that invalid values reject instead of throwing.
  const commit = async (inside: string, ops: readonly Op[]) => void (await writer.write(ops.map((op) => late(inside, op))));

  function collection<T>(name: string, indexes: readonly string[]): Collection<T> {
    const table = documents(name);
    table.declare(indexes);
    return {
      get: (key) => reading(() => table.get<T>(key)),
      list: (query = {}) => reading(() => table.list<T>(query)),
      count: (query = {}) => reading(() => table.count(query)),
      put: async (key, value, expect) => (await writer.write([table.put(key, value, expect)])) as number,
      delete: async (key, expect) => void (await writer.write([table.delete(key, expect)])),
    };
  }

  function journal<T>(name: string): Journal<T> {
    const entries = async (rest: string, values: readonly unknown[]) => {
      const sql = `SELECT seq::float8 AS seq, at::float8 AS at, value FROM {s}.entry WHERE journal = $1 ${rest}`;
      const rows = await reading(() => server.query<{ seq: number; at: number; value: string }>(sql, [name, ...values]));
      return rows.map(({ seq, at, value }) => ({ seq, at, value: JSON.parse(value) as T }));
    };
    return {
      append: async (value) => (await writer.write([{ o: "append", j: name, v: jsonText(value, name, "entry") }])) as number,
      read: (after, limit) => entries("AND seq > $2 ORDER BY seq LIMIT $3", [after, rowLimit(limit)]),
      tail: async (limit) => (await entries("ORDER BY seq DESC LIMIT $2", [rowLimit(limit)])).reverse(),
      trim: async (keep) => void (await writer.write([{ o: "trim", j: name, keep }])),
    };
  }

  const scope = (owner: string): Required<StoreScope> => {
    const inside = `${checkedName(owner)}/`;
    return {
      shared: true,
      collection: (name, { indexes = [] } = {}) => collection(inside + name, indexes),
      queue<T>(name: string) {
        const own = storedQueue<T>(server, writer, checkedName(inside + name), steady);
        return {
          ...own,
          nextDue: () => reading(own.nextDue),
          size: (group) => reading(() => own.size(group)),
          list: (limit) => reading(() => own.list(limit)),
        };
      },
      journal: (name) => journal(checkedName(inside + name)),
      commit: (ops) => commit(inside, ops),
      // A start that a crash of the server forgets would be run once more by another daemon without being counted.
      note: (ops) => commit(inside, ops),
      lease: (name, ms) => lease(`${inside}${name}`, ms),
      scan: (name, query) => reading(() => documents(inside + name).scan(query)),
      scanKeys: (name, query) => reading(() => documents(inside + name).scanKeys(query)),
      async prune(name, prune) {
        const gone = (await writer.write([documents(inside + name).prune(prune)])) as number;
        pruned(gone);
        return gone;
      },
      keyBefore: (name, count) => reading(() => documents(inside + name).keyBefore(count)),
      fill: (name, rows) => reading(() => documents(inside + name).fill(rows)),
    };
  };
  return { scope, late: (owner, op) => late(`${checkedName(owner)}/`, op) };
}
