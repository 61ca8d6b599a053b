import { threadId } from "node:worker_threads";
import { reasonOf } from "@svc/sdk";
import type { CodeDatabase, Stored } from "./code-database.ts";
import { LARGEST, readCode, type Seen, walk } from "./code-files.ts";
import type { Finished, Progress } from "./code-protocol.ts";
import type { Definition } from "./definitions.ts";
import type { createCodeReader } from "./grammars.ts";

type Reader = Awaited<ReturnType<typeof createCodeReader>>;
type Put = Stored & { readonly definitions: readonly Definition[]; readonly words: string };

/** Files of one transaction, and how long one is gathered: a kill loses no more than that. */
const BATCH = 200;
const BATCH_MS = 1_000;
const SLICE_MS = 40;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

/**
 * Brings an index in line with the workspace: files whose time or size has changed are read, those that are gone leave. Lets questions
 * through between slices. A grammar that breaks on a file is a problem of that file, told by `broken`.
 */
export async function indexCode(root: string, db: CodeDatabase, reader: Reader, tell: (progress: Progress) => void): Promise<Finished> {
  const started = performance.now();
  const count = { files: 0, read: 0, removed: 0 };
  const gone = db.known();
  let batch: Put[] = [];
  let batchAt = performance.now();
  let restedAt = performance.now();
  const flush = () => {
    if (batch.length > 0) db.put(batch);
    count.read += batch.length;
    batch = [];
    batchAt = performance.now();
    tell({ ...count });
  };
  const rest = async () => {
    if (performance.now() - restedAt < SLICE_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    restedAt = performance.now();
  };

  for (const folder of walk(root)) {
    for (const seen of folder) {
      count.files += 1;
      const before = gone.get(seen.path);
      gone.delete(seen.path);
      if (before?.mtimeMs === seen.mtimeMs && before.size === seen.size) continue;
      batch.push(await fileOf(root, seen, reader));
      if (batch.length >= BATCH || performance.now() - batchAt > BATCH_MS) flush();
      await rest();
    }
    await rest();
  }
  flush();
  const lost = [...gone.keys()];
  for (let at = 0; at < lost.length; at += BATCH) {
    db.drop(lost.slice(at, at + BATCH));
    count.removed += Math.min(BATCH, lost.length - at);
    await rest();
  }
  db.finish();
  const { definitions, skipped } = db.counts();
  return { ...count, definitions, skipped, durationMs: Math.round(performance.now() - started), thread: threadId };
}

/** Reads a file and returns its index entry. */
export async function fileOf(root: string, seen: Seen, reader: Reader): Promise<Put> {
  const nothing = (problem: string): Put => ({ ...seen, problem, definitions: [], words: "" });
  if (seen.size > LARGEST) return nothing(`it is larger than ${LARGEST} bytes`);
  const read = readCode(root, seen.path);
  if ("problem" in read) return nothing(read.problem);
  await reader.load(seen.language);
  try {
    const definitions = reader.definitions(seen.language, read.text);
    return { ...seen, size: read.size, mtimeMs: read.mtimeMs, definitions, words: [...new Set(read.text.match(WORD))].join(" ") };
  } catch (error) {
    const problem = nothing(`its grammar failed on it (${reasonOf(error)})`);
    // A trap of WebAssembly leaves the grammar unusable: the thread is started anew, and passes this file over.
    if (error instanceof Error && error.name === "RuntimeError") throw Object.assign(error, { broken: problem });
    return problem;
  }
}
