import type { Server } from "./server.ts";

/** What the rows of a schema take up, in bytes. */
export interface Occupied {
  /** Of the server's disk. */
  readonly disk: number;
  /** Of that without the room that deleted rows left in their tables, which the server keeps for new ones. */
  readonly used: number;
  /** Of `used` a document, on average, with all that belongs to it. */
  readonly perDocument: number;
}

interface Table {
  readonly name: string;
  /** With its indexes. */
  readonly total: number;
  /** Without. */
  readonly own: number;
  readonly pages: number;
}

/** Pages of a table that are read for an estimate, about. */
const PAGES = 1_000;
/** The part of a page that its rows can fill. */
const FILLED = 0.9;
/** Bytes of a row of the tables that grow, by what is stored of it: values that are long and compressed by what is left of them. */
const BYTES: Readonly<Record<string, string>> = {
  doc: "pg_column_size(collection) + pg_column_size(key) + pg_column_size(value) + 36",
  doc_field: "pg_column_size(collection) + pg_column_size(field) + pg_column_size(txt) + pg_column_size(key) + 40",
};

/** Measures the schema. What lies in a table between its rows is estimated by some of its pages: only a rewrite of the table would end it. */
export async function occupied(server: Server, schema: string): Promise<Occupied> {
  const tables = await server.query<Table>(
    `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS total, pg_table_size(c.oid)::float8 AS own,
      (pg_relation_size(c.oid) / current_setting('block_size')::bigint)::float8 AS pages
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [schema],
  );
  const disk = tables.reduce((sum, { total }) => sum + total, 0);
  let used = 0;
  let documents = 0;
  let ofDocuments = 0;
  for (const table of tables) {
    const { bytes, rows } = await occupiedOf(server, table);
    used += bytes;
    if (table.name === "doc") documents = rows;
    if (table.name in BYTES) ofDocuments += bytes;
  }
  return { disk, used, perDocument: documents === 0 ? 0 : ofDocuments / documents };
}

async function occupiedOf(server: Server, { name, total, own, pages }: Table): Promise<{ readonly bytes: number; readonly rows: number }> {
  const size = BYTES[name];
  if (size === undefined || pages === 0) return { bytes: total, rows: 0 };
  const percent = Math.min(100, (100 * PAGES) / pages);
  const sql = `SELECT coalesce(sum(${size}), 0)::float8 AS bytes, count(*)::float8 AS rows FROM {s}.${name} TABLESAMPLE SYSTEM (${percent.toFixed(6)}) REPEATABLE (1)`;
  const [found = { bytes: 0, rows: 0 }] = await server.query<{ bytes: number; rows: number }>(sql);
  const part = Math.min(1, (found.bytes * 100) / percent / FILLED / own);
  return { bytes: total * part, rows: (found.rows * 100) / percent };
}
