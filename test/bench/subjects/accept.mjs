/** A line `floor|ours <milliseconds>` is answered with accepted messages a second: the dedup key and the task's record, on disk. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { put } from "@svc/sdk";
import Database from "better-sqlite3";
import { newTaskId, TRACE_INDEXES, TRACES } from "../../../kernel/dist/core/flow/record.js";
import { openStore } from "../../../plugins/stores/sqlite/dist/open.js";

const WRITERS = 16;
const BATCH = 10;
const [folder] = process.argv.slice(2);
let count = 0;

function accepted() {
  count += 1;
  const id = newTaskId(Date.now());
  const at = Date.now();
  const dedupKey = `http:local:key-${count}`;
  const message = { entry: "task", channel: "http", chat: "caller-1", text: "a short message in a few words", agent: "echo", dedupKey, options: {} };
  const inbound = { ...message, id, rootId: `evt_${count}`, at, attempts: 0 };
  return {
    id,
    dedupKey,
    known: { taskId: id, rootId: inbound.rootId, at },
    record: { id, inbound, status: "in-flight", agent: "echo", conversation: "", attempts: 0, startedAt: at, steps: [] },
  };
}

const store = openStore({ file: join(folder, "ours.db") });
const core = store.scope("core");
core.collection(TRACES, { indexes: TRACE_INDEXES });
core.collection("dedup", { indexes: ["at"] });
await core.commit([]);

async function ours(ms) {
  const end = performance.now() + ms;
  let done = 0;
  const writer = async () => {
    while (performance.now() < end) {
      const { id, dedupKey, known, record } = accepted();
      await core.commit([put("dedup", dedupKey, known, "absent"), put(TRACES, id, record, "absent")]);
      done += 1;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return { perSecond: (done * 1000) / (performance.now() - began) };
}

// The floor's tables are the store's own, made by it in a database of their own.
const model = openStore({ file: join(folder, "floor.db") });
model.scope("core").collection(TRACES, { indexes: TRACE_INDEXES });
model.scope("core").collection("dedup", { indexes: ["at"] });
await model.scope("core").commit([]);
await model.close();
const raw = new Database(join(folder, "floor.db"));
raw.pragma("journal_mode = WAL");
raw.pragma("synchronous = FULL");
const [first, second] = TRACE_INDEXES;
const insertKey = raw.prepare(`INSERT INTO "documents:core/dedup" (value, ":at", key, version) VALUES (?, ?, ?, 1)`);
const insertTask = raw.prepare(`INSERT INTO "documents:core/${TRACES}" (value, ":${first}", ":${second}", key, version) VALUES (?, ?, ?, ?, 1)`);
const batch = raw.transaction(() => {
  for (let at = 0; at < BATCH; at += 1) {
    const { id, dedupKey, known, record } = accepted();
    insertKey.run(JSON.stringify(known), known.at, dedupKey);
    insertTask.run(JSON.stringify(record), record[first], record[second], id);
  }
});

async function floor(ms) {
  const began = performance.now();
  let done = 0;
  while (performance.now() - began < ms) {
    batch();
    done += BATCH;
  }
  return { perSecond: (done * 1000) / (performance.now() - began) };
}

process.on("SIGTERM", async () => {
  raw.close();
  await store.close();
  process.exit(0);
});
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const [side, ms] = line.split(" ");
  console.log(JSON.stringify(await (side === "ours" ? ours : floor)(Number(ms))));
}
