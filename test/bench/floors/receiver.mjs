/** The least that takes deliveries in without losing one: fastify, and the body in a table, at most so many of them a commit. */
import { join } from "node:path";
import Database from "better-sqlite3";
import fastify from "fastify";

const [folder, most] = process.argv.slice(2);
const database = new Database(join(folder, "floor.db"));
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec("CREATE TABLE deliveries (id INTEGER PRIMARY KEY, body BLOB NOT NULL)");
const insert = database.prepare("INSERT INTO deliveries (body) VALUES (?)");
const insertAll = database.transaction((waiting) => {
  for (const { body } of waiting) insert.run(body);
});
const waiting = [];

function flush() {
  const now = waiting.splice(0, Number(most));
  insertAll(now);
  for (const { stored } of now) stored();
  if (waiting.length > 0) setImmediate(flush);
}

function store(body) {
  return new Promise((stored) => {
    waiting.push({ body, stored });
    if (waiting.length > 1) return;
    setImmediate(flush);
  });
}

const app = fastify({ bodyLimit: 26_214_400 });
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
app.post("/webhook/echo/ci", async (request, reply) => {
  await store(request.body);
  reply.code(202);
  return { accepted: true };
});
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(JSON.stringify({ port: app.server.address().port }));
