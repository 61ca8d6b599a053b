/** Prints by how many bytes the heap has grown for each task and each stream that came and went. Arguments: folder, tasks, streams. */
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createKernel } from "@svc/kernel";
import local from "@svc/tier-local";

const [folder, tasks, streams] = process.argv.slice(2);
const AT_ONCE = 16;

const agents = { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 64, local: { mode: "echo", chunks: 3 } } };
const config = { node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" }, agents };
const kernel = await createKernel({ config, plugins: [local], folder, dataFolder: join(folder, ".svc"), listen: true });
await kernel.start();
const { port } = kernel.address;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

async function many(count, one) {
  let left = count;
  const worker = async (at) => {
    while (left-- > 0) await one(at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => worker(at)));
}

const task = (at) =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ agent: "echo", message: "a short message in a few words", context: { channel: "http", chatId: `caller-${at}` } });
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request({ host: "127.0.0.1", port, method: "POST", path: "/task", agent, headers }, (response) => response.resume().on("end", resolve));
    sent.on("error", reject);
    sent.end(body);
  });

/** Opens a stream, hears an event and leaves. */
const stream = () =>
  new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: "/events?format=envelope", agent: false }, (response) => {
      response.once("data", () => {
        response.on("close", resolve);
        response.on("error", () => {});
        sent.destroy();
      });
      kernel.bus.publish({ kind: "agent", type: "task:step", summary: "bench" });
    });
    sent.on("error", (error) => (error.code === "ECONNRESET" ? resolve() : reject(error)));
    sent.end();
  });

/** Bytes in use when everything that can go has gone. */
async function settledHeap() {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 6; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    globalThis.gc();
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

/** Sockets, files, ports and the like that stay open. What is only under way, such as a write or a word to a thread, is gone at another look. */
async function settledHandles() {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 20; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    least = Math.min(least, process.getActiveResourcesInfo().filter((name) => name !== "Timeout" && name !== "Immediate").length);
  }
  return least;
}

async function growth(count, one) {
  await many(count, one);
  const before = await settledHeap();
  await many(count, one);
  return Math.max(0, (await settledHeap()) - before) / count;
}

await many(AT_ONCE, task);
// Node opens these at the first look at them, and keeps them: they are counted from the beginning.
void [process.stdout, process.stderr];
const handlesBefore = await settledHandles();
const perTask = await growth(Number(tasks), task);
const perStream = await growth(Number(streams), stream);
const left = Math.max(0, (await settledHandles()) - handlesBefore);
agent.destroy();
await kernel.stop();
console.log(JSON.stringify({ perTask, perStream, handles: left }));
process.exit(0);
