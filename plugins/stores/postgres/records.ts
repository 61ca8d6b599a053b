import type { StoreRecord } from "@svc/sdk";
import { fieldValue, valueAt } from "./bindings.ts";
import { fail } from "./errors.ts";
import type { Server } from "./server.ts";
import { readText, storedKey } from "./text.ts";

/** Rows of one question, and records of one transaction. */
const PAGE = 1_000;
const AT_ONCE = 500;

/** Yields the whole content of the schema. Requires that no other writer is active. */
export async function* storedRecords(server: Server): AsyncGenerator<StoreRecord> {
  const names = async (sql: string) => (await server.query<{ name: string }>(sql)).map(({ name }) => name);
  for (const name of await names("SELECT collection AS name FROM {s}.doc UNION SELECT collection FROM {s}.doc_index ORDER BY 1")) {
    const fields = await server.query<{ field: string }>("SELECT field FROM {s}.doc_index WHERE collection = $1 ORDER BY field", [name]);
    yield { kind: "collection", name, indexes: fields.map(({ field }) => field) };
    const sql = "SELECT key, version::float8 AS version, value FROM {s}.doc WHERE collection = $1 AND key > $2 ORDER BY key LIMIT $3";
    for await (const { key, version, value } of pages<{ key: string; version: number; value: string }>(server, sql, name, "", "key"))
      yield { kind: "document", name, key: readText(key), version, value };
  }
  for (const name of await names("SELECT DISTINCT queue AS name FROM {s}.item ORDER BY 1")) {
    const sql = `SELECT seq::float8 AS seq, id, grp, greatest(0, due - {s}.now_ms())::float8 AS due, leased, again, attempt, value
      FROM {s}.item WHERE queue = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
    for await (const row of pages<ItemRow>(server, sql, name, 0, "seq")) yield itemOf(name, row);
  }
  for (const name of await names("SELECT DISTINCT queue AS name FROM {s}.seen ORDER BY 1")) {
    const sql = "SELECT key, ({s}.now_ms() - at)::float8 AS age FROM {s}.seen WHERE queue = $1 AND key > $2 ORDER BY key LIMIT $3";
    for await (const { key, age } of pages<{ key: string; age: number }>(server, sql, name, "", "key"))
      yield { kind: "seen", name, key: readText(key), ageMs: age };
  }
  for (const { name, last } of await server.query<{ name: string; last: number }>("SELECT name, last::float8 AS last FROM {s}.journal ORDER BY name")) {
    yield { kind: "journal", name, last };
    const sql = "SELECT seq::float8 AS seq, at::float8 AS at, value FROM {s}.entry WHERE journal = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    for await (const row of pages<{ seq: number; at: number; value: string }>(server, sql, name, 0, "seq")) yield { kind: "entry", name, ...row };
  }
}

interface ItemRow {
  readonly seq: number;
  readonly id: string;
  readonly grp: string | null;
  readonly due: number;
  readonly leased: boolean;
  readonly again: boolean;
  readonly attempt: number;
  readonly value: string;
}

const itemOf = (name: string, { id, grp, due, leased, again, attempt, value }: ItemRow): StoreRecord => ({
  kind: "item",
  name,
  id: readText(id),
  ...(grp === null ? {} : { group: readText(grp) }),
  dueInMs: due,
  leased,
  redelivered: again,
  attempt,
  value,
});

async function* pages<Row extends object>(server: Server, sql: string, name: string, first: unknown, by: keyof Row): AsyncGenerator<Row> {
  for (let after = first; ; ) {
    const page = await server.query<Row>(sql, [name, after, PAGE]);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.[by];
  }
}

/** Stores what another store gave, all of it or nothing. Throws `SVC_STORE_CONFLICT` where the schema has state already. */
export async function restoreRecords(server: Server, records: AsyncIterable<StoreRecord>): Promise<void> {
  await server.transaction(async (run) => {
    const [taken] = await run<{ name: string }>(
      "SELECT collection AS name FROM {s}.doc UNION ALL SELECT queue FROM {s}.item UNION ALL SELECT name FROM {s}.journal LIMIT 1",
    );
    if (taken !== undefined) throw fail("SVC_STORE_CONFLICT", { collection: taken.name, key: "any" });
    const indexes = new Map<string, readonly string[]>();
    let waiting: object[] = [];
    const flush = async () => {
      await run(RESTORE, [JSON.stringify(waiting)]);
      waiting = [];
    };
    for await (const record of records) {
      if (record.kind === "collection") indexes.set(record.name, record.indexes);
      waiting.push(rowOf(record, indexes));
      if (waiting.length >= AT_ONCE) await flush();
    }
    await flush();
    // The first item of each group, and the rows that lock the groups.
    await run("UPDATE {s}.item SET head = grp IS NULL OR seq = (SELECT min(o.seq) FROM {s}.item o WHERE o.queue = item.queue AND o.grp = item.grp)");
    await run("INSERT INTO {s}.queue_group (queue, grp) SELECT DISTINCT queue, grp FROM {s}.item WHERE grp IS NOT NULL");
  });
}

function rowOf(record: StoreRecord, indexes: ReadonlyMap<string, readonly string[]>): object {
  const { name } = record;
  switch (record.kind) {
    case "document": {
      const value: unknown = JSON.parse(record.value);
      const fields = (indexes.get(name) ?? []).flatMap((field) => {
        const found = valueAt(value, field) ?? (field.includes(".") ? "" : undefined);
        return found === undefined ? [] : [{ field, ...fieldValue(found) }];
      });
      return { ...record, key: storedKey(name, record.key), fields };
    }
    case "item":
      return { ...record, id: storedKey(name, record.id), group: record.group === undefined ? null : storedKey(name, record.group) };
    case "seen":
      return { ...record, key: storedKey(name, record.key) };
    default:
      return record;
  }
}

const RESTORE = `
  WITH r AS MATERIALIZED (SELECT value AS v, ordinality AS n FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY),
  indexes AS (
    INSERT INTO {s}.doc_index (collection, field) SELECT v ->> 'name', f FROM r, jsonb_array_elements_text(v -> 'indexes') AS f WHERE v ->> 'kind' = 'collection'
  ), docs AS (
    INSERT INTO {s}.doc (collection, key, version, value)
    SELECT v ->> 'name', v ->> 'key', (v ->> 'version')::bigint, v ->> 'value' FROM r WHERE v ->> 'kind' = 'document'
  ), fields AS (
    INSERT INTO {s}.doc_field (collection, key, field, kind, num, txt)
    SELECT v ->> 'name', v ->> 'key', f ->> 'field', (f ->> 'kind')::smallint, (f ->> 'num')::double precision, f ->> 'txt'
    FROM r, jsonb_array_elements(v -> 'fields') AS f WHERE v ->> 'kind' = 'document'
  ), items AS (
    INSERT INTO {s}.item (queue, id, grp, head, due, since, leased, again, attempt, value)
    SELECT v ->> 'name', v ->> 'id', v ->> 'group', false, CASE WHEN (v ->> 'dueInMs')::float8 > 0 THEN {s}.now_ms() + (v ->> 'dueInMs')::float8::bigint ELSE 0 END,
      {s}.now_ms(), (v ->> 'leased')::boolean, (v ->> 'redelivered')::boolean, (v ->> 'attempt')::integer, v ->> 'value'
    FROM r WHERE v ->> 'kind' = 'item' ORDER BY n
  ), seen AS (
    INSERT INTO {s}.seen (queue, key, at) SELECT v ->> 'name', v ->> 'key', {s}.now_ms() - (v ->> 'ageMs')::float8::bigint FROM r WHERE v ->> 'kind' = 'seen'
  ), journals AS (
    INSERT INTO {s}.journal (name, last) SELECT v ->> 'name', (v ->> 'last')::bigint FROM r WHERE v ->> 'kind' = 'journal'
  )
  INSERT INTO {s}.entry (journal, seq, at, value)
  SELECT v ->> 'name', (v ->> 'seq')::bigint, (v ->> 'at')::bigint, v ->> 'value' FROM r WHERE v ->> 'kind' = 'entry'`;
