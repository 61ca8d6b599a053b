import { randomBytes } from "node:crypto";
import { fail } from "./errors.ts";
import { Server, type ServerOptions } from "./server.ts";

/** For how long the second connection is given to come to the lock. */
const REACHED_MS = 300;

const TABLES = `
  CREATE TABLE {s}.grp (name text PRIMARY KEY, pushes integer NOT NULL DEFAULT 0);
  CREATE TABLE {s}.entry (id integer PRIMARY KEY);
  INSERT INTO {s}.entry VALUES (1), (2);
  CREATE FUNCTION {s}.enter(one integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
  DECLARE seen integer;
  BEGIN
    INSERT INTO {s}.grp AS was (name) VALUES ('g') ON CONFLICT (name) DO UPDATE SET pushes = was.pushes + 1;
    SELECT count(*) INTO seen FROM {s}.entry WHERE id > 10;
    INSERT INTO {s}.entry VALUES (one);
    RETURN seen;
  END $$`;

/**
 * Tries on a schema of its own what the store stands on and other servers that speak this protocol may not have: who waited for a lock sees, in
 * the next statement of the same function, what the one before it has stored; rows that are locked are skipped. Throws `SVC_STORE_UNFIT`.
 */
export async function probe(options: ServerOptions): Promise<void> {
  const server = await Server.create({ ...options, schema: `${options.schema.slice(0, 30)}_try_${randomBytes(4).toString("hex")}`, poolSize: 3 });
  const unfit = (reason: string) => fail("SVC_STORE_UNFIT", { database: server.database, reason });
  try {
    await server.transaction(async (run) => {
      await run("CREATE SCHEMA {s}");
      await run(TABLES);
    });
    let second: Promise<readonly { seen: number }[]> | undefined;
    await server.transaction(async (run) => {
      await run("SELECT {s}.enter(11)");
      await run("SELECT id FROM {s}.entry WHERE id = 1 FOR UPDATE");
      const free = await server.query<{ id: number }>("SELECT id FROM {s}.entry WHERE id < 10 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", [], 5_000);
      if (free[0]?.id !== 2) throw unfit("FOR UPDATE SKIP LOCKED does not skip a locked row");
      second = server.query<{ seen: number }>("SELECT {s}.enter(12) AS seen");
      second.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, REACHED_MS));
    });
    const seen = (await second)?.[0]?.seen;
    if (seen !== 1) throw unfit("a statement of a function does not see what was stored while the function waited for a lock before it");
  } finally {
    await server.query("DROP SCHEMA IF EXISTS {s} CASCADE").catch(() => {});
    await server.close();
  }
}
