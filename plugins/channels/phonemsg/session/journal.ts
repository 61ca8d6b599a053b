import { constants } from "node:fs";
import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "./checksum.ts";

/** Keys and values, kept in one file to which each change is appended as one line: a change is there as a whole or not at all. */
export interface Journal {
  get(key: string): string | undefined;
  keys(): IterableIterator<string>;
  /** Resolves when it is on disk; changes asked for meanwhile are written together. `undefined` removes a key. Rejects when the disk refuses; nothing has changed then. */
  set(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
  close(): Promise<void>;
}

/** Below this many bytes a file is not worth rewriting. */
const SMALL_BYTES = 1_048_576;

interface Waiting {
  readonly line: string;
  readonly changes: ReadonlyMap<string, string | undefined>;
  resolve(): void;
  reject(error: Error): void;
}

/** Opens or makes the file, for its owner alone. A last line that a crash has cut is left out; a broken one before it is an error. */
export async function openJournal(path: string): Promise<Journal> {
  const values = new Map<string, string>();
  let size = load(path, await readFile(path).catch(absent), values);
  let live = liveBytes(values);
  let file = await openFile(path, size);
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  async function append(batch: readonly Waiting[]): Promise<void> {
    const bytes = Buffer.from(batch.map(({ line }) => line).join(""));
    try {
      await writeAll(file, bytes, size);
      await file.datasync();
    } catch (error) {
      // A partial write on a full disk must not precede the next line.
      await file.truncate(size).catch(() => {});
      throw error;
    }
    size += bytes.length;
    for (const { changes } of batch) apply(values, changes);
  }

  async function rewrite(): Promise<void> {
    live = liveBytes(values);
    if (size < SMALL_BYTES || size < live * 4) return;
    const next = `${path}.next`;
    const fresh = await open(next, "w", 0o600);
    const bytes = Buffer.from(lineOf(new Map(values)));
    await writeAll(fresh, bytes, 0);
    await fresh.datasync();
    await rename(next, path);
    await syncFolder(dirname(path));
    await file.close();
    file = fresh;
    size = bytes.length;
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await append(batch);
        for (const { resolve } of batch) resolve();
        // A rewrite that fails leaves the longer file in use.
        await rewrite().catch(() => {});
      } catch (error) {
        for (const { reject } of batch) reject(error as Error);
      }
    }
    writing = undefined;
  }

  return {
    get: (key) => values.get(key),
    keys: () => values.keys(),
    set: (changes) =>
      changes.size === 0
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            waiting.push({ line: lineOf(changes), changes, resolve, reject });
            writing ??= drain();
          }),
    async close() {
      await writing;
      await file.close();
    },
  };
}

const absent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
};

async function openFile(path: string, size: number): Promise<FileHandle> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  await file.chmod(0o600);
  await file.truncate(size);
  await syncFolder(dirname(path));
  return file;
}

async function writeAll(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}

/** `null` for a key that is removed. */
function lineOf(changes: ReadonlyMap<string, string | undefined>): string {
  const text = JSON.stringify([...changes].map(([key, value]) => [key, value ?? null]));
  return `${crc32(text)} ${text}\n`;
}

function apply(values: Map<string, string>, changes: ReadonlyMap<string, string | undefined>): void {
  for (const [key, value] of changes) {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }
}

const liveBytes = (values: ReadonlyMap<string, string>): number => {
  let sum = 0;
  for (const [key, value] of values) sum += key.length + value.length + 8;
  return sum;
};

/** Reads the complete lines into `values` and returns their length in bytes. */
function load(path: string, bytes: Buffer | undefined, values: Map<string, string>): number {
  if (bytes === undefined) return 0;
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(10, at);
    const line = end === -1 ? "" : bytes.toString("utf8", at, end);
    const text = line.slice(line.indexOf(" ") + 1);
    if (line === "" || line.slice(0, line.indexOf(" ")) !== crc32(text)) {
      if (end === -1 || end === bytes.length - 1) break;
      throw new Error(`${path} is damaged at byte ${at}; restore it from a backup, or move the folder away and pair again: svc phonemsg pair`);
    }
    for (const [key, value] of JSON.parse(text) as [string, string | null][]) {
      if (value === null) values.delete(key);
      else values.set(key, value);
    }
    at = end + 1;
  }
  return at;
}
