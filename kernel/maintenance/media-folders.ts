import type { Dirent } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Names that the kernel itself creates: only these are ever removed. */
const TASK = /^task_[a-z0-9]+$/;

/** State of a task with files. */
export type TaskState = "gone" | "ended" | "in-flight";

/** Removes the files of tasks whose trace no longer exists from `folder`, which has one folder per task. Resolves with the number of these tasks. */
export async function dropMedia(folder: string, stateOf: (task: string) => Promise<TaskState>): Promise<number> {
  let gone = 0;
  for (const { name } of await tasksIn(folder)) {
    if ((await stateOf(name)) !== "gone") continue;
    await rm(join(folder, name), { recursive: true, force: true });
    gone += 1;
  }
  return gone;
}

/** Removes the files of the oldest ended tasks until at most `most` bytes remain. Resolves with the rest. */
export async function keepMedia(folder: string, most: number, stateOf: (task: string) => Promise<TaskState>): Promise<number> {
  const found: { readonly name: string; readonly bytes: number }[] = [];
  for (const { name } of await tasksIn(folder)) found.push({ name, bytes: await bytesIn(join(folder, name)) });
  // Ids sort by the time at which they were given.
  found.sort((one, other) => (one.name < other.name ? -1 : 1));
  let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
  for (const one of found) {
    if (bytes <= most) break;
    if ((await stateOf(one.name)) === "in-flight") continue;
    await rm(join(folder, one.name), { recursive: true, force: true });
    bytes -= one.bytes;
  }
  return bytes;
}

async function tasksIn(folder: string): Promise<readonly Dirent[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && TASK.test(entry.name));
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}
