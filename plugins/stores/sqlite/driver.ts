import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type Database from "better-sqlite3";
import { fail } from "./errors.ts";

// Required when the first database is opened: who only asks for a check of a configuration needs none.
const require = createRequire(import.meta.url);
const LIBRARY = "better-sqlite3";

/** The first major version whose binaries are built for Node.js 22 and newer: under an older one they end the process. */
const NEEDS_22 = 13;

/** Opens a database with the library, whose native part is loaded by the first. Throws `SVC_STORE_DRIVER` where that does not fit this Node.js. */
export function openFile(file: string, options: Database.Options): Database.Database {
  const folder = dirname(require.resolve(`${LIBRARY}/package.json`));
  requireFitting(Number(process.versions.node.split(".")[0]), () => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version);
  try {
    return new (require(LIBRARY) as typeof Database)(file, { ...options, ...nativeBinding(folder) });
  } catch (error) {
    if (isDriverFailure(error)) throw fail("SVC_STORE_DRIVER", { node: process.versions.node, reason: firstLine(error), folder, cause: error });
    throw error;
  }
}

/** Throws `SVC_STORE_DRIVER` before anything native is loaded. The version is only asked for where it decides. */
export function requireFitting(nodeMajor: number, version: () => string): void {
  if (nodeMajor >= 22) return;
  const found = version();
  if (Number(found.split(".")[0]) < NEEDS_22) return;
  const reason = `${LIBRARY} ${found} is for Node.js 22 and newer`;
  throw fail("SVC_STORE_DRIVER", { node: process.versions.node, reason, folder: dirname(require.resolve(`${LIBRARY}/package.json`)) });
}

/** Why no database can be opened here at all; undefined when one can. */
export function driverProblem(): string | undefined {
  try {
    openFile(":memory:", {}).close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Where its native part usually lies. Told, the library need not load what looks for it; where it is not there, it looks itself. */
function nativeBinding(folder: string): Pick<Database.Options, "nativeBinding"> {
  const file = join(folder, "build/Release/better_sqlite3.node");
  return existsSync(file) ? { nativeBinding: file } : {};
}

/** Was the native part not found, or built for another Node.js? */
const isDriverFailure = (error: unknown): boolean =>
  ["ERR_DLOPEN_FAILED", "MODULE_NOT_FOUND"].includes((error as { code?: string }).code ?? "") ||
  /bindings file|NODE_MODULE_VERSION|native (binding|addon)/i.test((error as Error).message);

const firstLine = (error: unknown): string => ((error as Error).message.split("\n")[0] ?? "").replace(/\.$/, "");
