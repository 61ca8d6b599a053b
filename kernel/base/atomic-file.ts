import { randomInt } from "node:crypto";
import { type FileHandle, lstat, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { processAlive } from "./process-identity.ts";

/** `.<name>.<pid>.<n>.tmp`: hidden, of one writer, with a name that no person would give. */
const TEMPORARY = /^\..+\.(\d+)\.\d+\.tmp$/;

/** Starts anywhere: in a container every daemon has the same process id, and a killed one may have left its files. */
let writes = randomInt(2 ** 47);

/** A name for a temporary file beside `file`, not used before, that `sweepTemporary` knows. */
export function temporaryName(file: string): string {
  writes += 1;
  return join(dirname(file), `.${basename(file)}.${process.pid}.${writes}.tmp`);
}

/**
 * Replaces `file` as a whole: after a crash or a full disk it holds the old bytes or the new ones, never a part. Resolves after the bytes and the
 * name are on disk. The folder must exist; a symbolic link is replaced, not followed. `mode` defaults to 0600. `ready` is called right before the
 * replacement, and may throw to leave the file as it is.
 */
export async function atomicWrite(
  file: string,
  data: string | Uint8Array,
  options: { readonly mode?: number; readonly ready?: () => void } = {},
): Promise<void> {
  const temporary = temporaryName(file);
  try {
    const handle = await open(temporary, "wx", options.mode ?? 0o600);
    try {
      await giveAsBefore(handle, file);
      await handle.writeFile(data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    options.ready?.();
    await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(file));
}

/**
 * Gives a new file of root the owner and group of `file`, which it takes the place of, or else of the folder: the daemon that reads it may run as that
 * user. By its descriptor: the owner of the folder could put a link to any file under a name. Root that may not do this, as in some containers, keeps it.
 */
export async function giveAsBefore(fresh: FileHandle, file: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await lstat(file).catch(() => stat(dirname(file)));
  if (uid !== 0 || gid !== 0) await fresh.chown(uid, gid).catch(() => undefined);
}

/**
 * Removes temporary files that killed writers left in `folder`: older than this process, and their writer is gone. Files of other names are never
 * touched. Resolves with the removed names; empty for a missing folder.
 */
export async function sweepTemporary(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const removed: string[] = [];
  for (const name of names) {
    const writer = Number(TEMPORARY.exec(name)?.[1]);
    if (Number.isNaN(writer) || (writer !== process.pid && processAlive(writer))) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.mtimeMs >= performance.timeOrigin) continue;
    await unlink(path);
    removed.push(name);
  }
  return removed;
}

/** Syncs `folder` to disk: a rename is durable only after the fsync of its folder. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder; NTFS journals the rename itself.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
