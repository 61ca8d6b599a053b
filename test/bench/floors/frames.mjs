/** The least that a streamed answer takes: fastify, the raw response, three frames on ticks of their own. */
import { fastify } from "fastify";

const FRAME = `event: text\ndata: ${JSON.stringify({ text: "a short me" })}\n\n`;
const app = fastify();
app.get("/health", async () => ({ ok: true }));
app.post("/task", (_request, reply) => {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { "content-type": "text/event-stream" });
  let sent = 0;
  const step = () => {
    raw.write(FRAME);
    sent += 1;
    if (sent < 3) setImmediate(step);
    else raw.end();
  };
  setImmediate(step);
});
await app.listen({ host: "127.0.0.1", port: 0 });
process.on("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ port: app.server.address().port }));
