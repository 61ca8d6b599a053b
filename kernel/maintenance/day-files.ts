import type { Dirent } from "node:fs";
import { readdir, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A daily file of a plugin: any `history/.../<YYYY-MM-DD>.<ending>` in its own folder. */
interface DayFile {
  readonly path: string;
  readonly day: string;
}

const NAME = /^(\d{4}-\d\d-\d\d)\.[a-z]+$/;
const FOLDER = "history";

/** Total size and number of such files. */
export interface Kept {
  readonly bytes: number;
  readonly files: number;
}

/** Removes the days before `before`, in Unix milliseconds, in the folders of all plugins under `plugins`. Answers how many files went. */
export async function dropDays(plugins: string, before: number): Promise<number> {
  const first = new Date(before).toISOString().slice(0, "YYYY-MM-DD".length);
  let gone = 0;
  for await (const file of dayFiles(plugins)) {
    if (file.day >= first) continue;
    await drop(file);
    gone += 1;
  }
  return gone;
}

/** Removes the oldest days until at most `most` bytes of them remain, and resolves with the rest. */
export async function keepDays(plugins: string, most: number): Promise<Kept> {
  const found: (DayFile & { readonly size: number })[] = [];
  for await (const file of dayFiles(plugins)) found.push({ ...file, size: (await stat(file.path).catch(() => undefined))?.size ?? 0 });
  found.sort((one, other) => (one.day < other.day ? -1 : 1));
  let bytes = found.reduce((sum, { size }) => sum + size, 0);
  let files = found.length;
  for (const file of found) {
    if (bytes <= most) break;
    await drop(file);
    bytes -= file.size;
    files -= 1;
  }
  return { bytes, files };
}

async function drop({ path }: DayFile): Promise<void> {
  await unlink(path).catch(() => undefined);
  // A chat of which nothing is left; a folder with anything in it stays.
  await rmdir(dirname(path)).catch(() => undefined);
}

async function* dayFiles(plugins: string): AsyncGenerator<DayFile> {
  for (const plugin of await entries(plugins)) if (plugin.isDirectory()) yield* below(join(plugins, plugin.name, FOLDER));
}

async function* below(folder: string): AsyncGenerator<DayFile> {
  for (const entry of await entries(folder)) {
    const path = join(folder, entry.name);
    const day = NAME.exec(entry.name)?.[1];
    if (entry.isDirectory()) yield* below(path);
    else if (entry.isFile() && day !== undefined) yield { path, day };
  }
}

async function entries(folder: string): Promise<Dirent[]> {
  return await readdir(folder, { withFileTypes: true }).catch(() => []);
}
