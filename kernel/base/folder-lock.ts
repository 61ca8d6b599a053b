import { createHash, randomUUID } from "node:crypto";
import { closeSync, fstatSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "@svc/sdk";
import { temporaryName } from "./atomic-file.ts";
import { fail } from "./errors.ts";
import { processAlive, processIdentity } from "./process-identity.ts";

/** The right to be the one daemon of a data folder. */
export interface FolderLock {
  /**
   * Looks every two seconds whether the lock file is still there, and puts it back when it was removed. `onLost` is called once, with the
   * reason, when that fails: another process has the folder now, or the folder is gone, also where a new one has its name.
   */
  watch(onLost: (reason: string) => void): void;
  /** Gives it up. Idempotent. */
  release(): void;
}

/** Who holds a data folder. */
export interface LockHolder {
  readonly pid: number;
  /** Milliseconds since 1970, when the lock was taken. */
  readonly startedAt: number;
}

interface LockRecord extends LockHolder {
  /** Tells the holder from a later process with its id; absent where the system does not say. */
  readonly identity?: string;
  /** Makes each lock file's content unique. */
  readonly nonce: string;
}

const NAME = "daemon.lock";
const LOOK_EVERY_MS = 2_000;

/**
 * Takes `folder` for this process. Throws `SVC_DAEMON_RUNNING` with the `pid` of a live holder; the lock of a process that is
 * gone, also one whose id was given to another, is taken over, by exactly one of those who try.
 */
export function lockFolder(folder: string): FolderLock {
  const taken = tryLock(join(folder, NAME));
  if ("holder" in taken) throw fail("SVC_DAEMON_RUNNING", { pid: taken.holder.pid, folder });
  return taken;
}

/** Takes the lock file `path` for this process, or says which live process holds it. */
export function tryLock(path: string): FolderLock | { readonly holder: LockHolder } {
  const identity = processIdentity(process.pid);
  const mine = JSON.stringify({ pid: process.pid, startedAt: Date.now(), ...(identity === undefined ? {} : { identity }), nonce: randomUUID() });
  const holder = take(path, mine);
  if (holder !== undefined) return { holder: { pid: holder.pid, startedAt: holder.startedAt } };
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

/** Undefined where it is gone already: the first look says so. */
function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, "r");
  } catch {
    return undefined;
  }
}

/** Why the lock with the content `mine` is lost; undefined when it is there, or there again. */
async function lossOf(path: string, mine: string, folder: number | undefined, isLocked: () => boolean): Promise<string | undefined> {
  try {
    const content = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (content === mine || !isLocked()) return undefined;
    // What a start has put into it is not in the new one.
    if (folder !== undefined && statSync(dirname(path)).ino !== fstatSync(folder).ino) return `the folder of ${path} was removed and made anew`;
    const holder = take(path, mine);
    return holder === undefined ? undefined : `${path} was removed, and process ${holder.pid} has taken the folder`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? `the folder of ${path} is gone` : code === undefined ? message : undefined;
  }
}

/** The live holder of `folder`, if there is one. */
export function lockHolder(folder: string): LockHolder | undefined {
  const content = read(join(folder, NAME));
  const record = content === undefined ? undefined : liveRecord(content);
  return record && { pid: record.pid, startedAt: record.startedAt };
}

/**
 * Creates the lock file `path` with the content `mine`, unless a live process has it: then answers with that holder. A contender may
 * replace a dead holder's file only while it has the claim named after that file's content; the content is unique, so a slow contender
 * finds another file under its claim and starts again.
 */
function take(path: string, mine: string): LockRecord | undefined {
  for (;;) {
    if (createWhole(path, mine)) return undefined;
    const content = read(path);
    if (content === undefined) continue;
    const holder = liveRecord(content);
    if (holder !== undefined) return holder;
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

/** Creates `path` with its whole content in one step; false when it is there already. */
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
    // On a full disk it is there, without its content.
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
    throw error;
  }
}

/** The record when its process is alive. What is no record, such as a file emptied by a power cut, has no live holder. */
function liveRecord(content: string): LockRecord | undefined {
  let record: Partial<LockRecord>;
  try {
    record = JSON.parse(content) as Partial<LockRecord>;
  } catch {
    return undefined;
  }
  const { pid, startedAt, identity, nonce } = record ?? {};
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0 || typeof startedAt !== "number" || typeof nonce !== "string") return undefined;
  if (!processAlive(pid)) return undefined;
  const now = processIdentity(pid);
  if (identity !== undefined && now !== undefined && identity !== now) return undefined;
  return { pid, startedAt, nonce, ...(identity === undefined ? {} : { identity }) };
}
