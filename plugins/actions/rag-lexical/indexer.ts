import { type Confined, svcError } from "@svc/sdk";
import type { IndexThread } from "./client.ts";
import { cutIntoPieces, textOf } from "./pieces.ts";
import type { Document, Seen } from "./protocol.ts";

/** Progress of a run, and its result at the end. */
export interface Progress {
  /** Files looked at. */
  readonly files: number;
  /** Of these, the ones read because they are new or have changed. */
  readonly read: number;
  /** Files that are gone from the workspace and now from the index. */
  readonly removed: number;
}

/** The figures of a finished indexing run. */
export interface Finished extends Progress {
  /** Places that can be found. */
  readonly pieces: number;
  readonly durationMs: number;
}

/** Dependencies of a run. */
export interface Indexing {
  readonly workspace: Confined;
  /** The folder of the index files, and the name of this one. */
  readonly own: Confined;
  readonly name: string;
  readonly thread: IndexThread;
  readonly signal: AbortSignal;
  tell(progress: Progress): void;
}

const LARGEST = 1024 * 1024;
const LOOK = 500;
const READ_AT_ONCE = 8;
const PUT_CHARS = 256 * 1024;
/** Folders that hold copies, builds or other programs' state. Hidden ones are left out too. */
const SKIPPED = new Set(["node_modules", "dist", "build", "target", "coverage", "__pycache__", "vendor"]);

/**
 * Brings an agent's index in line with its workspace: text files up to 1 MiB, hidden files and build folders left out, links not
 * followed. Only files whose time or size changed are read. Nothing here holds the loop for long: SQLite is in its thread and work
 * goes over in small batches. Rejects with the reason of `signal` when it aborts; what was put in until then stays.
 */
export async function indexWorkspace({ workspace, own, name, thread, signal, tell }: Indexing): Promise<Finished> {
  const started = performance.now();
  const count = { files: 0, read: 0, removed: 0 };
  const file = await own.resolve(name);
  if (!(await thread.ask({ op: "begin", file }))) {
    // The index holds nothing that the workspace lacks.
    for (const end of ["", "-wal", "-shm"]) await own.remove(name + end).catch(() => {});
    if (!(await thread.ask({ op: "begin", file })))
      throw svcError("SVC_INDEX_FAILED", `The damaged index ${file} could not be removed; delete it.`, { status: 500, path: file });
  }

  let batch: Document[] = [];
  let chars = 0;
  const flush = async () => {
    if (!batch.length) return;
    const documents = batch;
    batch = [];
    chars = 0;
    await thread.ask({ op: "put", file, documents });
    count.read += documents.length;
    tell({ ...count });
  };
  const take = async (seen: Seen[]) => {
    signal.throwIfAborted();
    count.files += seen.length;
    const changed = new Set(await thread.ask({ op: "changed", file, seen }));
    const todo = seen.filter(({ path }) => changed.has(path));
    for (let at = 0; at < todo.length; at += READ_AT_ONCE) {
      signal.throwIfAborted();
      const read = await Promise.all(todo.slice(at, at + READ_AT_ONCE).map((one) => readDocument(workspace, one)));
      for (const document of read) {
        batch.push(document);
        for (const { text } of document.pieces) chars += text.length;
        if (chars >= PUT_CHARS) await flush();
      }
    }
    tell({ ...count });
  };

  let seen: Seen[] = [];
  for await (const one of walk(workspace, signal)) {
    seen.push(one);
    if (seen.length < LOOK) continue;
    await take(seen);
    seen = [];
  }
  await take(seen);
  await flush();
  for (let swept = -1; swept !== 0; ) {
    signal.throwIfAborted();
    swept = await thread.ask({ op: "sweep", file });
    count.removed += swept;
  }
  const { pieces } = await thread.ask({ op: "end", file });
  return { ...count, pieces, durationMs: Math.round(performance.now() - started) };
}

/** Every file worth a look, by paths from the workspace. An unreadable folder is skipped; an unreadable workspace is an error. */
async function* walk(workspace: Confined, signal: AbortSignal): AsyncGenerator<Seen> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const entries = folder === "" ? await workspace.list(".") : await workspace.list(folder).catch(() => []);
    for (const { name, kind, size, mtimeMs } of entries) {
      if (name.startsWith(".")) continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      if (kind === "folder" && !SKIPPED.has(name)) folders.push(path);
      else if (kind === "file" && size <= LARGEST) yield { path, size, mtimeMs };
    }
  }
}

/** A file that went away or turned unreadable meanwhile has nothing to find. */
async function readDocument(workspace: Confined, seen: Seen): Promise<Document> {
  const bytes = await workspace.read(seen.path, LARGEST).catch(() => undefined);
  const text = bytes && textOf(bytes);
  return { ...seen, pieces: text === undefined ? [] : cutIntoPieces(text) };
}
