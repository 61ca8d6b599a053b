import { constants, existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { cp, lchown, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize, resolve } from "node:path";
import type { Cli } from "../cli.ts";
import { coded, fail } from "../errors.ts";
import { type Checksums, whyIncomplete } from "./checksums.ts";
import { type RestoreMark, restoreMarkOf } from "./half-restored.ts";
import { CONFIG, CONTENTS, type Contents, ENVIRONMENT, STATE } from "./take-backup.ts";

/** Result of a restore: the restored parts, and the copies of the previous ones. */
export interface Restored extends Contents {
  readonly kept: readonly string[];
}

const LOCK = "daemon.lock";

/**
 * Restores a backup over this folder's state, configuration and `.env`. The previous ones are kept beside them under other names. Throws
 * `SVC_CLI_BACKUP` for a folder that is not a complete backup, holds other files than were backed up or has a damaged database, and
 * `SVC_DAEMON_RUNNING` while a daemon holds the folder; then nothing was changed.
 */
export async function restoreBackup(cli: Cli, from: string): Promise<Restored> {
  const folder = resolve(from);
  const { checksums, ...contents } = readContents(folder);
  const incomplete = await whyIncomplete(folder, checksums);
  if (incomplete !== undefined) throw fail("SVC_CLI_BACKUP", { folder, reason: `it is damaged or incomplete: ${incomplete}` });
  const release = await holdFolder(cli.dataFolder);
  try {
    return { ...contents, kept: await putBack(cli, folder) };
  } finally {
    release();
  }
}

/** Keeps daemons off a data folder, where there is one: copying takes its time. Answers how it is given back. */
async function holdFolder(dataFolder: string): Promise<() => void> {
  if (!existsSync(dataFolder)) return () => {};
  const { tryLock } = await import("@svc/kernel/folder");
  const lock = tryLock(join(dataFolder, LOCK));
  if ("holder" in lock) throw coded("SVC_DAEMON_RUNNING", `A daemon (pid ${lock.holder.pid}) holds ${dataFolder}. Stop it first: svc daemon stop`);
  return () => lock.release();
}

/** Answers where what stood there before is kept. */
async function putBack(cli: Cli, folder: string): Promise<readonly string[]> {
  const { storeFor } = await import("../store.js");
  const state = join(folder, STATE);
  const store = await storeFor({ file: join(folder, CONFIG), dataFolder: state });
  const [problem] = (await store.check?.({ folder: state }))?.problems ?? [];
  if (problem !== undefined) throw fail("SVC_CLI_BACKUP", { folder, reason: `its database is damaged: ${problem}` });

  // Copied aside first: a disk that is full or a copy that breaks off changes nothing.
  const suffix = `before-restore-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  const moves = [
    { copy: join(folder, STATE), place: cli.dataFolder },
    { copy: join(folder, CONFIG), place: cli.file },
    { copy: join(folder, ENVIRONMENT), place: join(cli.folder, ".env") },
  ]
    .filter(({ copy }) => existsSync(copy))
    .map((move) => ({ ...move, fresh: join(dirname(move.place), `${basename(move.place)}.restoring`) }));
  await mkdir(cli.folder, { recursive: true });
  const mark = restoreMarkOf(cli.folder);
  // Of an earlier restore that was killed: it stays until one is done.
  const marked = existsSync(mark);
  try {
    for (const { copy, place, fresh } of moves) {
      await rm(fresh, { recursive: true, force: true });
      await cp(copy, fresh, { recursive: true, preserveTimestamps: true });
      await giveAllAsBefore(fresh, place);
    }
    writeFileSync(mark, JSON.stringify({ from: folder, suffix } satisfies RestoreMark), { mode: 0o600, flush: true });
  } catch (error) {
    for (const path of [...moves.map(({ fresh }) => fresh), ...(marked ? [] : [mark])]) await rm(path, { recursive: true, force: true });
    throw error;
  }
  const done: Renamed[] = [];
  const renamed = async (from: string, to: string) => {
    await rename(from, to);
    done.push({ from, to });
  };
  try {
    for (const { place, fresh } of moves) {
      if (existsSync(place)) await renamed(place, `${place}.${suffix}`);
      await renamed(fresh, place);
    }
  } catch (error) {
    // Such as a mount in the place of a file. What cannot be put back either is told by the mark.
    for (const { from, to } of done.reverse()) await rename(to, from);
    for (const path of [...moves.map(({ fresh }) => fresh), ...(marked ? [] : [mark])]) await rm(path, { recursive: true, force: true });
    throw error;
  }
  // Ours, which went with the folder.
  await rm(join(`${cli.dataFolder}.${suffix}`, LOCK), { force: true });
  await rm(mark);
  return done.filter(({ to }) => to.endsWith(suffix)).map(({ to }) => to);
}

/** A file or folder that was given another name. */
interface Renamed {
  readonly from: string;
  readonly to: string;
}

/**
 * Restored by root, everything belongs to whom the one before belonged to, else to whom its folder does: the daemon may run as that user. What lies
 * deepest is given first, by the descriptor of the copy, so that its owner to be cannot put a link in the way.
 */
async function giveAllAsBefore(fresh: string, place: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await lstat(place).catch(() => stat(dirname(place)));
  if (uid === 0 && gid === 0) return;
  const handle = await open(fresh, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const root = existsSync("/proc/self/fd") ? `/proc/self/fd/${handle.fd}` : fresh;
    // With their types: without them Node walks through links, out of the copy, and what they lead to would be given away.
    const below = (await handle.stat()).isDirectory() ? await readdir(root, { recursive: true, withFileTypes: true }) : [];
    const paths = below.map((entry) => join(entry.parentPath, entry.name));
    for (const path of paths.sort().reverse()) await lchown(path, uid, gid).catch(() => undefined);
    await handle.chown(uid, gid).catch(() => undefined);
  } finally {
    await handle.close();
  }
}

function readContents(folder: string): Contents & { readonly checksums: Checksums } {
  let contents: Contents & { readonly checksums: Checksums };
  try {
    contents = JSON.parse(readFileSync(join(folder, CONTENTS), "utf8"));
  } catch {
    throw fail("SVC_CLI_BACKUP", { folder, reason: `it has no ${CONTENTS}, so it is no backup or not a whole one` });
  }
  if (typeof contents?.takenAt !== "string" || !isChecksums(contents.checksums) || !existsSync(join(folder, STATE)))
    throw fail("SVC_CLI_BACKUP", { folder, reason: `its ${CONTENTS} or its folder ${STATE} is not what svc backup writes` });
  // A link would take the place of the data folder or the configuration, and lead anywhere.
  const link = [dirname(STATE), STATE, CONFIG, ENVIRONMENT].find((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.isSymbolicLink());
  if (link !== undefined) throw fail("SVC_CLI_BACKUP", { folder, reason: `its ${link} is a link, which svc backup never writes` });
  return contents;
}

/** Paths within the backup alone: others would tell whether a file of this machine is there. */
const isChecksums = (value: unknown): value is Checksums =>
  typeof value === "object" &&
  value !== null &&
  Object.keys(value).length > 0 &&
  Object.entries(value).every(([path, sum]) => typeof sum === "string" && !isAbsolute(path) && normalize(path) === path && !path.startsWith(".."));
