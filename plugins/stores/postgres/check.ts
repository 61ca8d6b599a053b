import type { StoreCheck } from "@svc/sdk";
import { newer, schemaVersion } from "./migrate.ts";
import { Server, type ServerOptions } from "./server.ts";
import { storeError } from "./server-error.ts";
import { SCHEMA_VERSION } from "./tables.ts";

/** Invariants between the tables, each with the query for its violations. */
const RULES: Readonly<Record<string, string>> = {
  "fields of documents that are not there":
    "SELECT 1 FROM {s}.doc_field f WHERE NOT EXISTS (SELECT 1 FROM {s}.doc d WHERE d.collection = f.collection AND d.key = f.key)",
  "groups of a queue whose first item nobody can claim":
    "SELECT 1 FROM {s}.item i WHERE NOT head AND NOT EXISTS (SELECT 1 FROM {s}.item o WHERE o.queue = i.queue AND o.grp = i.grp AND o.seq < i.seq)",
  "items of a queue that may overtake an earlier one of their group":
    "SELECT 1 FROM {s}.item i WHERE head AND grp IS NOT NULL AND EXISTS (SELECT 1 FROM {s}.item o WHERE o.queue = i.queue AND o.grp = i.grp AND o.seq < i.seq)",
  "conversations of which something waits and nobody can claim it":
    "SELECT DISTINCT lane FROM {s}.lane_item i WHERE NOT EXISTS (SELECT 1 FROM {s}.lane l WHERE l.key = i.lane AND l.state <> 'idle')",
  "conversations in line without anything that waits":
    "SELECT 1 FROM {s}.lane l WHERE state <> 'ended' AND (state <> 'idle' OR home IS NULL) AND NOT EXISTS (SELECT 1 FROM {s}.lane_item i WHERE i.lane = l.key)",
  "conversations that are held by nobody": "SELECT 1 FROM {s}.lane WHERE state IN ('running', 'parked', 'ended') AND (owner IS NULL OR token IS NULL)",
  "journals whose last number is not the last": "SELECT 1 FROM {s}.journal j WHERE last < (SELECT max(seq) FROM {s}.entry e WHERE e.journal = j.name)",
};

/** Returns the errors of the state; changes nothing. `quick` checks the version alone. */
export async function checkServer(options: ServerOptions, quick: boolean): Promise<StoreCheck | undefined> {
  const server = await Server.create({ ...options, poolSize: 2 });
  try {
    const version = await schemaVersion(server);
    if (version === undefined) return undefined;
    if (version > SCHEMA_VERSION) return { file: server.database, problems: [newer(server.database, version).message] };
    if (quick || version === 0) return { file: server.database, problems: [] };
    const problems: string[] = [];
    for (const [what, sql] of Object.entries(RULES)) {
      const [found] = await server.query<{ n: number }>(`SELECT count(*)::integer AS n FROM (${sql}) AS broken`, [], 600_000);
      if (found !== undefined && found.n > 0) problems.push(`${found.n} ${what}.`);
    }
    return { file: server.database, problems };
  } catch (error) {
    // Nothing is known of the state then: it is not damaged.
    throw storeError(error, server.database);
  } finally {
    await server.close();
  }
}
