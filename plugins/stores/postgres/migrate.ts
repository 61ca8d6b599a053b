import { fail } from "./errors.ts";
import { FUNCTIONS } from "./functions.ts";
import { LANE_FUNCTIONS } from "./lane-functions.ts";
import { LIVE_FUNCTIONS } from "./live-functions.ts";
import type { Server } from "./server.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "./tables.ts";

/**
 * Makes the schema, or brings it to this program's version: one daemon at a time, all of it or nothing. Answers the version from before. Throws
 * `SVC_STORE_NEWER`, and `SVC_STORE_BUSY` where a daemon of another data folder than `folder` uses tables that would change.
 */
export async function migrate(server: Server, folder: string): Promise<number> {
  let before = 0;
  await server.transaction(async (run) => {
    // Two daemons that start at once: the second waits here and finds all done. The number is this lock's name.
    await run("SELECT pg_advisory_xact_lock(7305122)");
    await run("CREATE SCHEMA IF NOT EXISTS {s}");
    await run("CREATE TABLE IF NOT EXISTS {s}.version (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL)");
    await run("INSERT INTO {s}.version (version) VALUES (0) ON CONFLICT DO NOTHING");
    const [{ version } = { version: 0 }] = await run<{ version: number }>("SELECT version FROM {s}.version FOR UPDATE");
    if (version > SCHEMA_VERSION) throw newer(server.database, version);
    if (version > 0 && version < SCHEMA_VERSION) await nobodyElse(server.database, run, folder);
    for (const migration of MIGRATIONS.slice(version)) await run(migration);
    await run(FUNCTIONS);
    await run(LANE_FUNCTIONS);
    await run(LIVE_FUNCTIONS);
    await run(`UPDATE {s}.version SET version = ${SCHEMA_VERSION}`);
    before = version;
  });
  return before;
}

/** A daemon of an older program knows nothing of the tables as they will be. */
async function nobodyElse(database: string, run: Parameters<Parameters<Server["transaction"]>[0]>[0], folder: string): Promise<void> {
  const others = "SELECT coalesce(name, folder) AS name, host FROM {s}.node WHERE alive AND folder <> $1 AND lease_until > clock_timestamp() LIMIT 1";
  const [other] = await run<{ name: string; host: string }>(others, [folder]);
  if (other !== undefined) throw fail("SVC_STORE_BUSY", { database, other: `node ${other.name} on ${other.host}` });
}

/** Returns the version of the schema; undefined if it does not exist. */
export async function schemaVersion(server: Server): Promise<number | undefined> {
  const [there] = await server.query<{ there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS there", [`${server.schema}.version`]);
  if (there?.there !== true) return undefined;
  const [row] = await server.query<{ version: number }>("SELECT version FROM {s}.version");
  return row?.version;
}

/** The error of a schema that a newer program has made. */
export const newer = (database: string, found: number) => fail("SVC_STORE_NEWER", { database, found, known: SCHEMA_VERSION });
