import { fail } from "./errors.ts";
import { FUNCTIONS } from "./functions.ts";
import type { Server } from "./server.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "./tables.ts";

/** Makes the schema, or brings it to this program's version: one daemon at a time, all of it or nothing. Throws `SVC_STORE_NEWER`. */
export async function migrate(server: Server): Promise<void> {
  await server.transaction(async (run) => {
    // Two daemons that start at once: the second waits here and finds all done. The number is this lock's name.
    await run("SELECT pg_advisory_xact_lock(7305122)");
    await run("CREATE SCHEMA IF NOT EXISTS {s}");
    await run("CREATE TABLE IF NOT EXISTS {s}.version (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL)");
    await run("INSERT INTO {s}.version (version) VALUES (0) ON CONFLICT DO NOTHING");
    const [{ version } = { version: 0 }] = await run<{ version: number }>("SELECT version FROM {s}.version FOR UPDATE");
    if (version > SCHEMA_VERSION) throw newer(server.database, version);
    for (const migration of MIGRATIONS.slice(version)) await run(migration);
    await run(FUNCTIONS);
    await run(`UPDATE {s}.version SET version = ${SCHEMA_VERSION}`);
  });
}

/** The version of the schema; undefined where there is none. */
export async function schemaVersion(server: Server): Promise<number | undefined> {
  const [there] = await server.query<{ there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS there", [`${server.schema}.version`]);
  if (there?.there !== true) return undefined;
  const [row] = await server.query<{ version: number }>("SELECT version FROM {s}.version");
  return row?.version;
}

/** The error of a schema that a newer program has made. */
export const newer = (database: string, found: number) => fail("SVC_STORE_NEWER", { database, found, known: SCHEMA_VERSION });
