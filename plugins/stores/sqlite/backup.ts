import { randomUUID } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { storeError } from "./database.ts";
import { fail } from "./errors.ts";

/** The worker's whole program. VACUUM INTO reads one state of the database in one piece: a copy page by page starts over at each write of another process. */
const PROGRAM = `
const { parentPort, workerData: { module, file, target } } = require("node:worker_threads");
const Database = require(module);
try {
  const source = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  source.prepare("VACUUM INTO ?").run(target);
  source.close();
  const copy = new Database(target, { readonly: true, fileMustExist: true });
  const found = copy.pragma("quick_check(1)", { simple: true });
  copy.close();
  parentPort.postMessage(found === "ok" ? {} : { code: "SQLITE_CORRUPT", message: "the copy is damaged: " + found });
} catch (error) {
  parentPort.postMessage({ code: error.code, message: error.message });
}`;

/**
 * Copies the database `file` as it is at one moment to `target`, which must not exist; also while a daemon writes to it, which is not
 * held up. The work is done on a thread of its own. Resolves with the copy's size in bytes when it is complete, checked and on the disk;
 * until then nothing is at `target`. A copy is a database like any other: put in the place of `svc.db`, with no `svc.db-wal` and
 * `svc.db-shm` beside it and no daemon running, a start goes on from it. Throws `SVC_BACKUP_FAILED`, and `SVC_STORE_CORRUPT` for damage.
 */
export async function backupDatabase(file: string, target: string): Promise<number> {
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  const failed = (reason: string, cause?: unknown) => fail("SVC_BACKUP_FAILED", { file, target, reason, ...(cause === undefined ? {} : { cause }) });
  if ((await stat(target).catch(() => undefined)) !== undefined) throw failed("there is a file of that name already");
  try {
    // Made here, so that only its owner reads it: SQLite fills an empty file and keeps its mode.
    await (await open(temporary, "wx", 0o600)).close();
    await copy(file, temporary);
    const handle = await open(temporary, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return (await stat(target)).size;
  } catch (error) {
    await rm(temporary, { force: true });
    const known = storeError(error, file) as { readonly code?: string };
    if (known.code === "SVC_STORE_CORRUPT") throw known;
    throw failed((error as Error).message, error);
  }
}

function copy(file: string, target: string): Promise<void> {
  const module = createRequire(import.meta.url).resolve("better-sqlite3");
  return new Promise((resolve, reject) => {
    const worker = new Worker(PROGRAM, { eval: true, workerData: { module, file, target }, execArgv: [] });
    worker.once("message", ({ code, message }: { code?: string; message?: string }) => {
      if (message === undefined) resolve();
      else reject(Object.assign(new Error(message), { code }));
    });
    worker.once("error", reject);
    worker.once("exit", (status) => reject(new Error(`the copying thread ended with ${status}`)));
  });
}

/** Brings the names in `folder` to the disk: a rename is there only when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder; NTFS journals the rename itself.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
