import { parentPort } from "node:worker_threads";
import type { ThreadReply } from "@svc/sdk/thread";
import { type IndexDatabase, makeIndex, openIndex } from "./database.ts";
import type { Ask, Question } from "./protocol.ts";

// The thread that holds the indexes open: SQLite blocks, and the daemon's loop must not.
const open = new Map<string, IndexDatabase>();
/** Files that a run works on: these stay open. */
const running = new Set<string>();
const MOST_OPEN = 16;

parentPort?.on("message", ({ id, ...ask }: Question) => {
  let reply: ThreadReply;
  try {
    reply = { id, value: answer(ask as Ask) };
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    reply = { id, failure: { message, ...(code === undefined ? {} : { code }) } };
  }
  parentPort?.postMessage(reply);
});

function answer(ask: Ask): unknown {
  if (ask.op === "search") {
    const index = open.get(ask.file) ?? keep(ask.file, openIndex(ask.file));
    return index?.complete ? index.search(ask.match, ask.limit) : null;
  }
  if (ask.op === "begin") {
    open.get(ask.file)?.close();
    open.delete(ask.file);
    const index = keep(ask.file, makeIndex(ask.file));
    if (index) running.add(ask.file);
    index?.begin();
    return index !== undefined;
  }
  const index = open.get(ask.file);
  if (!index) throw new Error(`no run has begun on ${ask.file}`);
  if (ask.op === "changed") return index.changed(ask.seen);
  if (ask.op === "put") return index.put(ask.documents) ?? null;
  if (ask.op === "sweep") return index.sweep();
  running.delete(ask.file);
  return index.end();
}

function keep(file: string, index: IndexDatabase | undefined): IndexDatabase | undefined {
  if (!index) return undefined;
  open.set(file, index);
  const idle = open.size > MOST_OPEN ? [...open.keys()].find((one) => one !== file && !running.has(one)) : undefined;
  if (idle !== undefined) {
    open.get(idle)?.close();
    open.delete(idle);
  }
  return index;
}
