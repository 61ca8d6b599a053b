/**
 * A line `publish|streams floor|ours <count>` is answered with the cost of one publication or one delivery. The streams are a
 * hundred connections of another process, on the kernel's `/events` and on a bare server.
 */
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createKernel } from "@svc/kernel";
import { createBus } from "../../../kernel/dist/core/bus/bus.js";
import { startNode } from "../process.mjs";

const STREAMS = 100;
const A_TICK = 16;
const HELD = 1_000;

const event = () => ({
  kind: "agent",
  type: "task:step",
  agentId: "echo",
  ref: "task_1",
  summary: "read_file start",
  data: { step: "read_file", phase: "start" },
});

// ── floor ──
const ring = new Array(HELD);
let at = 0;
const store = (given) => {
  ring[at] = given;
  at = (at + 1) % HELD;
};
const bare = new Set();
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  bare.add(response);
  response.on("close", () => bare.delete(response));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
let pending = "";
function writeBare() {
  for (const response of bare) response.write(pending);
  pending = "";
}
function publishBare() {
  if (pending === "") setImmediate(writeBare);
  const id = `evt_${at}`;
  pending += `event: envelope\ndata: ${JSON.stringify({ id, rootId: id, node: "bench", at: new Date().toISOString(), ...event() })}\n\n`;
}

// ── ours ──
const alone = createBus({ node: "bench", ringSize: HELD, onListenerError() {} });
const kernel = await createKernel({ config: { node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" }, agents: {} }, folder: process.argv[2], listen: true });
await kernel.start();

const here = import.meta.dirname;
const readers = await Promise.all([
  startNode([join(here, "readers.mjs"), String(server.address().port), "/", String(STREAMS)]),
  startNode([join(here, "readers.mjs"), String(kernel.address.port), "/events?format=envelope", String(STREAMS)]),
]);

async function publishMany(publish, count) {
  const began = performance.now();
  for (let done = 0; done < count; done += 1) publish(event());
  return { nanoseconds: ((performance.now() - began) * 1e6) / count };
}

async function deliver(publish, count) {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done += A_TICK) {
    for (let more = 0; more < A_TICK; more += 1) publish(event());
    // The streams' own tick, then one for the sockets.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  await new Promise((resolve) => setTimeout(resolve, 200));
  return { microseconds: (user + system) / (count * STREAMS) };
}

const work = {
  publish: { floor: (count) => publishMany(store, count), ours: (count) => publishMany(alone.publish, count) },
  streams: { floor: (count) => deliver(publishBare, count), ours: (count) => deliver(kernel.bus.publish, count) },
};
process.on("SIGTERM", async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await kernel.stop();
  process.exit(0);
});
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const [what, side, count] = line.split(" ");
  console.log(JSON.stringify(await work[what][side](Number(count))));
}
