import { existsSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { idleCosts, startNode } from "./process.mjs";
import { addedAtMost, median } from "./rounds.mjs";

const PATIENCE_MS = 60_000;
const VENDOR = join(import.meta.dirname, "../peers/node_modules/@discordjs/ws");

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(fits) {
  for (const end = Date.now() + PATIENCE_MS; !fits(); ) {
    if (Date.now() > end) throw new Error("the far end was not reached or not answered");
    await sleep(10);
  }
}

/** Milliseconds from a message to the request that answers it, the middle of so many. */
async function latency(far, place, messages) {
  const times = [];
  for (let n = 0; n < messages; n += 1) {
    const came = new Promise((resolve) => {
      far.fault = ({ method, path }) => {
        if (method === "POST" && path === `/channels/${place.id}/messages`) resolve(performance.now());
      };
    });
    const before = performance.now();
    far.say({ place: place.id, from: far.owner.id, text: `message ${n}` });
    // The first ones load what is needed.
    if (n >= 5) times.push((await came) - before);
    else await came;
    await sleep(20);
  }
  return median(times);
}

export default {
  id: "P20",
  title: "a connected chat of guilds",
  against: "@discordjs/ws and @discordjs/rest alone with the same far end; for memory, a daemon without the channel",
  skip: () => (existsSync(VENDOR) ? undefined : "the platform's client is not installed: npm ci --prefix test/peers"),
  lines: [
    { what: "a message to its answer at the platform", unit: "ms", target: addedAtMost(5, "ms") },
    { what: "resident memory, connected and idle", unit: "MB", target: addedAtMost(10, "MB") },
    { what: "processor time of ten idle seconds", unit: "ms", target: addedAtMost(50, "ms") },
  ],
  async open({ folder, quick }) {
    const { startGuildFarEnd } = await createJiti(import.meta.url).import(join(import.meta.dirname, "../kit/guildchat/server.ts"));
    const messages = quick ? 20 : 60;
    let round = 0;
    const farEnd = async () => {
      const far = await startGuildFarEnd();
      far.addGuild("The Garden");
      return { far, place: far.world.direct(far.bot.id, far.owner.id) };
    };
    const daemonAt = async (channels) => {
      round += 1;
      return startDaemon(join(folder, String(round)), (port) => echoConfig(port, { chunks: 1, ...(channels === undefined ? {} : { channels }) }));
    };
    return {
      rounds: quick ? 1 : 3,
      async floor() {
        const { far, place } = await farEnd();
        const client = await startNode([join(import.meta.dirname, "floors/guild-client.mjs"), far.root, far.token]);
        const ms = await latency(far, place, messages);
        await client.stop();
        await far.close();
        const daemon = await daemonAt();
        const idle = await idleCosts(daemon.pid);
        await daemon.stop();
        return [ms, ...idle];
      },
      async ours() {
        const { far, place } = await farEnd();
        const daemon = await daemonAt({
          guildchat: { enabled: true, token: far.token, agentBinding: "echo", apiRoot: far.root, allowFrom: [far.owner.id], acknowledge: "" },
        });
        await until(() => far.gateway.connected === 1);
        const idle = await idleCosts(daemon.pid);
        const ms = await latency(far, place, messages);
        await daemon.stop();
        await far.close();
        return [ms, ...idle];
      },
      note: () => `${messages} messages one after the other, answered by an agent in echo mode, each stored and answered through the outbox`,
    };
  },
};
