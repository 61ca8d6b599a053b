import { rmSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { ThreadReply } from "@svc/sdk/thread";
import { type CodeDatabase, openCodeDatabase, type Stored } from "./code-database.ts";
import { readCode } from "./code-files.ts";
import { fileOf, indexCode } from "./code-indexer.ts";
import type { Answers, Ask, Progress, Question } from "./code-protocol.ts";
import type { Found } from "./definitions.ts";
import { createCodeReader } from "./grammars.ts";

// Grammars and SQLite block, and the daemon's loop must not: all of the work is in this thread.
const reader = createCodeReader();
const open = new Map<string, CodeDatabase>();
const indexing = new Set<string>();
const MOST_OPEN = 16;
/** Files that are read for one question. */
const MOST_READ = 300;
const TELL_MS = 200;
const SEPARATORS = /\.|::|#/;

parentPort?.on("message", async ({ id, ...ask }: Question) => {
  const say = (reply: ThreadReply<Progress>) => parentPort?.postMessage(reply);
  try {
    say({ id, value: await answer(ask as Ask, id, say) });
  } catch (error) {
    const { message, code, broken } = error as { message: string; code?: string; broken?: Stored };
    if (broken !== undefined && "file" in ask) database(ask.file).put([{ ...broken, definitions: [], words: "" }]);
    say({ id, failure: { message, ...(broken === undefined ? (code === undefined ? {} : { code }) : { code: "BROKEN" }) } });
    // Its memory cannot be trusted any more.
    if (broken !== undefined) setImmediate(() => process.exit(0));
  }
});

function database(file: string): CodeDatabase {
  const there = open.get(file);
  if (there !== undefined) return there;
  let made = openCodeDatabase(file);
  if (made === undefined) {
    // The index holds nothing that the workspace lacks.
    for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
    made = openCodeDatabase(file);
  }
  if (made === undefined) throw new Error(`the damaged index ${file} could not be removed; delete it`);
  open.set(file, made);
  const idle = open.size > MOST_OPEN ? [...open.keys()].find((one) => one !== file && !indexing.has(one)) : undefined;
  if (idle !== undefined) {
    open.get(idle)?.close();
    open.delete(idle);
  }
  return made;
}

async function answer(ask: Ask, id: number, say: (reply: ThreadReply<Progress>) => void): Promise<Answers[Ask["op"]]> {
  const db = database(ask.file);
  if (ask.op === "index") {
    let toldAt = 0;
    indexing.add(ask.file);
    try {
      return await indexCode(ask.root, db, await reader, (progress) => {
        if (performance.now() - toldAt < TELL_MS) return;
        toldAt = performance.now();
        say({ id, progress });
      });
    } finally {
      indexing.delete(ask.file);
    }
  }
  if (!db.complete) return null;
  if (ask.op === "definition") return definition(db, ask.name, ask.limit);
  if (ask.op === "references") return references(db, ask);
  return outline(db, ask);
}

function definition(db: CodeDatabase, asked: string, limit: number): Answers["definition"] {
  // `Cart.add`: the last part is the name, the others what it stands in.
  const parts = asked.split(SEPARATORS).filter((part) => part !== "");
  const name = parts.at(-1) ?? asked;
  const within = parts.slice(0, -1).join(".");
  const fits = ({ container }: { container: string }) => within === "" || container === within || container.endsWith(`.${within}`);
  const places = db.definitions(name, 2_000).filter(fits).slice(0, limit);
  if (places.length > 0) return { places, loosely: false };
  return { places: db.definitions(name, limit, true), loosely: true };
}

async function references(db: CodeDatabase, { root, name: asked, limit }: Extract<Ask, { op: "references" }>): Promise<Answers["references"]> {
  const name = asked.split(SEPARATORS).at(-1) || asked;
  const files = db.having(name, MOST_READ + 1);
  const places: { path: string; line: number; text: string }[] = [];
  const code = await reader;
  for (const { path, language } of files.slice(0, MOST_READ)) {
    if (places.length > limit) break;
    await new Promise((resolve) => setImmediate(resolve));
    const read = readCode(root, path);
    if ("problem" in read || !read.text.includes(name)) continue;
    await code.load(language);
    for (const { line, text } of placesIn(code, language, read.text, name)) places.push({ path, line, text: text.slice(0, 200) });
  }
  return { places: places.slice(0, limit), more: places.length > limit || files.length > MOST_READ };
}

/** None in a file that has become one that cannot be read since it was indexed. */
function placesIn(code: Awaited<typeof reader>, language: string, text: string, name: string): readonly Found[] {
  try {
    return code.places(language, text, name);
  } catch (error) {
    if (error instanceof Error && error.name === "RuntimeError") throw error;
    return [];
  }
}

/** Of a file as it is now: an agent asks about what it has just written. */
async function outline(db: CodeDatabase, { root, path: asked, limit }: Extract<Ask, { op: "outline" }>): Promise<Answers["outline"]> {
  const path = asked.replace(/^(?:\.?\/)+/, "");
  const known = db.file(path);
  if (known === undefined) {
    const others = db.endingIn(path, 10);
    return others.length === 1 && others[0] !== undefined && others[0] !== path
      ? outline(db, { op: "outline", root, file: "", path: others[0], limit })
      : { places: [], others };
  }
  const read = readCode(root, path);
  if (!("problem" in read) && (read.size !== known.size || read.mtimeMs !== known.mtimeMs))
    db.put([await fileOf(root, { path, size: read.size, mtimeMs: read.mtimeMs, language: known.language }, await reader)]);
  const { problem } = db.file(path) ?? {};
  return { path, places: db.outline(path, limit), others: [], ...(problem == null ? {} : { problem }) };
}
