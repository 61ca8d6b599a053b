import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";

/** The address of the server that `SVC_TEST_STORE=postgres` has all tests run on; undefined where they run on SQLite. */
const SERVER = process.env.SVC_TEST_STORE === "postgres" ? process.env.SVC_TEST_POSTGRES : undefined;

/** The section `store` for a daemon of that folder: the same schema over restarts. Empty where tests run on SQLite. */
export function storeOf(folder: string): { readonly store?: { readonly url: string; readonly schema: string } } {
  if (SERVER === undefined) return {};
  return { store: { url: SERVER, schema: `t_${createHash("sha256").update(folder).digest("hex").slice(0, 24)}` } };
}

/** The same for a kernel in this process, with the package that it must know; nothing where tests run on SQLite. */
export function testStore(dataFolder: string | undefined): { readonly section?: object; readonly known?: readonly string[] } {
  return SERVER === undefined ? {} : { section: storeOf(dataFolder ?? randomUUID()), known: [join(ROOT, "plugins/stores/postgres")] };
}
