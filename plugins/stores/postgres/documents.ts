import type { Doc, Query, StorePrune, StoreScan, StoreScanned, StoreScannedKeys } from "@svc/sdk";
import { type Binds, bindings, type FieldRow, fieldValue, valueAt } from "./bindings.ts";
import { fail } from "./errors.ts";
import type { Server } from "./server.ts";
import { checkedField, jsonText, readText, rowLimit, storedKey, storedText } from "./text.ts";
import type { LateWrite, Write } from "./write.ts";
import type { Writer } from "./writer.ts";

interface Row {
  readonly key: string;
  readonly version: number;
  readonly value: string;
}

/** Rows that one step of a scan looks at. */
const LOOK = 2_000;
const LOOK_WHOLE = 500;
/** Documents that are given their rows of a field in one transaction. */
const FILLED = 500;

/** A collection: rows of `doc`, and for each declared field that has a number or a text a row of `doc_field`. */
export class Documents {
  readonly #server: Server;
  readonly #writer: Writer;
  readonly #name: string;
  readonly #fields = new Set<string>();
  /** Fields with dots that older documents may have no row of: filled step by step, not at once. */
  readonly #unfilled = new Set<string>();
  /** Declared here, and not yet on the server. */
  readonly #undeclared = new Set<string>();
  #declaring: Promise<unknown> | undefined;

  constructor(server: Server, writer: Writer, name: string) {
    this.#server = server;
    this.#writer = writer;
    this.#name = name;
  }

  /** Adds indexed fields. Throws `SVC_STORE_NAME` for a text that names no field. */
  declare(fields: readonly string[]): void {
    const missing = fields.filter((field) => !this.#fields.has(checkedField(this.#name, field)));
    if (missing.length === 0) return;
    for (const field of missing) {
      this.#fields.add(field);
      this.#undeclared.add(field);
      if (field.includes(".")) this.#unfilled.add(field);
    }
    // A failure is reported to the next reader, which retries.
    this.#bringFields().catch(() => {});
  }

  put(key: string, value: unknown, expect?: number | "absent"): LateWrite {
    const text = jsonText(value, this.#name, key);
    const write: Write = { o: "put", c: this.#name, k: storedKey(this.#name, key), v: text, ...(expect === undefined ? {} : { e: expect }) };
    const declared = this.#fields.size;
    const fields = declared === 0 ? undefined : this.#fieldsOf(value);
    return () => {
      if (this.#fields.size === 0) return write;
      return { ...write, f: this.#fields.size === declared ? fields : this.#fieldsOf(JSON.parse(text)) };
    };
  }

  delete(key: string, expect?: number | "absent"): Write {
    return { o: "delete", c: this.#name, k: storedKey(this.#name, key), ...(expect === undefined ? {} : { e: expect }) };
  }

  prune({ from, below, spare, rows }: StorePrune): Write {
    const ends = { ...(from === undefined ? {} : { from: storedText(from) }), ...(below === undefined ? {} : { below: storedText(below) }) };
    return { o: "prune", c: this.#name, ...ends, field: this.#declared(spare.field), spared: fieldValue(spare.value).txt, rows };
  }

  async get<T>(key: string): Promise<Doc<T> | undefined> {
    const stored = storedKey(this.#name, key);
    const [row] = await this.#query("SELECT key, version::float8 AS version, value FROM {s}.doc WHERE collection = $1 AND key = $2", [this.#name, stored]);
    return row && document<T>(row);
  }

  /** Throws `SVC_STORE_INDEX` for a field that is not declared and `SVC_STORE_CURSOR` when `after` is gone from an index. */
  async list<T>(query: Query): Promise<readonly Doc<T>[]> {
    await this.#ready();
    const binds = bindings(this.#name);
    const { from, terms, order } = this.#select(query, binds);
    const [direction, comparison] = query.reverse === true ? (["DESC", "<"] as const) : (["ASC", ">"] as const);
    if (query.after !== undefined) terms.push(await this.#cursor(query.after, query.by, comparison, binds));
    const columns = order.map((column) => `${column} ${direction}`).join(", ");
    const where = `WHERE ${terms.join(" AND ")} ORDER BY ${columns} LIMIT ${binds.add(rowLimit(query.limit))}`;
    const rows = await this.#query(`SELECT d.key, d.version::float8 AS version, d.value FROM ${from} ${where}`, binds.values);
    return rows.map((row) => document<T>(row));
  }

  async count(query: Pick<Query, "where" | "by" | "from" | "to">): Promise<number> {
    await this.#ready();
    const binds = bindings(this.#name);
    const { from, terms } = this.#select(query, binds);
    const [row] = await this.#server.query<{ n: number }>(`SELECT count(*)::integer AS n FROM ${from} WHERE ${terms.join(" AND ")}`, binds.values);
    return row?.n ?? 0;
  }

  /** One step of a scan: what it found, and the key below which to go on, unless it is at the end. */
  async scan<T>({ where, below, limit }: StoreScan): Promise<StoreScanned<T>> {
    const step = await this.#step(where, below, rowLimit(limit));
    return { docs: step.rows.map((row) => document<T>(row)), ...(step.below === undefined ? {} : { below: readText(step.below) }) };
  }

  /** The same for the keys alone. */
  async scanKeys({ where, below, limit }: StoreScan): Promise<StoreScannedKeys> {
    const step = await this.#step(where, below, Math.max(0, Math.min(LOOK, Math.trunc(limit))));
    return { keys: step.rows.map(({ key }) => readText(key)), ...(step.below === undefined ? {} : { below: readText(step.below) }) };
  }

  /** The key that has `count` later ones; undefined where there are fewer. */
  async keyBefore(count: number): Promise<string | undefined> {
    const sql = "SELECT key FROM {s}.doc WHERE collection = $1 ORDER BY key DESC OFFSET $2 LIMIT 1";
    const [row] = await this.#query(sql, [this.#name, count]);
    return row && readText(row.key);
  }

  /** Goes on giving documents from before their rows of fields with dots; answers for how many, 0 when all have theirs. */
  async fill(rows: number): Promise<number> {
    await this.#ready();
    for (const field of this.#unfilled) {
      let filled = 0;
      await this.#writer.step(async () => {
        filled = await this.#fillStep(field, rows);
      });
      if (filled > 0) return filled;
      this.#unfilled.delete(field);
    }
    return 0;
  }

  async #ready(): Promise<void> {
    while (this.#undeclared.size > 0) await this.#bringFields();
  }

  /** Declares missing indexes on the server, in order between the earlier writes and the later ones. */
  #bringFields(): Promise<unknown> {
    const step = async () => {
      const fields = [...this.#undeclared];
      await this.#declare(fields);
      for (const field of fields) this.#undeclared.delete(field);
    };
    this.#declaring ??= this.#writer.step(step).finally(() => {
      this.#declaring = undefined;
    });
    return this.#declaring;
  }

  async #declare(fields: readonly string[]): Promise<void> {
    const known = new Map<string, string | null>();
    const sql = "SELECT field, filled_to FROM {s}.doc_index WHERE collection = $1";
    for (const row of await this.#server.query<{ field: string; filled_to: string | null }>(sql, [this.#name])) known.set(row.field, row.filled_to);
    const empty = (await this.#query("SELECT key FROM {s}.doc WHERE collection = $1 LIMIT 1", [this.#name])).length === 0;
    for (const field of fields) {
      if (!known.has(field)) {
        const insert = "INSERT INTO {s}.doc_index (collection, field, filled_to) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        await this.#server.query(insert, [this.#name, field, empty ? null : ""]);
      }
      if (known.get(field) === null || (empty && !known.has(field))) this.#unfilled.delete(field);
      else if (!field.includes(".")) while ((await this.#fillStep(field, FILLED)) > 0);
    }
  }

  /** Gives documents after `filled_to` that have no row of the field one, and remembers how far it came. */
  async #fillStep(field: string, rows: number): Promise<number> {
    const [index] = await this.#server.query<{ filled_to: string | null }>("SELECT filled_to FROM {s}.doc_index WHERE collection = $1 AND field = $2", [
      this.#name,
      field,
    ]);
    if (index === undefined || index.filled_to === null) return 0;
    const without = "NOT EXISTS (SELECT 1 FROM {s}.doc_field f WHERE f.collection = $1 AND f.field = $2 AND f.key = d.key)";
    const found = await this.#query(`SELECT d.key, d.value FROM {s}.doc d WHERE d.collection = $1 AND d.key > $3 AND ${without} ORDER BY d.key LIMIT $4`, [
      this.#name,
      field,
      index.filled_to,
      rows,
    ]);
    const last = found.length < rows ? null : (found.at(-1)?.key ?? null);
    const fields = found.map(({ key, value }) => ({ key, f: { [field]: indexed(JSON.parse(value), field) } }));
    const set = "SELECT {s}.set_fields($1, e ->> 'key', e -> 'f') FROM jsonb_array_elements($2::jsonb) AS e";
    // A document that is deleted meanwhile leaves no row: writes wait for the end of this step.
    await this.#server.query(set, [this.#name, JSON.stringify(fields)]);
    await this.#server.query("UPDATE {s}.doc_index SET filled_to = $3 WHERE collection = $1 AND field = $2", [this.#name, field, last]);
    return found.length;
  }

  #fieldsOf(value: unknown): Record<string, unknown> {
    return Object.fromEntries([...this.#fields].map((field) => [field, indexed(value, field)]));
  }

  /** The tables, the terms and the order of a query. */
  #select({ where = {}, by, from, to }: Query, binds: Binds) {
    const terms: string[] = [];
    for (const [field, value] of Object.entries(where)) {
      this.#declared(field);
      const own = `f.collection = $1 AND f.key = d.key AND f.field = ${binds.add(field)}`;
      if (value === null) terms.push(`NOT EXISTS (SELECT 1 FROM {s}.doc_field f WHERE ${own})`);
      else terms.push(`EXISTS (SELECT 1 FROM {s}.doc_field f WHERE ${own} AND ${binds.equal("f", fieldValue(value))})`);
    }
    if (by === undefined) {
      terms.push("d.collection = $1");
      if (from !== undefined) terms.push(`d.key >= ${binds.add(storedText(String(from)))}`);
      if (to !== undefined) terms.push(`d.key < ${binds.add(storedText(String(to)))}`);
      return { from: "{s}.doc d", terms, order: ["d.key"] };
    }
    terms.push(`b.collection = $1 AND b.field = ${binds.add(this.#declared(by))}`);
    if (from !== undefined) terms.push(binds.compare("b", ">=", fieldValue(from)));
    if (to !== undefined) terms.push(binds.compare("b", "<", fieldValue(to)));
    const joined = "{s}.doc_field b JOIN {s}.doc d ON d.collection = b.collection AND d.key = b.key";
    return { from: joined, terms, order: ["b.kind", "b.num", "b.txt", "b.key"] };
  }

  async #cursor(after: string, by: string | undefined, comparison: "<" | ">", binds: Binds): Promise<string> {
    const key = storedKey(this.#name, after);
    if (by === undefined) return `d.key ${comparison} ${binds.add(key)}`;
    const sql = "SELECT kind, num, txt FROM {s}.doc_field WHERE collection = $1 AND field = $2 AND key = $3";
    const [last] = await this.#server.query<FieldRow>(sql, [this.#name, by, key]);
    if (last === undefined) throw fail("SVC_STORE_CURSOR", { collection: this.#name, key: after });
    return binds.compare("b", comparison, last, key);
  }

  /** The rows whose fields have those values, downwards from a key; of many that have not, a part at a time. */
  async #step(
    where: StoreScan["where"],
    below: string | undefined,
    limit: number,
  ): Promise<{ readonly rows: readonly Row[]; readonly below: string | undefined }> {
    await this.#ready();
    const fields = Object.keys(where).map((field) => this.#declared(field));
    const filled = fields.filter((field) => !this.#unfilled.has(field));
    const unfilled = fields.filter((field) => this.#unfilled.has(field));
    const lead = await this.#lead(filled, where, below);
    const binds = bindings(this.#name);
    const led = lead === undefined ? "FROM {s}.doc l WHERE l.collection = $1" : `FROM {s}.doc_field l WHERE l.collection = $1 AND l.field = ${binds.add(lead)}`;
    const value = lead === undefined ? "" : ` AND ${binds.equal("l", fieldValue(where[lead] as string | number))}`;
    const from = below === undefined ? "" : ` AND l.key < ${binds.add(storedText(below))}`;
    const others = filled.filter((field) => field !== lead);
    const look = unfilled.length > 0 ? LOOK_WHOLE : others.length > 0 ? LOOK : limit;
    const terms = others.map((field) => {
      const is = `f.collection = $1 AND f.key = lead.key AND f.field = ${binds.add(field)} AND ${binds.equal("f", fieldValue(where[field] as string | number))}`;
      return `EXISTS (SELECT 1 FROM {s}.doc_field f WHERE ${is})`;
    });
    const [found] = await this.#server.query<{ last: string | null; looked: number; rows: readonly (readonly [string, number, string])[] }>(
      `WITH lead AS MATERIALIZED (SELECT l.key ${led}${value}${from} ORDER BY l.key DESC LIMIT ${look}),
        found AS (SELECT d.key, d.version, d.value FROM lead JOIN {s}.doc d ON d.collection = $1 AND d.key = lead.key
          ${terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`} ORDER BY lead.key DESC LIMIT ${unfilled.length > 0 ? look : limit})
      SELECT (SELECT min(key) FROM lead) AS last, (SELECT count(*)::integer FROM lead) AS looked,
        (SELECT coalesce(json_agg(json_build_array(key, version, value) ORDER BY key DESC), '[]') FROM found) AS rows`,
      binds.values,
    );
    const all = (found?.rows ?? []).map(([key, version, text]) => ({ key, version, value: text }));
    const fits = ({ value: text }: Row) => unfilled.every((field) => (valueAt(JSON.parse(text), field) ?? "") === where[field]);
    const rows = (unfilled.length === 0 ? all : all.filter(fits)).slice(0, limit);
    if (rows.length === limit && limit > 0) return { rows, below: rows.at(-1)?.key };
    return { rows, below: look > 0 && found?.looked === look ? (found.last ?? undefined) : undefined };
  }

  /** The field of `where` with the fewest candidates, counted up to a step's worth. */
  async #lead(fields: readonly string[], where: StoreScan["where"], below: string | undefined): Promise<string | undefined> {
    if (fields.length < 2) return fields[0];
    const binds = bindings(this.#name);
    const end = below === undefined ? "" : ` AND key < ${binds.add(storedText(below))}`;
    const counts = fields.map((field, at) => {
      const is = `collection = $1 AND field = ${binds.add(field)} AND ${binds.equal("f", fieldValue(where[field] as string | number))}${end}`;
      return `(SELECT count(*)::integer FROM (SELECT 1 FROM {s}.doc_field f WHERE ${is} LIMIT ${LOOK}) AS few) AS n${at}`;
    });
    const [found = {}] = await this.#server.query<Record<string, number>>(`SELECT ${counts.join(", ")}`, binds.values);
    const sizes = fields.map((_, at) => found[`n${at}`] ?? 0);
    return fields[sizes.indexOf(Math.min(...sizes))];
  }

  #declared(field: string): string {
    if (this.#fields.has(field)) return field;
    throw fail("SVC_STORE_INDEX", { collection: this.#name, field });
  }

  #query(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#server.query<Row>(sql, values);
  }
}

/** Returns the value of a field's row; null if it is neither a number nor a text. A missing field with dots counts as empty. */
function indexed(value: unknown, field: string): string | number | null {
  const found = valueAt(value, field);
  if (found === undefined) return field.includes(".") ? "" : null;
  const { kind, num, txt } = fieldValue(found);
  return kind === 0 ? num : txt;
}

function document<T>({ key, version, value }: Row): Doc<T> {
  return { key: readText(key), value: JSON.parse(value) as T, version };
}
