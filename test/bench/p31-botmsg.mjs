import { join } from "node:path";
import { createJiti } from "jiti";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { startNode } from "./process.mjs";
import { addedAtMost, median } from "./rounds.mjs";

const TOKEN = "4242:secret-token-of-the-bot";
const GROUP = -1_001;
const PATIENCE_MS = 60_000;
/** The first messages load what is needed. */
const WARM = 5;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(fits) {
  for (const end = Date.now() + PATIENCE_MS; !fits(); ) {
    if (Date.now() > end) throw new Error("the far end was not reached or not answered");
    await sleep(10);
  }
}

/** Milliseconds from a message to the request that answers it, the middle of so many. */
async function latency(api, messages) {
  await until(() => api.polls(TOKEN) > 0);
  const times = [];
  for (let n = 0; n < messages + WARM; n += 1) {
    const came = new Promise((resolve) => {
      api.fault = ({ method }) => {
        if (method === "sendMessage") resolve(performance.now());
      };
    });
    const before = performance.now();
    api.say(TOKEN, { chat: GROUP, text: `message ${n}` });
    const late = sleep(PATIENCE_MS).then(() => Promise.reject(new Error("a message was not answered")));
    const after = await Promise.race([came, late]);
    late.catch(() => {});
    if (n >= WARM) times.push(after - before);
    await sleep(20);
  }
  return median(times);
}

export default {
  id: "P31",
  title: "a chat on botmsg",
  against: "a bare bot on grammY with the same far end, which keeps nothing",
  lines: [{ what: "a message to its answer at the platform", unit: "ms", target: addedAtMost(5, "ms") }],
  async open({ folder, quick }) {
    const { startBotApi, FRIEND } = await createJiti(import.meta.url).import(join(import.meta.dirname, "../../plugins/channels/botmsg/bot-api.harness.ts"));
    const messages = quick ? 20 : 60;
    let round = 0;
    const measured = async (start) => {
      const api = await startBotApi();
      api.addBot(TOKEN, 42, "helper_bot");
      api.addChat(GROUP, "supergroup", "The Garden");
      const process = await start(api);
      try {
        return [await latency(api, messages)];
      } finally {
        await process.stop();
        await api.close();
      }
    };
    return {
      rounds: quick ? 1 : 5,
      floor: () => measured((api) => startNode([join(import.meta.dirname, "floors/bot-client.mjs"), api.root, TOKEN])),
      ours: () =>
        measured((api) => {
          round += 1;
          const accounts = { main: { token: TOKEN, agentBinding: "echo" } };
          const policy = { group: "all", allowFrom: [String(FRIEND.id)] };
          const botmsg = { enabled: true, apiRoot: api.root, acknowledge: "", accounts, policy };
          return startDaemon(join(folder, String(round)), (port) => echoConfig(port, { chunks: 1, channels: { botmsg } }));
        }),
      note: () => `${messages} messages one after the other, answered by an agent in echo mode, each stored and answered through the outbox`,
    };
  },
};
