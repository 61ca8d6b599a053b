import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "@svc/sdk";

/** The file of the data folder that tells it from every other. */
export const IDENTITY = "store-postgres.id";

/** What the data folder is called in the schema, wherever it is moved to; made where there is none. */
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
