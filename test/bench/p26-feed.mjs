import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { residentKb } from "./process.mjs";
import { atLeast, atMost } from "./rounds.mjs";

const TOKEN = "the-token-of-all-that-are-measured";
const PLUGIN = join(import.meta.dirname, "subjects/feed.mjs");
const PER_SECOND = 5_000;
const PATIENCE_MS = 60_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(port, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const said = await answer.json();
  if (answer.status !== 200 || said.ok === false) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(said)}`);
  return said;
}

const meshOf = (peers, more = {}) => ({ enabled: true, healthCheck: { interval: 3_600 }, peers: peers.map((peer) => ({ token: TOKEN, ...peer })), ...more });

/** A daemon that works, and three that follow it. */
async function startAll(folder) {
  const far = await startDaemon(join(folder, "far"), (port) => ({
    ...echoConfig(port, { plugins: [PLUGIN] }),
    node: { id: "far", name: "far", bind: `127.0.0.1:${port}`, defaultAgent: "echo" },
    mesh: meshOf(
      ["one", "two", "three"].map((name) => ({ name, url: "http://127.0.0.1:1" })),
      { feed: { enabled: false } },
    ),
  }));
  const followers = await Promise.all(
    ["one", "two", "three"].map((name) =>
      startDaemon(join(folder, name), (port) => ({
        ...echoConfig(port, { plugins: [PLUGIN] }),
        node: { id: name, name, bind: `127.0.0.1:${port}`, defaultAgent: "echo" },
        mesh: meshOf([{ name: "far", url: `http://127.0.0.1:${far.port}` }]),
      })),
    ),
  );
  return { far, followers };
}

/** Waits until each follower has heard `count` more than it had. */
async function heard(followers, before, count) {
  for (const end = Date.now() + PATIENCE_MS; ; await pause(20)) {
    const now = await Promise.all(followers.map(({ port }) => ask(port, "/bench/heard")));
    if (now.every((one, at) => one.heard - before[at].heard >= count)) return;
    if (Date.now() > end) throw new Error(`of ${count} events came ${now.map((one, at) => one.heard - before[at].heard).join(", ")}`);
  }
}

async function feed({ far, followers }, seconds) {
  const count = seconds * PER_SECOND;
  const before = await Promise.all(followers.map(({ port }) => ask(port, "/bench/heard")));
  const began = performance.now();
  await ask(far.port, "/bench/publish", { count, perSecond: PER_SECOND });
  await heard(followers, before, count);
  return count / ((performance.now() - began) / 1000);
}

export default {
  id: "P26",
  title: "the feed of a mesh",
  against: "the bound",
  lines: [
    { what: "events that reach each of three peers, published at 5,000 a second", unit: "/s", target: atLeast(0.95 * PER_SECOND, "/s") },
    { what: "memory of the largest of the four after that, more than after a first while of it", unit: "MB", target: atMost(15, "MB") },
  ],
  async open({ folder, quick }) {
    const all = await startAll(folder);
    const { far, followers } = all;
    const [first, then] = quick ? [3, 6] : [10, 20];
    // First contact has no past: wait until all of them follow.
    for (const end = Date.now() + PATIENCE_MS; ; await pause(50)) {
      await ask(far.port, "/bench/publish", { count: 1, perSecond: 1_000 });
      const now = await Promise.all(followers.map(({ port }) => ask(port, "/bench/heard")));
      if (now.every(({ heard: count }) => count > 0)) break;
      if (Date.now() > end) throw new Error("the daemons do not follow each other");
    }
    await pause(500);
    const memory = () => [far, ...followers].map(({ pid }) => residentKb(pid) / 1024);
    return {
      rounds: quick ? 1 : 3,
      async ours() {
        await feed(all, first);
        const before = memory();
        const perSecond = await feed(all, then);
        return [perSecond, Math.max(...memory().map((mb, at) => mb - before[at]))];
      },
      close: () => Promise.all([far, ...followers].map((daemon) => daemon.stop())),
      note: () => "four daemons on one machine: the publisher and three that follow it",
    };
  },
};
