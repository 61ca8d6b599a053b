import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "@svc/sdk";

/** The file of the data folder that tells it from every other. */
export const IDENTITY = "store-postgres.id";

/** Returns the id of the data folder in the schema, stable when it is moved; created if missing. */
export function identity(folder: string | undefined): string {
  if (folder === undefined) return randomUUID();
  const file = join(folder, IDENTITY);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  const made = randomUUID();
  writeFileSync(file, `${made}\n`, { mode: 0o600, flag: "wx" });
  return made;
}
