import { randomUUID } from "node:crypto";
import { realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { temporaryName } from "./atomic-file.ts";
import { fail } from "./errors.ts";
import { INSTANCE_EXPECTED, INSTANCE_FILE, readInstance } from "./instance-mark.ts";

/**
 * The identity of a data folder: random, made once, kept in it. A folder that was copied gets one of its own, one that was moved keeps
 * it. The caller holds the folder's lock.
 */
export function ensureInstance(folder: string): string {
  const known = readInstance(folder);
  if (known !== undefined) return known;
  const id = randomUUID();
  const path = join(folder, INSTANCE_FILE);
  const temporary = temporaryName(path);
  writeFileSync(temporary, `${JSON.stringify({ id, folder: realpathSync(folder), inode: statSync(folder).ino })}\n`, { mode: 0o600, flag: "wx" });
  renameSync(temporary, path);
  return id;
}

/** Throws `SVC_DAEMON_OTHER` for a request that names another data folder's daemon. */
export function requireMeant(headers: IncomingHttpHeaders, instance: string | undefined): void {
  const expected = headers[INSTANCE_EXPECTED];
  if (expected !== undefined && expected !== instance) throw fail("SVC_DAEMON_OTHER");
}
