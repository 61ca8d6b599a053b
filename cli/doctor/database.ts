import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Cli } from "../cli.ts";
import { error, type Finding, ok } from "./finding.ts";

/** Could a start open the database? Reads it and changes nothing. */
export async function checkStore({ dataFolder }: Cli): Promise<Finding[]> {
  const file = join(dataFolder, "svc.db");
  if (!existsSync(file)) return [];
  const { checkDatabase } = await import("@svc/kernel");
  const [first, ...others] = checkDatabase(file, { quick: true });
  if (first === undefined) return [ok(`${file} is sound`)];
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return [error(`${file} cannot be used: ${first}${more}; see svc db check, and put a copy from before the damage in its place`)];
}
