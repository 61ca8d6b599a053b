import { lstat } from "node:fs/promises";
import type { Confined } from "@svc/sdk";
import type { Definition } from "./definition.ts";

/** The action files as they are on disk. */
export interface ActionFolder {
  /** Looks again and reads what has changed: all that was written before the call is seen. */
  refresh(): Promise<void>;
  get(id: string): Definition | undefined;
  list(): readonly Definition[];
  /** Files that are no action, each with the reason. The others are not affected. */
  errors(): readonly { readonly file: string; readonly error: string }[];
}

/** Told by `refresh`, in this order for a file that changed: withdrawn, then added. What `added` throws becomes the file's error. */
export interface FolderEvents {
  added(definition: Definition): void;
  withdrawn(id: string): void;
}

interface Entry {
  readonly stamp: string;
  readonly definition?: Definition;
  readonly error?: string;
}

/** Where the files are, below the data folder. */
export const FOLDER = "actions";
/** Of one action file. */
export const MAX_BYTES = 256 * 1024;

/** Whether a file of the folder is read as an action. */
export const isActionFile = (name: string): boolean => /^[^./\\][^/\\]*\.json$/.test(name);

/** Makes the watcher of the folder `actions` in the data folder. */
export function createActionFolder(data: Confined, events: FolderEvents): ActionFolder {
  const entries = new Map<string, Entry>();
  let looking: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const read = async (id: string, file: string, stamp: string, foreign: string | undefined): Promise<Entry> => {
    try {
      if (foreign !== undefined) throw new Error(`The action ${file} is not run: ${foreign}.`);
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await data.read(`${FOLDER}/${file}`, MAX_BYTES));
      const { parseDefinition } = await import("./definition.js");
      const definition = parseDefinition(id, JSON.parse(text));
      events.added(definition);
      return { stamp, definition };
    } catch (error) {
      return { stamp, error: (error as Error).message };
    }
  };
  const drop = (file: string): void => {
    const before = entries.get(file);
    entries.delete(file);
    if (before?.definition) events.withdrawn(before.definition.id);
  };
  const look = async (): Promise<void> => {
    const found = await data.list(FOLDER).catch((error: { code?: string }) => {
      if (error.code === "SVC_FILE_MISSING" || error.code === "ENOENT") return [];
      throw error;
    });
    const files = found.filter(({ name, kind }) => kind === "file" && isActionFile(name));
    for (const file of [...entries.keys()]) if (!files.some(({ name }) => name === file)) drop(file);
    const openFolder = files.length === 0 ? undefined : await whyForeign(await data.resolve(FOLDER));
    for (const { name, size, mtimeMs } of files) {
      const foreign = openFolder ?? (await whyForeign(await data.resolve(`${FOLDER}/${name}`)));
      const stamp = `${size} ${mtimeMs} ${foreign ?? ""}`;
      if (entries.get(name)?.stamp === stamp) continue;
      drop(name);
      entries.set(name, await read(name.slice(0, -".json".length), name, stamp, foreign));
    }
  };
  const list = () => [...entries.values()].flatMap(({ definition }) => (definition ? [definition] : [])).sort((left, right) => (left.id < right.id ? -1 : 1));
  return {
    refresh() {
      // A call during a scan needs another one after it; one is shared by all of them.
      next ??= (looking ?? Promise.resolve())
        .catch(() => undefined)
        .then(() => {
          next = undefined;
          looking = look();
          return looking;
        });
      return next;
    },
    get: (id) => entries.get(`${id}.json`)?.definition,
    list,
    errors: () => [...entries].flatMap(([file, { error }]) => (error === undefined ? [] : [{ file, error }])),
  };
}

const OTHERS_WRITE = 0o022;

/** Why a user other than the daemon's (or root) may have written this file; undefined when none can, or when the file is missing. */
export async function whyForeign(path: string): Promise<string | undefined> {
  const user = process.getuid?.();
  const found = await lstat(path).catch(() => undefined);
  if (user === undefined || found === undefined) return undefined;
  if (found.uid !== user && found.uid !== 0) return `${path} belongs to the user with the id ${found.uid}; if it is yours run: chown ${user} ${path}`;
  return (found.mode & OTHERS_WRITE) === 0 ? undefined : `other users can write ${path}; look at it, then run: chmod go-w ${path}`;
}
