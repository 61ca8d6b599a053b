import type { StoreMigrated } from "@svc/sdk";
import { identity } from "./identity.ts";
import { migrate } from "./migrate.ts";
import { probe } from "./probe.ts";
import { Server, type ServerOptions } from "./server.ts";
import { storeError } from "./server-error.ts";
import { SCHEMA_VERSION, waitingAfter } from "./tables.ts";

/**
 * Makes the schema of a data folder, or brings it to this program's version, once the server was seen to keep what the store stands on. Throws
 * `SVC_STORE_UNFIT`, `SVC_STORE_NEWER`, `SVC_STORE_BUSY`, `SVC_STORE_REFUSED`, `SVC_STORE_UNREACHABLE`.
 */
export async function upgrade(options: ServerOptions, folder: string): Promise<StoreMigrated> {
  const server = await Server.create({ ...options, poolSize: 2 });
  try {
    await probe(options);
    const from = await migrate(server, identity(folder));
    return { file: server.database, from, to: SCHEMA_VERSION, applied: waitingAfter(from) };
  } catch (error) {
    throw storeError(error, server.database);
  } finally {
    await server.close();
  }
}
