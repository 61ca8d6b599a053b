import { type Dirent, existsSync, realpathSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readdir, readlink, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { isVirtual } from "../virtual-folder.ts";
import { checksumsOf } from "./checksums.ts";

/** The list of contents, written last: a folder without it is an incomplete backup. */
export const CONTENTS = "backup.json";
/**
 * Folder of the secrets in a backup, wherever the backup is put and under any name: the daemon gives plugins no access to a folder of that name
 * (`kernel/base/protected-files.ts`).
 */
const INSIDE = "svc-backup-secrets";
/** The data folder within a backup. */
export const STATE = join(INSIDE, "state");
/** The configuration within a backup, whatever it is called outside. */
export const CONFIG = join(INSIDE, "svc.json");
/** The place of the `.env` file in a backup. */
export const ENVIRONMENT = join(INSIDE, ".env");

/** Description of a backup's contents. */
export interface Contents {
  readonly version: string;
  /** ISO time. */
  readonly takenAt: string;
  readonly from: string;
  readonly files: number;
  readonly bytes: number;
  /** The store that keeps the state elsewhere: the backup does not contain it. */
  readonly stateIn?: string;
}

/** Of a running daemon, of this machine, or made anew: nothing that a restored folder needs. */
const LEFT_OUT: ReadonlySet<string> = new Set(["daemon.json", "daemon.lock", "instance.json", "local-secret", "svc.schema.json", "upgrading.json"]);

/** Whether a file is excluded: temporary files of unfinished writes, and logs. */
const isPassing = (name: string): boolean => /\.tmp$/.test(name) || /^daemon\.log/.test(name);

/**
 * Copies the state, the configuration and `.env` of this folder into a new folder that only its owner can read, whether the daemon runs or not. The
 * store's state is a consistent snapshot. Agents' workspaces are not included.
 */
export async function takeBackup(cli: Cli, to: string | undefined, version: string): Promise<Contents & { readonly folder: string }> {
  if (!existsSync(cli.dataFolder)) throw fail("SVC_CLI_MISSING", { what: `data folder ${cli.dataFolder} to back up`, next: "svc daemon start" });
  const takenAt = new Date().toISOString();
  const folder = resolve(to ?? join(cli.folder, `svc-backup-${takenAt.replace(/[:.]/g, "-")}`));
  if (existsSync(folder)) throw fail("SVC_CLI_EXISTS", { what: folder, next: "name another folder: svc backup <folder>" });
  // Node's mkdir never returns there.
  if (isVirtual(folder)) throw fail("SVC_CLI_USAGE", { reason: `${folder} is in a file system of the kernel, which keeps no files; name a folder elsewhere` });
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(join(partial, STATE), { recursive: true, mode: 0o700 });
  await chmod(partial, 0o700);
  try {
    if (`${realpathSync(partial)}/`.startsWith(`${realpathSync(cli.dataFolder)}/`))
      throw fail("SVC_CLI_USAGE", { reason: `${folder} lies in the data folder, which is what is copied; name a folder elsewhere` });
    const { storeFor } = await import("../store.js");
    const store = await storeFor(cli);
    await copyState(cli.dataFolder, join(partial, STATE), new Set([...LEFT_OUT, ...(store.files ?? [])]));
    await store.backup?.({ folder: cli.dataFolder, to: join(partial, STATE) });
    for (const [file, name] of [[cli.file, CONFIG] as const, [join(cli.folder, ".env"), ENVIRONMENT] as const]) {
      if (!existsSync(file)) continue;
      await cp(file, join(partial, name), { dereference: true });
      await chmod(join(partial, name), 0o600);
    }
    const elsewhere = store.backup === undefined ? { stateIn: store.name } : {};
    const { checksums, ...size } = await checksumsOf(partial);
    const contents: Contents = { version, takenAt, from: cli.folder, ...size, ...elsewhere };
    await writeFile(join(partial, CONTENTS), `${JSON.stringify({ ...contents, checksums }, null, 2)}\n`, { mode: 0o600 });
    await rename(partial, folder);
    return { folder, ...contents };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

const MOST_TRIES = 50;

/** Copies files, folders and links as links. Unlike `cp` it bears that files go while it copies, and leaves pipes and sockets out. */
async function copyState(from: string, to: string, leftOut: ReadonlySet<string> = new Set()): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (leftOut.has(entry.name) || isPassing(entry.name)) continue;
    await copyPresent(entry, join(from, entry.name), join(to, entry.name));
  }
}

/** Copies an entry; one that has vanished by then is skipped, one that vanishes and reappears is retried. */
async function copyPresent(entry: Dirent, from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await copyEntry(entry, from, to);
    } catch (error) {
      const vanished = (error as NodeJS.ErrnoException).code === "ENOENT" && existsSync(dirname(to));
      if (!vanished || tries >= MOST_TRIES) throw error;
      if (!existsSync(from)) return;
    }
  }
}

async function copyEntry(entry: Dirent, from: string, to: string): Promise<void> {
  if (entry.isSymbolicLink()) return symlink(await readlink(from), to);
  if (!entry.isFile() && !entry.isDirectory()) return;
  const { mode, atime, mtime } = await stat(from);
  if (entry.isFile()) await copyFile(from, to);
  else {
    await mkdir(to, { recursive: true, mode: 0o700 });
    await copyState(from, to);
    await chmod(to, mode & 0o777);
  }
  await utimes(to, atime, mtime);
}
