import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Confined, Files } from "@svc/sdk";
import { fail } from "../errors.ts";
import { atomicWrite } from "../store/atomic.ts";
import { type Confinement, confine, fileError } from "./confine.ts";

const { O_APPEND, O_CREAT, O_RDONLY, O_WRONLY } = constants;
/** How many entries of a folder are looked at together. */
const BATCH = 64;

/** The capability `files` of one plugin: its own folder and the data folder, each made (0700) when it is first used. */
export function createFiles({ own, data }: { readonly own: string; readonly data: string }): Files {
  const made = (folder: string) => confined(confine([folder], () => mkdir(folder, { recursive: true, mode: 0o700 })));
  return { own: made(own), data: made(data), under: (...roots) => confined(confine(roots)) };
}

/**
 * A file with a second name (hard link) is neither read nor appended to: the other name may lie outside, and nobody can tell.
 * `write` puts a new file in its place, so it needs no such rule.
 */
function confined(ground: Confinement): Confined {
  const appends = new Map<string, Promise<void>>();

  async function append(path: string, data: string): Promise<void> {
    await ground.within(path, true, async (file) => {
      const handle = await ground.openLeaf(path, file, O_WRONLY | O_APPEND | O_CREAT, 0o600);
      try {
        await requireFile(handle, path, ground);
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

  return {
    roots: ground.roots,
    async read(path, maxBytes) {
      const handle = await ground.open(path, O_RDONLY);
      try {
        const { size } = await requireFile(handle, path, ground);
        if (size > maxBytes) throw fail("SVC_FILE_TOO_LARGE", { file: path, limit: maxBytes });
        return await readAtMost(handle, path, maxBytes);
      } catch (error) {
        throw fileError(error, path, "read");
      } finally {
        await handle.close();
      }
    },
    write: (path, data) =>
      ground.within(path, true, async (file) => {
        const before = await lstat(file).catch(() => undefined);
        if (before?.isSymbolicLink()) throw ground.refuse(path);
        if (before !== undefined && !before.isFile()) throw fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
        await atomicWrite(file, data, { mode: before === undefined ? 0o600 : before.mode & 0o777 }).catch((error) => {
          throw fileError(error, path, "written");
        });
      }),
    async append(path, data) {
      const key = ground.spell(path);
      const turn = (appends.get(key) ?? Promise.resolve()).then(() => append(path, data));
      const settled = turn.catch(() => undefined);
      appends.set(key, settled);
      try {
        await turn;
      } finally {
        if (appends.get(key) === settled) appends.delete(key);
      }
    },
    list: (path) =>
      ground.folder(path, (at) =>
        entries(at).catch((error) => {
          throw fileError(error, path, "listed");
        }),
      ),
    async resolve(path) {
      const { real, missing } = await ground.place(path);
      return join(real, ...missing);
    },
    async remove(path) {
      try {
        await ground.within(path, false, async (file) => {
          await ((await lstat(file)).isDirectory() ? rmdir(file) : unlink(file));
        });
      } catch (error) {
        const known = fileError(error, path, "removed");
        if (known.code !== "SVC_FILE_MISSING") throw known;
      }
    },
  };
}

async function requireFile(handle: FileHandle, path: string, ground: Confinement): Promise<Stats> {
  const found = await handle.stat();
  if (!found.isFile()) throw fail("SVC_FILE_KIND", { file: path, expected: "regular file" });
  if (found.nlink > 1) throw fail("SVC_FILE_LINKED", { file: path, roots: ground.roots.join(", ") });
  return found;
}

/** Sorted by name. What vanishes meanwhile is left out; links and devices are `other`, and no link is followed. */
async function entries(folder: string): ReturnType<Confined["list"]> {
  const names = (await readdir(folder)).sort();
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

/** Counts what it reads: a file may grow meanwhile, and some tell no size. */
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
