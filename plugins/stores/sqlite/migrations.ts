import type { Database } from "better-sqlite3";
import { DocumentTable } from "./document-table.ts";
import { fail } from "./errors.ts";

/** Where the kernel keeps its traces: what earlier versions stored is taken over into it. */
export const TRACES = "core/traces";

interface Migration {
  readonly version: number;
  readonly purpose: string;
  apply(database: Database): void;
}

/** Forward only. Collections, queues and journals make their own tables; a migration is for what those cannot know. */
const MIGRATIONS: readonly Migration[] = [
  {
    // Version 8 keeps whole messages. Rows from before have the preview alone and are never completed (000:L116).
    version: 8,
    purpose: "traces of earlier programs become documents",
    apply(database) {
      if (database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'traces'").get() === undefined) return;
      new DocumentTable(database, TRACES).create();
      database.exec(`
        INSERT INTO "documents:${TRACES}" (key, version, value)
          SELECT id, 1, json_object('id', id, 'agent', agent, 'status', status, 'messagePreview', substr(message_preview, 1, 200), 'startedAt', at)
          FROM traces;
        DROP TABLE traces`);
    },
  },
];

/** The version this program writes, kept as `user_version`. */
export const SCHEMA_VERSION = 8;

/** One line for each migration that brings a database of that version to this program's. */
export const waitingAfter = (found: number): readonly string[] => MIGRATIONS.flatMap(({ version: to, purpose }) => (to > found ? [`${to}: ${purpose}`] : []));

/** Brings a database to this program's version, in one transaction. Throws `SVC_STORE_NEWER`, having changed nothing, for one from a later program. */
export function migrate(database: Database, file: string): void {
  if (version(database) === SCHEMA_VERSION) return;
  database
    .transaction(() => {
      const found = version(database);
      if (found > SCHEMA_VERSION) throw fail("SVC_STORE_NEWER", { file, found, known: SCHEMA_VERSION });
      for (const migration of MIGRATIONS) if (migration.version > found) migration.apply(database);
      database.pragma(`user_version = ${SCHEMA_VERSION}`);
    })
    .immediate();
}

function version(database: Database): number {
  return database.pragma("user_version", { simple: true }) as number;
}
