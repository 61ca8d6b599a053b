import type { NodeAbout, StoreNode, StoreStatus } from "@svc/sdk";
import { fail } from "./errors.ts";
import { schemaVersion } from "./migrate.ts";
import { LEASE_MS } from "./node.ts";
import { Server, type ServerOptions } from "./server.ts";
import { storeError } from "./server-error.ts";
import { SCHEMA_VERSION, waitingAfter } from "./tables.ts";

const LONG_MS = 600_000;
/** The version of the schema from which on daemons can be asked for. */
const LANES = 3;

/** Returns the status of the schema and its contents. Throws `SVC_STORE_UNREACHABLE`, `SVC_STORE_REFUSED`. */
export function serverStatus(options: ServerOptions): Promise<StoreStatus> {
  return asked(options, async (server) => {
    const version = await schemaVersion(server);
    const [about] = await server.query<{ server: string; role: string; most: string; used: number; standby: boolean; durable: string }>(
      `SELECT current_setting('server_version') AS server, current_user AS role, current_setting('max_connections') AS most,
        (SELECT count(*) FROM pg_stat_activity)::integer AS used, pg_is_in_recovery() AS standby, current_setting('synchronous_commit') AS durable`,
    );
    const tables = version === undefined ? [] : await tablesOf(server, options.schema);
    const at = new URL(options.url);
    return {
      file: server.database,
      version,
      known: SCHEMA_VERSION,
      waiting: waitingAfter(version ?? 0),
      bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
      rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])),
      settings: {
        host: at.hostname || "localhost",
        port: Number(at.port || 5432),
        database: decodeURIComponent(at.pathname.slice(1)) || "(that of the user)",
        user: about?.role ?? "",
        schema: options.schema,
        poolSize: options.poolSize,
        server: `PostgreSQL ${about?.server}${about?.standby === true ? ", a standby that only reads" : ""}`,
        connections: `${about?.used} of ${about?.most}`,
        synchronousCommit: about?.durable ?? "",
      },
      nodes: version === undefined || version < LANES ? [] : await nodesOf(server),
    };
  });
}

/** Each table with its rows, counted, and its bytes with those of its indexes. */
async function tablesOf(server: Server, schema: string): Promise<readonly { name: string; rows: number; bytes: number }[]> {
  const sql = `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> 'version' ORDER BY c.relname`;
  const tables: { name: string; rows: number; bytes: number }[] = [];
  for (const { name, bytes } of await server.query<{ name: string; bytes: number }>(sql, [schema])) {
    const [counted] = await server.query<{ n: number }>(`SELECT count(*)::float8 AS n FROM {s}."${name}"`, [], LONG_MS);
    tables.push({ name, bytes, rows: counted?.n ?? 0 });
  }
  return tables;
}

/** The daemons of the schema, the latest first; those that ended are forgotten after a day. */
export async function nodesOf(server: Server): Promise<readonly StoreNode[]> {
  const rows = await server.query<{
    name: string;
    boot: number;
    host: string;
    pid: number | null;
    state: StoreNode["state"];
    beat: number;
    skew: number | null;
    running: number;
    holds: readonly string[];
    about: NodeAbout | null;
  }>(
    `SELECT coalesce(name, folder) AS name, boot::float8 AS boot, host, pid,
      CASE WHEN NOT alive THEN 'dead' WHEN lease_until < clock_timestamp() THEN 'silent' WHEN draining THEN 'draining' ELSE 'alive' END AS state,
      greatest(0, extract(epoch FROM clock_timestamp() - lease_until) * 1000 + $1)::float8 AS beat,
      (to_jsonb(n) ->> 'skew')::float8 AS skew,
      CASE WHEN alive AND jsonb_typeof(to_jsonb(n) -> 'about') = 'object' THEN nullif((to_jsonb(n) -> 'about') - 'leaving', '{}') END AS about,
      CASE WHEN alive THEN (SELECT count(*) FROM {s}.lane l WHERE l.owner = n.boot AND l.state = 'running') ELSE 0 END::float8 AS running,
      ARRAY(SELECT l.name FROM {s}.lease l WHERE n.alive AND l.boot = n.boot ORDER BY l.name) AS holds
    FROM (SELECT * FROM {s}.node ORDER BY alive DESC, boot DESC LIMIT 200) n ORDER BY boot DESC`,
    [LEASE_MS],
  );
  return rows.map(({ pid, beat, skew, running, holds, about, ...node }) => ({
    ...node,
    ...(pid === null ? {} : { pid }),
    beatMs: Math.round(beat),
    ...(skew === null ? {} : { skewMs: Math.round(skew) }),
    ...(node.state === "dead" ? {} : { running, holds }),
    ...(about === null ? {} : { about }),
  }));
}

/** The same over connections of its own; none where there is no schema yet. */
export function serverNodes(options: ServerOptions): Promise<readonly StoreNode[]> {
  return asked(options, async (server) => (((await schemaVersion(server)) ?? 0) < LANES ? [] : nodesOf(server)));
}

/** Marks the living daemon of that name, or takes the mark back; its next beat tells it. Throws `SVC_STORE_LEAVING` where it ends already. */
export function drainNode(options: ServerOptions, node: string, on: boolean): Promise<boolean> {
  return asked(options, async (server) => {
    const sql = `UPDATE {s}.node n SET draining = $2 OR (to_jsonb(n) -> 'about' ? 'leaving') IS TRUE
      WHERE name = $1 AND alive AND lease_until > clock_timestamp() RETURNING draining`;
    const found = await server.query<{ draining: boolean }>(sql, [node, on]);
    if (!on && found.some(({ draining }) => draining)) throw fail("SVC_STORE_LEAVING", { node });
    return found.length > 0;
  });
}

/** Asks over connections that are closed afterwards; errors are the store's own. */
async function asked<T>(options: ServerOptions, ask: (server: Server) => Promise<T>): Promise<T> {
  const server = await Server.create({ ...options, poolSize: 2 });
  try {
    return await ask(server);
  } catch (error) {
    throw storeError(error, server.database);
  } finally {
    await server.close();
  }
}
