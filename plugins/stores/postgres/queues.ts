import { randomUUID } from "node:crypto";
import type { Claimed, PushOptions, StoredQueue } from "@svc/sdk";
import type { Server } from "./server.ts";
import { jsonText, readText, rowLimit, storedKey } from "./text.ts";
import type { Write } from "./write.ts";
import type { Writer } from "./writer.ts";

interface Row {
  readonly id: string;
  readonly grp: string | null;
  readonly due: number;
  readonly since: number;
  readonly again: boolean;
  readonly attempt: number;
  readonly value: string;
}

/** The operations of a queue as the server takes them. */
export const queueWrites = {
  push(queue: string, id: string, value: unknown, { group, delayMs, dedupKey }: PushOptions): Write {
    return {
      o: "push",
      q: queue,
      i: storedKey(queue, id),
      v: jsonText(value, queue, id),
      ...(group === undefined ? {} : { g: storedKey(queue, group) }),
      ...(delayMs === undefined ? {} : { d: Math.ceil(delayMs) }),
      ...(dedupKey === undefined ? {} : { k: storedKey(queue, dedupKey) }),
    };
  },
  complete(queue: string, id: string, attempt?: number): Write {
    return { o: "complete", q: queue, i: storedKey(queue, id), ...(attempt === undefined ? {} : { a: attempt }) };
  },
  release(queue: string, id: string, delayMs: number, value: unknown, attempt?: number): Write {
    const text = value === undefined ? {} : { v: jsonText(value, queue, id) };
    return { o: "release", q: queue, i: storedKey(queue, id), d: Math.ceil(delayMs), ...text, ...(attempt === undefined ? {} : { a: attempt }) };
  },
};

/** A queue: rows of `item`. `steady` is undefined where the server's clock counts. */
export function storedQueue<T>(server: Server, writer: Writer, name: string, steady: () => number | undefined): StoredQueue<T> {
  const write = <R>(op: Write, noted = false) => writer.write([op], noted) as Promise<R>;
  return {
    async push(value, options = {}) {
      const op = queueWrites.push(name, options.id ?? randomUUID(), value, options);
      const id = await write<string | undefined>({ ...op, offer: true });
      return id === undefined ? undefined : readText(id);
    },
    async claim(limit, leaseMs) {
      const rows = await write<readonly [string, string, number, boolean][]>({ o: "claim", q: name, limit: rowLimit(limit), ms: Math.ceil(leaseMs) });
      return rows.map(([id, value, attempt, redelivered]): Claimed<T> => ({ id: readText(id), value: JSON.parse(value) as T, attempt, redelivered }));
    },
    // Async, so that an id that cannot be stored rejects.
    complete: async (id) => write<void>(queueWrites.complete(name, id)),
    release: async (id, delayMs, value) => write<void>(queueWrites.release(name, id, delayMs, value)),
    // As the lease itself, it need not outlive a crash of the server.
    extend: async (id, attempt, leaseMs) => write<boolean>({ o: "extend", q: name, i: storedKey(name, id), a: attempt, ms: Math.ceil(leaseMs) }, true),
    async nextDue() {
      const sql = `SELECT count(*)::integer AS n, (min(CASE WHEN NOT leased AND since > t.now THEN 0 ELSE due END))::float8 AS due, min(t.now)::float8 AS now
        FROM {s}.item, (SELECT coalesce($2::bigint, {s}.now_ms()) AS now) AS t WHERE queue = $1 AND head`;
      const [found] = await server.query<{ n: number; due: number | null; now: number }>(sql, [name, steady() ?? null]);
      return found === undefined || found.n === 0 ? undefined : Math.max(0, (found.due ?? 0) - found.now);
    },
    async size(group) {
      const sql = `SELECT count(*)::integer AS n FROM {s}.item WHERE queue = $1 ${group === undefined ? "" : "AND grp = $2"}`;
      const [found] = await server.query<{ n: number }>(sql, group === undefined ? [name] : [name, storedKey(name, group)]);
      return found?.n ?? 0;
    },
    async list(limit) {
      const columns = "id, grp, due::float8 AS due, since::float8 AS since, again, attempt, value";
      const rows = await server.query<Row>(`SELECT ${columns} FROM {s}.item WHERE queue = $1 ORDER BY seq LIMIT $2`, [name, rowLimit(limit)]);
      return rows.map((row) => ({
        id: readText(row.id),
        value: JSON.parse(row.value) as T,
        attempt: row.attempt,
        redelivered: row.again,
        dueAt: row.due === 0 ? row.since : row.due,
        ...(row.grp === null ? {} : { group: readText(row.grp) }),
      }));
    },
  };
}
