import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rmdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Confined, Files, SvcError } from "@svc/sdk";
import { guardedFiles } from "@svc/sdk/host";
import { atomicWrite } from "../../base/atomic-file.ts";
import type { LibraryDeps, LoadedCapability } from "../../base/capability.ts";
import { fail } from "../../base/errors.ts";
import { type FolderLock, tryLock } from "../../base/folder-lock.ts";
import { type ProtectedDeps, protectedFiles } from "../../base/protected-files.ts";
import { type ConfinedFolders, confine, fileError } from "./confine.ts";

const { O_APPEND, O_CREAT, O_RDONLY, O_WRONLY } = constants;
/** Number of entries of a folder that are read concurrently. */
const BATCH = 64;
/** Time that `change` waits for another process, and its polling interval. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 10;

/** The capability `files`. */
export const filesCapability = ({ files: deps }: LibraryDeps): LoadedCapability<Files> => ({
  make: ({ id, need }) => guardedFiles(createFiles({ own: join(deps.dataFolder, "plugins", id), deps }), need),
});

/**
 * The files of one plugin: its own folder and the data folder, each made (0700) when it is first used, and folders that it
 * names, in which the daemon's own files are out of reach but for the plugin's own folder. Relative roots start at the daemon's
 * folder: the current one of the process depends on where it was started, and may be `/`.
 */
export function createFiles({ own, deps }: { readonly own: string; readonly deps: ProtectedDeps }): Files {
  const absolute = (root: string) => resolve(deps.folder, root);
  return {
    own: createFolder(own),
    data: createFolder(deps.dataFolder),
    under: (...roots) => confined(confine(roots.map(absolute), { kept: protectedFiles(deps, own) })),
  };
}

/** One folder and everything below it, created (0700) on first use. */
export const createFolder = (folder: string): Confined => confined(confine([folder], { prepare: () => make(folder) }));

/** An existing folder that this process may not change is not an error before something is written. */
const make = (folder: string): Promise<unknown> =>
  mkdir(folder, { recursive: true, mode: 0o700 }).catch(async (error) => {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) throw error;
  });

/**
 * A file with a second name (hard link) is neither read nor appended to: the other name may lie outside, which cannot be detected. `write` puts a new
 * file in its place, so it needs no such rule.
 */
function confined(deps: ConfinedFolders): Confined {
  const inOrder = oneAtATime();

  async function append(path: string, data: string): Promise<void> {
    await deps.atParent(path, true, async (file) => {
      const handle = await deps.openLeaf(path, file, O_WRONLY | O_APPEND | O_CREAT, 0o600);
      try {
        await requireFile(handle, path, deps);
        const bytes = Buffer.from(data);
        const { bytesWritten } = await handle.write(bytes);
        if (bytesWritten < bytes.length) throw fail("SVC_FILE_FAILED", { file: path, done: "appended to in full", reason: "ENOSPC" });
      } catch (error) {
        throw fileError(error, path, "appended to");
      } finally {
        await handle.close();
      }
    });
  }

  const folder: Confined = {
    roots: deps.roots,
    async read(path, maxBytes) {
      const handle = await deps.open(path, O_RDONLY);
      try {
        const { size } = await requireFile(handle, path, deps);
        if (size > maxBytes) throw fail("SVC_FILE_TOO_LARGE", { file: path, limit: maxBytes });
        return await readAtMost(handle, path, maxBytes);
      } catch (error) {
        throw fileError(error, path, "read");
      } finally {
        await handle.close();
      }
    },
    write: (path, data) =>
      deps.atParent(path, true, async (file) => {
        const before = await lstat(file).catch(() => undefined);
        if (before?.isSymbolicLink()) throw deps.refuse(path);
        if (before !== undefined && !before.isFile()) throw fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
        await atomicWrite(file, data, { mode: before === undefined ? 0o600 : before.mode & 0o777 }).catch((error) => {
          throw fileError(error, path, "written");
        });
      }),
    change: async (path, maxBytes, edit) =>
      inOrder(deps.spell(path), () =>
        deps.atParent(path, true, async (file) => {
          const lock = await locked(join(dirname(file), `.${basename(file)}.lock`), path).catch((error) => {
            throw fileError(error, path, "changed");
          });
          try {
            const before = await folder.read(path, maxBytes).catch((error: SvcError) => {
              if (error.code === "SVC_FILE_MISSING") return undefined;
              throw error;
            });
            const after = await edit(before);
            if (after !== undefined) await folder.write(path, after);
          } finally {
            lock.release();
          }
        }),
      ),
    append: async (path, data) => inOrder(deps.spell(path), () => append(path, data)),
    list: (path) =>
      deps.folder(path, (at, shows) =>
        entries(at, shows).catch((error) => {
          throw fileError(error, path, "listed");
        }),
      ),
    async resolve(path) {
      const { real, missing } = await deps.place(path);
      return join(real, ...missing);
    },
    async remove(path) {
      try {
        await deps.atParent(path, false, async (file) => {
          await ((await lstat(file)).isDirectory() ? rmdir(file) : unlink(file));
        });
      } catch (error) {
        const known = fileError(error, path, "removed");
        if (known.code !== "SVC_FILE_MISSING") throw known;
      }
    },
  };
  return folder;
}

/** Work on one key runs in the order of the calls, each when the one before has ended, however it ended. */
function oneAtATime(): (key: string, work: () => Promise<void>) => Promise<void> {
  const last = new Map<string, Promise<void>>();
  return async (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    last.set(key, settled);
    try {
      await turn;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}

async function locked(lockFile: string, path: string): Promise<FolderLock> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const lock = tryLock(lockFile);
    if (!("holder" in lock)) return lock;
    if (performance.now() > until) throw fail("SVC_FILE_BUSY", { file: path, pid: lock.holder.pid });
    await pause(LOOK_MS);
  }
}

async function requireFile(handle: FileHandle, path: string, deps: ConfinedFolders): Promise<Stats> {
  const found = await handle.stat();
  if (!found.isFile()) throw fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
  if (found.nlink > 1) throw fail("SVC_FILE_LINKED", { file: path, roots: deps.roots.join(", ") });
  await deps.admit(path, found);
  return found;
}

/** Sorted by name. Entries that vanish meanwhile are skipped; links and devices are `other`, and no link is followed. */
async function entries(folder: string, shows: (name: string) => boolean): ReturnType<Confined["list"]> {
  const names = (await readdir(folder)).filter(shows).sort();
  const found: Awaited<ReturnType<Confined["list"]>>[number][] = [];
  for (let from = 0; from < names.length; from += BATCH) {
    const batch = await Promise.all(
      names.slice(from, from + BATCH).map(async (name) => ({ name, stats: await lstat(join(folder, name)).catch(() => undefined) })),
    );
    for (const { name, stats } of batch) {
      if (stats === undefined) continue;
      const kind = stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
      found.push({ name, kind, size: stats.size, mtimeMs: stats.mtimeMs });
    }
  }
  return found;
}

/** Counts while reading: a file may grow meanwhile, and some report no size. */
async function readAtMost(handle: FileHandle, path: string, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of handle.createReadStream({ end: maxBytes, autoClose: false, highWaterMark: 1 << 18 })) {
    total += chunk.length;
    if (total > maxBytes) throw fail("SVC_FILE_TOO_LARGE", { file: path, limit: maxBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
