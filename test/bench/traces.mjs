// How long listing traces holds the loop: `node test/bench/traces.mjs [rows] [folder]`. Makes the database when it is not there.
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";

const [, , rows = "1000000", folder = "/var/tmp/svc-traces"] = process.argv;
const load = (path) => import(new URL(`../../${path}`, import.meta.url).href);
const { openStore } = await load("plugins/stores/sqlite/dist/open.js");
const { createTraces } = await load("kernel/dist/core/flow/traces.js");
const { TRACES, TRACE_INDEXES, firstTaskIdAt } = await load("kernel/dist/core/flow/record.js");

const YEAR_MS = 365 * 86_400_000;
const BEGAN = Date.parse("2026-01-01T00:00:00Z");
const file = join(folder, `traces-${rows}.db`);

/** Writes rows as an earlier version did: without the index over channels. */
function fill() {
  mkdirSync(folder, { recursive: true });
  const Database = createRequire(new URL("../../plugins/stores/sqlite/index.ts", import.meta.url))("better-sqlite3");
  const database = new Database(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA user_version = 8;
    CREATE TABLE "documents:core/traces" (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, ":status", ":agent", value TEXT NOT NULL);
    CREATE INDEX "documents:core/traces:status" ON "documents:core/traces" (":status", key, ":agent");
    CREATE INDEX "documents:core/traces:agent" ON "documents:core/traces" (":agent", key, ":status");`);
  const insert = database.prepare(`INSERT INTO "documents:core/traces" (key, version, ":status", ":agent", value) VALUES (?, 2, ?, ?, ?)`);
  const count = Number(rows);
  database.transaction(() => {
    for (let n = 0; n < count; n += 1) {
      const at = BEGAN + Math.floor((n * YEAR_MS) / count);
      const id = `${firstTaskIdAt(at)}000${n.toString(36)}`;
      const status = n % 1000 === 0 ? "error" : "ok";
      const agent = n % 100 === 0 ? "rare" : "assistant";
      const channel = n % 50 === 0 ? "botmsg" : "app";
      const inbound = { id, rootId: `root-${n}`, entry: "task", channel, chat: String(n % 500), at, text: `question ${n} ${"and some words ".repeat(4)}` };
      const steps = [{ name: "tier", kind: "run", at, durationMs: 12 }];
      insert.run(
        id,
        status,
        agent,
        JSON.stringify({ id, inbound, status, agent, conversation: channel, attempts: 1, startedAt: at, endedAt: at + 12, steps, response: inbound.text }),
      );
    }
  })();
  database.close();
}

if (!existsSync(file)) fill();
const open = performance.now();
const store = openStore({ file });
const core = store.scope("core");
core.collection(TRACES, { indexes: TRACE_INDEXES });
await store.commit([]);
console.log(`${rows} rows: opened, with the new index, in ${Math.round(performance.now() - open)} ms`);
const traces = createTraces(core);

async function measure(what, query) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const from = performance.now();
  const found = await traces.list(query);
  const took = performance.now() - from;
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  console.log(
    `${what.padEnd(44)} ${String(found.length).padStart(5)} found  ${took.toFixed(0).padStart(6)} ms in all  ${(delay.max / 1e6).toFixed(1).padStart(6)} ms longest turn`,
  );
}

const QUERIES = {
  "newest 50": {},
  "limit 1000": { limit: 1000 },
  "channel nope": { channel: "nope" },
  "before 1": { before: 1 },
  "before the middle of the year": { before: BEGAN + YEAR_MS / 2 },
  "status error": { status: "error", limit: 1000 },
  "agent nobody": { agent: "nobody" },
  "channel botmsg, agent rare": { channel: "botmsg", agent: "rare" },
  "channel app, status timeout": { channel: "app", status: "timeout" },
  "channel botmsg, agent rare, status ok, limit 1000": { channel: "botmsg", agent: "rare", status: "ok", limit: 1000 },
  "agent assistant, channel app, status error": { agent: "assistant", channel: "app", status: "error", limit: 1000 },
};
console.log("before the index over channels is filled:");
for (const [what, query] of Object.entries(QUERIES)) await measure(what, query);
const filling = performance.now();
let filled = 0;
let longest = 0;
for (let changes = 1; changes > 0; ) {
  const from = performance.now();
  changes = await core.fill(TRACES, 200);
  longest = Math.max(longest, performance.now() - from);
  filled += changes;
}
console.log(`filled ${filled} rows in ${Math.round(performance.now() - filling)} ms, ${longest.toFixed(1)} ms the longest step with its fsync; then:`);
for (const [what, query] of Object.entries(QUERIES)) await measure(what, query);
await store.close();
