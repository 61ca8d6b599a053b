import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { getJson, idleCosts, ROOT, residentKb, startNode } from "./process.mjs";
import { addedAtMost, median, told } from "./rounds.mjs";

const PLUGIN = join(ROOT, "plugins/channels/phonemsg");
const PATIENCE_MS = 60_000;
const SETTLE_MS = 3_000;
/** The first ones make sessions and load what is needed. */
const WARM = 5;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function within(what, fits) {
  for (const end = Date.now() + PATIENCE_MS; !(await fits()); ) {
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await pause(2);
  }
}

/** Milliseconds from a message to its answer on the phone of whoever wrote it, the middle of so many. */
async function latency(far, from, messages) {
  const times = [];
  const { shown } = far.chats;
  for (let n = 0; n < messages + WARM; n += 1) {
    const before = shown.length;
    const came = new Promise((resolve) => {
      shown.push = (...items) => {
        resolve(performance.now());
        return Array.prototype.push.apply(shown, items);
      };
    });
    const began = performance.now();
    await far.say({ from, text: `message ${n}` });
    const ms = (await came) - began;
    if (n >= WARM) times.push(ms);
    await within("the end of a message", () => shown.length > before && far.waiting.length === 0);
    await pause(20);
  }
  if (far.unopened.length > 0) throw new Error("answers could not be opened");
  return median(times);
}

export default {
  id: "P23",
  title: "a linked phone",
  against:
    "the vendor's client alone with the same far end; for memory and processor time, a daemon without the channel plus what that client adds to an empty Node",
  skip: () => (existsSync(join(PLUGIN, "node_modules")) ? undefined : "the package apart is not installed: npm run apart"),
  lines: [
    { what: "a message to its answer on the phone", unit: "ms", target: addedAtMost(5, "ms") },
    { what: "resident memory, connected and idle", unit: "MB", target: addedAtMost(10, "MB") },
    { what: "processor time of ten idle seconds", unit: "ms", target: addedAtMost(50, "ms") },
    { what: "resident memory after those answers", unit: "MB", target: told },
  ],
  async open({ folder, quick }) {
    const { startPhoneServer } = await createJiti(import.meta.url).import(join(import.meta.dirname, "../kit/phonemsg/server.ts"));
    const messages = quick ? 20 : 60;
    let round = 0;
    const place = () => {
      round += 1;
      const made = join(folder, String(round));
      mkdirSync(made, { recursive: true });
      return made;
    };
    const farEnd = async () => {
      const far = await startPhoneServer();
      return { far, friend: far.accounts.add("491700000700", "Frieda") };
    };
    return {
      rounds: quick ? 1 : 3,
      async floor() {
        const { far, friend } = await farEnd();
        const client = await startNode([join(import.meta.dirname, "floors/phone-client.mjs"), far.url, place()]);
        await far.scan(client.facts.qr);
        await within("the connection of the bare client", () => far.line?.isOpen);
        const [clientMb, clientCpu] = await idleCosts(client.pid);
        const ms = await latency(far, friend, messages);
        const clientAfter = residentKb(client.pid) / 1024;
        await client.stop();
        await far.close();
        const empty = await startNode(["-e", "console.log('{}'); process.stdin.on('data', () => {})"]);
        await pause(SETTLE_MS);
        const emptyMb = residentKb(empty.pid) / 1024;
        await empty.stop();
        const daemon = await startDaemon(place());
        const [daemonMb, daemonCpu] = await idleCosts(daemon.pid);
        await daemon.stop();
        return [ms, daemonMb + clientMb - emptyMb, daemonCpu + clientCpu, daemonMb + clientAfter - emptyMb];
      },
      async ours() {
        const { far, friend } = await farEnd();
        const channels = {
          phonemsg: { enabled: true, server: far.url, mediaServer: far.mediaUrl, defaultAgent: "echo", allowFrom: [friend.number], acknowledge: "" },
        };
        const daemon = await startDaemon(place(), (port) => echoConfig(port, { chunks: 1, plugins: [PLUGIN], channels }));
        const pairing = () => getJson(daemon.port, "/channels/phonemsg/pair");
        await within("the start of the channel", async () => (await pairing()).state === "unpaired");
        await fetch(`http://127.0.0.1:${daemon.port}/channels/phonemsg/pair`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
        await within("the picture", async () => (await pairing()).qr !== undefined);
        await far.scan((await pairing()).qr);
        await within("the connection of the daemon", async () => (await pairing()).state === "open");
        const idle = await idleCosts(daemon.pid);
        const ms = await latency(far, friend, messages);
        const after = residentKb(daemon.pid) / 1024;
        await daemon.stop();
        await far.close();
        return [ms, ...idle, after];
      },
      note: () =>
        `${messages} messages one after the other, answered by an agent in echo mode; the bare client keeps its keys in files, without waiting for the disk`,
    };
  },
};
