import { createHash, randomUUID } from "node:crypto";
import { closeSync, existsSync, fstatSync, linkSync, openSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { readFile, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, sleep } from "@svc/sdk";
import { temporaryName } from "./atomic-file.ts";
import { fail } from "./errors.ts";
import { processAlive, processIdentity, processSpace } from "./process-identity.ts";

/** The right to be the one daemon of a data folder. */
export interface FolderLock {
  /**
   * Touches the lock file every two seconds, so that other containers and machines see it held, and recreates it when it was removed. `onLost` is
   * called once, with the reason, when that fails: another process has locked the folder, or the folder is gone, even if a new one has its name.
   */
  watch(onLost: (reason: string) => void): void;
  /** Gives it up. Idempotent. */
  release(): void;
}

/** Holder of a data folder's lock. */
export interface LockHolder {
  readonly pid: number;
  /** Milliseconds since 1970, when the lock was taken. */
  readonly startedAt: number;
  /** It runs in another container, or on another machine: its id says nothing here. */
  readonly elsewhere?: true;
}

interface LockRecord extends LockHolder {
  /** Distinguishes the holder from a later process with the same id; absent if the system does not provide it. */
  readonly identity?: string;
  /** Where its process id counts; absent if the system does not provide it. */
  readonly space?: string;
  /** Makes each lock file's content unique. */
  readonly nonce: string;
}

const NAME = "daemon.lock";
const LOOK_EVERY_MS = 2_000;
/** A holder elsewhere that has not touched its lock for so long is dead. */
const UNTOUCHED_MS = 10_000;
const WAIT_MS = 100;
/** File of the data folder in which a store keeps room for a full disk. A store that opens writes it anew if there is room. */
const BALLAST = "ballast";
/** Bytes that a start writes at most before the store is open and can give up the ballast itself. */
const START_NEEDS = 64 * 1024;

/**
 * Locks `folder` for this process. Throws `SVC_DAEMON_RUNNING` with the `pid` of a live holder; the lock of a dead process, also one whose id was
 * reused, is taken over, by exactly one of the contenders. Throws `SVC_LOCK_FOLDER` where a folder has the name of the lock.
 */
export function lockFolder(folder: string): FolderLock {
  const taken = tryLock(join(folder, NAME));
  if (!("holder" in taken)) return taken;
  const { pid, elsewhere } = taken.holder;
  throw fail("SVC_DAEMON_RUNNING", { pid: elsewhere === undefined ? pid : `${pid} of another container or machine`, folder });
}

/** Waits while it cannot be told whether a holder elsewhere lives: one that does touches its lock. Resolves at once where no such lock was touched lately. */
export async function holderTold(folder: string): Promise<void> {
  const path = join(folder, NAME);
  const first = touchedAt(path);
  while (isElsewhere(read(path)) && isFresh(path) && touchedAt(path) === first) await sleep(WAIT_MS);
}

/** Takes the lock file `path` for this process, or says which live process holds it. */
export function tryLock(path: string): FolderLock | { readonly holder: LockHolder } {
  const identity = processIdentity(process.pid);
  const space = processSpace();
  const where = { ...(identity === undefined ? {} : { identity }), ...(space === undefined ? {} : { space }) };
  const mine = JSON.stringify({ pid: process.pid, startedAt: Date.now(), ...where, nonce: randomUUID() });
  const holder = take(path, mine);
  if (holder !== undefined) return { holder };
  let locked = true;
  let timer: NodeJS.Timeout | undefined;
  /** The folder itself, whatever is called like it later: while it is open no other one gets its number. */
  let folder: number | undefined;
  return {
    watch(onLost) {
      folder = openFolder(dirname(path));
      timer = setInterval(async () => {
        const reason = await lossOf(path, mine, folder, () => locked);
        if (reason === undefined || !locked) return;
        clearInterval(timer);
        onLost(reason);
      }, LOOK_EVERY_MS);
      timer.unref();
    },
    release() {
      clearInterval(timer);
      if (locked && read(path) === mine) rmSync(path, { force: true });
      locked = false;
      if (folder !== undefined) closeSync(folder);
      folder = undefined;
    },
  };
}

/** Returns undefined if the folder is already gone: the first check reports it. */
function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, "r");
  } catch {
    return undefined;
  }
}

/** Returns why the lock with the content `mine` is lost; undefined if it exists, or was recreated. */
async function lossOf(path: string, mine: string, folder: number | undefined, isLocked: () => boolean): Promise<string | undefined> {
  try {
    const content = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (content === mine) await utimes(path, new Date(), new Date()).catch(() => {});
    if (content === mine || !isLocked()) return undefined;
    // The new folder lacks the files that a start has put into the old one.
    if (folder !== undefined && statSync(dirname(path)).ino !== fstatSync(folder).ino) return `the folder of ${path} was removed and made anew`;
    const holder = take(path, mine);
    return holder === undefined ? undefined : `${path} was removed, and process ${holder.pid} has taken the folder`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? `the folder of ${path} is gone` : code === undefined ? message : undefined;
  }
}

/** The live holder of `folder`, if there is one. Throws `SVC_LOCK_FOLDER`. */
export function lockHolder(folder: string): LockHolder | undefined {
  const content = read(join(folder, NAME));
  const record = content === undefined ? undefined : liveRecord(content);
  return record && { pid: record.pid, startedAt: record.startedAt };
}

/** Throws `SVC_DAEMON_RUNNING` while a live process holds `folder`. */
export function requireUnheld(folder: string): void {
  const holder = lockHolder(folder);
  if (holder !== undefined) throw fail("SVC_DAEMON_RUNNING", { pid: holder.pid, folder });
}

/**
 * Calls `write`, with which a start begins to write into the data folder `folder`. On a full disk the store's ballast is given up for it, unless a
 * daemon runs there. Throws `SVC_FOLDER_FULL` when there is no room even so, and `SVC_DAEMON_RUNNING`.
 */
export function withRoom<T>(folder: string, write: () => T): T {
  if (roomIn(folder) < START_NEEDS) giveUpBallast(folder);
  try {
    return write();
  } catch (error) {
    if (codeOf(error) !== "ENOSPC" && codeOf(error) !== "EDQUOT") throw error;
    // A quota, or the number of files, was used up while the disk has bytes left.
    if (giveUpBallast(folder)) return withRoom(folder, write);
    requireUnheld(folder);
    throw fail("SVC_FOLDER_FULL", { folder, cause: error });
  }
}

/** Free bytes, as many as the system reports; the folder need not exist yet. */
function roomIn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns whether there was one to give up. */
function giveUpBallast(folder: string): boolean {
  const file = join(folder, BALLAST);
  if (!existsSync(file) || lockHolder(folder) !== undefined) return false;
  rmSync(file, { force: true });
  return true;
}

/**
 * Creates the lock file `path` with the content `mine`, unless a live process holds it: then returns that holder. A contender may replace a dead
 * holder's file only while it has the claim named after that file's content; the content is unique, so a slow contender finds another file under its
 * claim and starts again.
 */
function take(path: string, mine: string): LockHolder | undefined {
  for (;;) {
    if (createWhole(path, mine)) return undefined;
    const content = read(path);
    if (content === undefined) continue;
    const holder = liveRecord(content);
    if (holder !== undefined) return { pid: holder.pid, startedAt: holder.startedAt };
    const record = recordOf(content);
    if (record !== undefined && isElsewhere(content) && isFresh(path)) return { pid: record.pid, startedAt: record.startedAt, elsewhere: true };
    const claim = `${path}.${createHash("sha256").update(content).digest("hex").slice(0, 16)}`;
    const rival = take(claim, mine);
    if (rival !== undefined) return rival;
    try {
      if (read(path) === content) {
        replace(path, mine);
        return undefined;
      }
    } finally {
      rmSync(claim, { force: true });
    }
  }
}

/** Creates `path` with its whole content in one step; returns false if it already exists. */
function createWhole(path: string, content: string): boolean {
  const temporary = written(path, content);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function replace(path: string, content: string): void {
  renameSync(written(path, content), path);
}

function written(path: string, content: string): string {
  const temporary = temporaryName(path);
  try {
    writeFileSync(temporary, content, { mode: 0o600, flag: "wx" });
  } catch (error) {
    // On a full disk the file exists, but without its content.
    rmSync(temporary, { force: true });
    throw error;
  }
  return temporary;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "EISDIR") throw fail("SVC_LOCK_FOLDER", { file: path });
    throw error;
  }
}

/** Returns the record if its process is alive here. */
function liveRecord(content: string): LockRecord | undefined {
  const record = recordOf(content);
  if (record === undefined || isElsewhere(content) || !processAlive(record.pid)) return undefined;
  const now = processIdentity(record.pid);
  return record.identity !== undefined && now !== undefined && record.identity !== now ? undefined : record;
}

/** An invalid record, such as a file emptied by a power cut, has no holder. */
function recordOf(content: string): LockRecord | undefined {
  let record: Partial<LockRecord>;
  try {
    record = JSON.parse(content) as Partial<LockRecord>;
  } catch {
    return undefined;
  }
  const { pid, startedAt, nonce } = record ?? {};
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0 || typeof startedAt !== "number" || typeof nonce !== "string") return undefined;
  return record as LockRecord;
}

/** Whether the process of that lock cannot be asked here whether it lives. */
function isElsewhere(content: string | undefined): boolean {
  const space = content === undefined ? undefined : recordOf(content)?.space;
  const here = processSpace();
  return space !== undefined && here !== undefined && space !== here;
}

const touchedAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs;
const isFresh = (path: string): boolean => Math.abs(Date.now() - (touchedAt(path) ?? 0)) < UNTOUCHED_MS;
