import { open, readFile, stat, unlink } from "node:fs/promises";
import { codeOf } from "@svc/sdk";
import { atomicWrite, giveAsBefore } from "../base/atomic-file.ts";
import { fail } from "../base/errors.ts";
import { readText } from "../core/config/document.ts";
import { targetOf, unwritable } from "./file-turn.ts";

/** Options of a save. */
export interface SaveOptions {
  /** The text that the edit is based on: the save is refused if the file holds another one by now. */
  readonly expect?: string;
  /** Leave the content before in `<file>.bak.<timestamp>` (001:L9), one file for every save. */
  readonly backup?: boolean;
}

/**
 * Writes a configuration as a whole: after a crash or a full disk the file holds the old text or the new one. Keeps the file's mode,
 * else 0600, and its owner; follows a symbolic link. Resolves with the backup's path. Throws `SVC_CONFIG_CHANGED` and `SVC_CONFIG_UNWRITABLE` without
 * writing. To be called in a turn of the file, see `inTurn`.
 */
export async function saveDocument(file: string, text: string, options: SaveOptions = {}): Promise<{ readonly backup?: string }> {
  const target = targetOf(file);
  const before = await stat(target).catch(() => undefined);
  const requireExpected = () => {
    if (options.expect !== undefined && (before === undefined || readText(target) !== options.expect)) throw fail("SVC_CONFIG_CHANGED", { file });
  };
  requireExpected();
  let backup: string | undefined;
  try {
    if (options.backup === true && before !== undefined) backup = await keep(target, file, before.mode & 0o777);
    await atomicWrite(target, text, { mode: before === undefined ? 0o600 : before.mode & 0o777, ready: requireExpected });
    return backup === undefined ? {} : { backup };
  } catch (error) {
    if (backup !== undefined) await unlink(backup).catch(() => {});
    throw unwritable(file, error);
  }
}

/** Two saves in one millisecond still leave two copies: a name that exists is never written over. */
async function keep(target: string, file: string, mode: number): Promise<string> {
  const stamp = new Date().toISOString().replace(/[-:.]/g, "");
  for (let number = 0; ; number += 1) {
    const backup = `${file}.bak.${stamp}${number === 0 ? "" : `-${number}`}`;
    const handle = await open(backup, "wx", mode).catch((error) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
    if (handle === undefined) continue;
    try {
      await giveAsBefore(handle, target);
      await handle.writeFile(await readFile(target));
      return backup;
    } catch (error) {
      await unlink(backup);
      throw error;
    } finally {
      await handle.close();
    }
  }
}
