import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { StoreDriver } from "@svc/sdk";
import { ROOT } from "../house/house.ts";
import { serverProgram } from "./postgres.ts";

/** The address of the server that `SVC_TEST_STORE=postgres` has all tests run on; undefined where they run on SQLite. */
const SERVER = process.env.SVC_TEST_STORE === "postgres" ? process.env.SVC_TEST_POSTGRES : undefined;

/** Why a test cannot set the clock of a daemon's jobs; undefined where it can. */
export const CLOCK_OF_SERVER = SERVER === undefined ? undefined : "with a PostgreSQL store jobs run by the clock of the server, which all tests share";

/** Why a test cannot look at the database file in a data folder; undefined where it can. */
export const ON_SERVER = SERVER === undefined ? undefined : "with a PostgreSQL store the daemon has no database file";

const schemaOf = (folder: string): string => `t_${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`;

/** The section `store` for a daemon of that folder: the same schema over restarts. Empty where tests run on SQLite. */
export function storeOf(folder: string): { readonly store?: { readonly url: string; readonly schema: string } } {
  if (SERVER === undefined) return {};
  return { store: { url: SERVER, schema: schemaOf(folder) } };
}

/** The same for a kernel in this process, with the package that it must know; nothing where tests run on SQLite. */
export function testStore(dataFolder: string | undefined): { readonly section?: object; readonly known?: readonly string[] } {
  return SERVER === undefined ? {} : { section: storeOf(dataFolder ?? randomUUID()), known: [join(ROOT, "plugins/stores/postgres")] };
}

/** A store for a kernel in this process whose settings a test looks at; undefined where tests run on SQLite. */
export async function testDriver(dataFolder: string | undefined): Promise<StoreDriver | undefined> {
  if (SERVER === undefined) return undefined;
  const { openPostgres } = await import("../../plugins/stores/postgres/open.ts");
  return openPostgres({ url: SERVER, schema: schemaOf(dataFolder ?? randomUUID()), poolSize: 4, folder: dataFolder });
}

const LIMITS = { encoding: "utf8", maxBuffer: 256 * 1024 * 1024, stdio: "pipe" } as const;
const dumped = (schema: string): string => execFileSync(serverProgram("pg_dump"), ["--no-owner", "--schema", schema, SERVER ?? ""], LIMITS);

/** All that a server has stored for that data folder, as text; none where the state is a file of it. */
export const storedBeside = (dataFolder: string): readonly string[] => (SERVER === undefined ? [] : [dumped(schemaOf(dataFolder))]);

/** Copies a data folder and the state that belongs to it, as they are at this moment: what a killed daemon leaves. The copy may be used while the daemon runs on. */
export async function copyState(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (source) => !source.endsWith("daemon.lock") });
  if (SERVER === undefined) return;
  const [old, made] = [schemaOf(from), schemaOf(to)];
  execFileSync(serverProgram("psql"), ["-q", "-v", "ON_ERROR_STOP=1", "-d", SERVER], { ...LIMITS, input: dumped(old).replaceAll(old, made) });
}
