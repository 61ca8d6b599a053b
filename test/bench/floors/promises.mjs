/**
 * A server that keeps the daemon's promises by hand, and nothing else: a checked body, the message durable before it is worked on, the
 * answer durable before its last frame, three frames on ticks of their own, one disk flush for all who wait at that moment.
 * `<folder>` as its argument. With the address of a model as a second one, the frames are the pieces of its streamed answer.
 */
import { fdatasync, openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { fastify } from "fastify";
import { streamedCall } from "./streamed-call.mjs";

const file = join(process.argv[2], "floor.db");
const db = new Database(file);
db.pragma("journal_mode = WAL");
// The disk is asked below, for all rows of a group at once.
db.pragma("synchronous = OFF");
db.exec("CREATE TABLE task (id TEXT PRIMARY KEY, chat TEXT, status TEXT, value TEXT) WITHOUT ROWID; CREATE INDEX task_chat ON task (chat, id)");
const insert = db.prepare("INSERT INTO task VALUES (?, ?, 'in-flight', ?)");
const update = db.prepare("UPDATE task SET status = 'ok', value = ? WHERE id = ?");
const wal = openSync(`${file}-wal`, "r+");

let waiting = [];
let flushing = false;
/** Settles when the statement's rows are on the disk. */
const durable = (statement, ...values) =>
  new Promise((resolve, reject) => {
    waiting.push({ statement, values, resolve, reject });
    if (!flushing) {
      flushing = true;
      setImmediate(flush);
    }
  });

const write = db.transaction((group) => {
  for (const { statement, values } of group) statement.run(...values);
});

function flush() {
  const group = waiting;
  waiting = [];
  write(group);
  fdatasync(wal, (error) => {
    for (const { resolve, reject } of group) error === null ? resolve() : reject(error);
    if (waiting.length > 0) setImmediate(flush);
    else flushing = false;
  });
}

const body = {
  type: "object",
  required: ["agent", "message"],
  properties: {
    agent: { type: "string" },
    message: { type: "string" },
    context: { type: "object", properties: { channel: { type: "string" }, chatId: { type: "string" } } },
  },
};
const tick = () => new Promise(setImmediate);
const model = process.argv[3] === undefined ? undefined : streamedCall(process.argv[3]);

/** What is answered, piece by piece. */
async function answer(message, say) {
  if (model !== undefined) return model(message, say);
  const third = Math.ceil(message.length / 3);
  for (let at = 0; at < 3; at += 1) {
    await tick();
    say(message.slice(at * third, (at + 1) * third));
  }
  return message;
}

let count = 0;
const app = fastify();
app.get("/health", async () => ({ ok: true }));
app.post("/task", { schema: { body } }, async ({ body: { agent, message, context } }, reply) => {
  count += 1;
  const id = `${Date.now().toString(36)}${count}`;
  const inbound = { id, agent, text: message, ...context, at: Date.now() };
  await durable(insert, id, context?.chatId ?? "", JSON.stringify(inbound));
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { "content-type": "text/event-stream" });
  const frame = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const response = await answer(message, (text) => raw.write(frame("text", { text })));
  await durable(update, JSON.stringify({ ...inbound, response, endedAt: Date.now() }), id);
  raw.end(frame("done", { taskId: id, status: "ok" }));
});
await app.listen({ host: "127.0.0.1", port: 0 });
process.on("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ port: app.server.address().port }));
