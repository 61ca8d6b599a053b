import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { codeOf, type SvcError } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Protected } from "../../base/protected-files.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** `..` as a part of the path, spelled out or percent-encoded, and NUL. */
const TRAVERSAL = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\]|%2f|%5c)|\0|%00/i;

const BY_DESCRIPTOR = existsSync("/proc/self/fd");

/** A path as far as it exists, links resolved, and the names below it that do not exist. */
export interface Place {
  readonly real: string;
  readonly missing: readonly string[];
}

/** Folders, and the guarantee that every file opened through here lies below one of them, even if links are moved meanwhile. */
export interface ConfinedFolders {
  readonly roots: readonly string[];
  /** Returns the absolute form of a path, without resolving links. Throws `SVC_FILE_OUTSIDE`. */
  spell(path: string): string;
  /** Where a path really is. Throws `SVC_FILE_OUTSIDE`, also for a link to nowhere. */
  place(path: string): Promise<Place>;
  /** Opens an existing file or folder where it really is. */
  open(path: string, flags: number): Promise<FileHandle>;
  /**
   * Holds an existing folder open and passes `work` a path that stays with that very folder, even if its name is reused for another. `shows` returns
   * whether a name in it may be listed.
   */
  folder<T>(path: string, work: (at: string, shows: (name: string) => boolean) => Promise<T>): Promise<T>;
  /** The same for the folder a file lies in, with the path of the file below it. With `make` missing folders are made (0700). */
  atParent<T>(path: string, make: boolean, work: (file: string) => Promise<T>): Promise<T>;
  /** Opens a name in a folder that `atParent` holds; a link is refused. */
  openLeaf(path: string, file: string, flags: number, mode: number): Promise<FileHandle>;
  refuse(path: string): SvcError;
  /** Throws when an open file is a protected one by another name. */
  admit(path: string, file: { readonly dev: number; readonly ino: number }): Promise<void>;
}

/** Options of a confinement beside its roots. */
export interface ConfineOptions {
  /** Runs before each use. */
  readonly prepare?: () => Promise<unknown>;
  /** Below the roots and out of reach all the same. */
  readonly kept?: Protected;
}

/** Confines to `roots`; relative paths start at the first. */
export function confine(given: readonly string[], { prepare = async () => undefined, kept }: ConfineOptions = {}): ConfinedFolders {
  const roots = given.map((root) => resolve(root));
  const refuse = (path: string) => fail("SVC_FILE_OUTSIDE", { file: path, roots: roots.join(", ") });

  const keepOff = (path: string) => fail("SVC_FILE_PROTECTED", { file: path });
  const isKept = (real: string): boolean => kept?.holds(real) === true;

  async function realRoots(): Promise<readonly string[]> {
    const found = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
    return found.filter((root) => root !== undefined);
  }

  function spell(path: string): string {
    const [first] = roots;
    if (first === undefined || TRAVERSAL.test(path)) throw refuse(path);
    return isAbsolute(path) ? resolve(path) : join(first, path);
  }

  async function place(path: string): Promise<Place> {
    const spelled = spell(path);
    await prepare();
    const real = await realRoots();
    if (real.length === 0) throw fail("SVC_FILE_MISSING", { file: roots[0] });
    // Check before disk access, so that the caller does not learn which paths exist elsewhere.
    if (!isBelow(spelled, roots) && !isBelow(spelled, real)) throw refuse(path);
    const missing: string[] = [];
    for (let at = spelled; ; ) {
      const found = await realpath(at).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" && dirname(at) !== at) return undefined;
        throw translate(error, path, "found");
      });
      if (found !== undefined) {
        if (!isBelow(found, real)) throw refuse(path);
        if (isKept(join(found, ...missing))) throw keepOff(path);
        return { real: found, missing };
      }
      const there = await lstat(at).catch(() => undefined);
      if (there?.isSymbolicLink()) throw refuse(path);
      // Another writer created it in between: checked again.
      if (there !== undefined) continue;
      missing.unshift(basename(at));
      at = dirname(at);
    }
  }

  /** The only place that trusts a descriptor: after verifying the path it points to. */
  async function openChecked(path: string, at: string, flags: number, mode?: number): Promise<{ readonly handle: FileHandle; readonly where: string }> {
    const handle = await open(at, flags | O_NOFOLLOW | O_NONBLOCK, mode).catch((error) => {
      throw translate(error, path, "opened");
    });
    try {
      const where = await whereIs(handle, at);
      if (!isBelow(where, await realRoots())) throw refuse(path);
      if (isKept(where)) throw keepOff(path);
      return { handle, where };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  function translate(error: unknown, path: string, done: string): SvcError {
    return codeOf(error) === "ELOOP" ? refuse(path) : fileError(error, path, done);
  }

  async function hold<T>(path: string, { real, missing }: Place, work: (at: string, where: string) => Promise<T>): Promise<T> {
    let { handle: folder, where } = await openChecked(path, real, O_RDONLY | O_DIRECTORY);
    try {
      let at = real;
      for (const step of missing) {
        const below = join(through(folder, at), step);
        await mkdir(below, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw fileError(error, path, "written");
        });
        const next = await openChecked(path, below, O_RDONLY | O_DIRECTORY);
        await folder.close();
        ({ handle: folder, where } = next);
        at = join(at, step);
      }
      return await work(through(folder, at), where);
    } finally {
      await folder.close();
    }
  }

  async function existing(path: string): Promise<Place> {
    const found = await place(path);
    if (found.missing.length > 0) throw fail("SVC_FILE_MISSING", { file: path });
    return found;
  }

  return {
    roots,
    spell,
    place,
    refuse,
    async admit(path, file) {
      if (await kept?.isOne(file)) throw keepOff(path);
    },
    open: async (path, flags) => (await openChecked(path, (await existing(path)).real, flags)).handle,
    openLeaf: async (path, file, flags, mode) => (await openChecked(path, file, flags, mode)).handle,
    folder: async (path, work) => hold(path, await existing(path), (at, where) => work(at, (name) => !isKept(join(where, name)))),
    async atParent(path, make, work) {
      const spelled = spell(path);
      if (roots.includes(spelled)) throw fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
      const parent = await (make ? place : existing)(dirname(spelled));
      return hold(path, parent, (at, where) => {
        const name = basename(spelled);
        if (isKept(join(where, name))) throw keepOff(path);
        return work(join(at, name));
      });
    },
  };
}

/** Translates a file system error into one that names the caller's path. */
export function fileError(error: unknown, path: string, done: string): SvcError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith("SVC_")) return error as SvcError;
  if (code === "ENOENT") return fail("SVC_FILE_MISSING", { file: path });
  if (code === "ENOTDIR") return fail("SVC_FILE_KIND", { file: path, expected: "folder" });
  if (code === "EISDIR" || code === "ENXIO") return fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
  return fail("SVC_FILE_FAILED", { file: path, done, reason: code ?? message });
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
}

function through(folder: FileHandle, path: string): string {
  return BY_DESCRIPTOR ? `/proc/self/fd/${folder.fd}` : path;
}

async function whereIs(handle: FileHandle, path: string): Promise<string> {
  if (BY_DESCRIPTOR) return readlink(`/proc/self/fd/${handle.fd}`);
  const [real, opened] = [await realpath(path), await handle.stat()];
  const named = await stat(real);
  return named.dev === opened.dev && named.ino === opened.ino ? real : "";
}
