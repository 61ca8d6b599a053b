import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { addedAtMost, median } from "./rounds.mjs";

const TOKEN = "the-token-of-all-that-are-measured";
const WARM_TURNS = 500;

async function ask(port, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const said = await answer.json();
  if (answer.status !== 200 || said.ok === false) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(said)}`);
  return said;
}

/** The middle of the times of turns, one after the other, in milliseconds. */
async function turnMs(count, turn) {
  const times = [];
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await turn(n);
    times.push(performance.now() - began);
  }
  return median(times);
}

const meshOf = (peers, more = {}) => ({ enabled: true, healthCheck: { interval: 3_600 }, peers: peers.map((peer) => ({ token: TOKEN, ...peer })), ...more });

/** Two daemons that know each other, and nobody else. */
async function startPair(folder) {
  const daemon = (id, peer, more) =>
    startDaemon(join(folder, id), (port) => ({
      ...echoConfig(port),
      node: { id, name: id, bind: `127.0.0.1:${port}`, defaultAgent: "echo" },
      mesh: meshOf([peer], more),
    }));
  // Where the first one will listen is not known yet: it follows nobody.
  const there = await daemon("there", { name: "here", url: "http://127.0.0.1:1" }, { feed: { enabled: false } });
  return { there, here: await daemon("here", { name: "there", url: `http://127.0.0.1:${there.port}` }) };
}

export default {
  id: "P24",
  title: "turns between two daemons",
  against: "the same turn by the daemon's own agent",
  lines: [{ what: "a turn of a peer's agent, one after the other", unit: "ms", target: addedAtMost(3, "ms") }],
  async open({ folder, quick }) {
    const { here, there } = await startPair(folder);
    const turns = quick ? 40 : 150;
    const local = (n) => ask(here.port, "/task", { agent: "echo", message: `turn ${n}` });
    const delegated = (n) => ask(here.port, "/mesh/task", { peer: "there", agent: "echo", message: `turn ${n}` });
    await turnMs(WARM_TURNS, local);
    await turnMs(WARM_TURNS, delegated);
    return {
      rounds: quick ? 1 : 3,
      floor: async () => [await turnMs(turns, local)],
      ours: async () => [await turnMs(turns, delegated)],
      close: () => Promise.all([here.stop(), there.stop()]),
      note: () => "both on one machine, warm; the one that asks follows the events of the other",
    };
  },
};
