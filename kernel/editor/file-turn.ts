import { realpathSync } from "node:fs";
import { readdir, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { codeOf, reasonOf } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { type FolderLock, tryLock } from "../base/folder-lock.ts";
import { processAlive } from "../base/process-identity.ts";

/** Timeout of waiting for the lock. */
const WAIT_MS = 60_000;
/** Waiting processes look again after up to so many milliseconds, each after another time. */
const LOOK_MS = 20;

/** The last change of each file in this process. */
const queues = new Map<string, Promise<unknown>>();

/** Returns the file that a change of `file` replaces: the target of a symbolic link. */
export function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return resolve(file);
    throw error;
  }
}

/**
 * Runs `work` under a lock of `file`: one after the other, in this process in the order of the calls, and across processes by a lock file beside it,
 * `.<name>.lock`. The lock of a dead process is taken over, and its temporary files are removed. Not reentrant. Throws `SVC_CONFIG_BUSY` after a
 * minute, `SVC_CONFIG_UNWRITABLE` if the folder is not writable.
 */
export async function inTurn<T>(file: string, work: () => Promise<T>): Promise<T> {
  const target = targetOf(file);
  const before = queues.get(target);
  const turn = (async () => {
    // The previous holder gives another process a chance first.
    if (before !== undefined) await before.then(() => pause(Math.random() * LOOK_MS));
    const lock = await take(target);
    try {
      await sweep(target);
      return await work();
    } finally {
      lock.release();
    }
  })();
  const settled = turn.catch(() => {});
  queues.set(target, settled);
  await settled;
  if (queues.get(target) === settled) queues.delete(target);
  return turn;
}

async function take(target: string): Promise<FolderLock> {
  const path = lockOf(target);
  for (let waited = 0; ; ) {
    const lock = attempt(target, path);
    if ("release" in lock) return lock;
    if (waited >= WAIT_MS) throw fail("SVC_CONFIG_BUSY", { file: target, pid: lock.holder.pid, since: new Date(lock.holder.startedAt).toISOString() });
    const ms = LOOK_MS * (0.2 + Math.random());
    waited += ms;
    await pause(ms);
  }
}

const lockOf = (target: string): string => join(dirname(target), `.${basename(target)}.lock`);

function attempt(target: string, path: string): ReturnType<typeof tryLock> {
  try {
    return tryLock(path);
  } catch (error) {
    throw unwritable(target, error);
  }
}

/** Converts the error of a failed write into one with the reason and the next step; an `SVC_` error stays unchanged. */
export function unwritable(file: string, error: unknown): unknown {
  const code = String(codeOf(error));
  const reason = REASONS[code];
  if (reason === undefined) return code.startsWith("SVC_") ? error : fail("SVC_CONFIG_UNWRITABLE", { file, reason: reasonOf(error), cause: error });
  return fail("SVC_CONFIG_UNWRITABLE", { file, reason: reason(dirname(file)), cause: error });
}

const folderClosed = (folder: string): string =>
  `the folder ${folder} takes no new files, and a change replaces the file as a whole; let the user of svc write there`;

const REASONS: Readonly<Record<string, (folder: string) => string>> = {
  EACCES: folderClosed,
  EPERM: folderClosed,
  EROFS: (folder) => `the file system of ${folder} is read-only`,
  EBUSY: () => "the file itself is a mount, which cannot be replaced; mount its folder in place of the file",
  ENOSPC: () => "the disk is full",
  EDQUOT: () => "the quota of the disk is used up",
  ENOENT: (folder) => `the folder ${folder} does not exist`,
};

/** Removes temporary files of killed writers: only the holder of the lock writes. */
async function sweep(target: string): Promise<void> {
  const folder = dirname(target);
  const own = `.${basename(target)}.`;
  const locks = `.${basename(lockOf(target))}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    const left = (name.startsWith(own) && TEMPORARY.test(name.slice(own.length))) || (name.startsWith(locks) && isDead(name.slice(locks.length)));
    if (left) await unlink(join(folder, name)).catch(() => {});
  }
}

const TEMPORARY = /^(\d+)\.\d+\.tmp$/;
const isDead = (rest: string): boolean => {
  const writer = TEMPORARY.exec(rest)?.[1];
  return writer !== undefined && !processAlive(Number(writer));
};
