/** A model that answers every chat completion at once, in eight pieces of one burst, as servers of the OpenAI dialect stream them. */
import { createServer } from "node:http";

const frame = (value) => `data: ${JSON.stringify(value)}\n\n`;
const piece = (delta, more = {}) =>
  frame({ id: "c", object: "chat.completion.chunk", model: "bench", choices: [{ index: 0, delta, finish_reason: null, ...more }] });
const words = Array.from({ length: 8 }, (_, at) => piece({ content: `word ${at} ` })).join("");
const usage = frame({
  id: "c",
  object: "chat.completion.chunk",
  model: "bench",
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 16, total_tokens: 25 },
});
const answer = Buffer.from(`${words}${piece({}, { finish_reason: "stop" })}${usage}data: [DONE]\n\n`);

const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(200, { "content-type": "text/event-stream" }).end(answer));
}).listen(0, "127.0.0.1", () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1` })));
process.on("SIGTERM", () => process.exit(0));
