import { existsSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { idleCosts, residentKb, startNode } from "./process.mjs";
import { addedAtMost, median, told } from "./rounds.mjs";

const CLIENT = join(import.meta.dirname, "../peers/node_modules/@slack/socket-mode/package.json");
const ROOM = "D1";
const SETTLE_MS = 2_000;
/** Answers before those that are measured. */
const WARM = 20;
const PATIENCE_MS = 30_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function within(what, fits) {
  for (const end = Date.now() + PATIENCE_MS; !fits(); ) {
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await pause(2);
  }
}

/** The middle of the times from a message to its answer, one after the other, in milliseconds. */
async function answerMs(far, messages) {
  const times = [];
  for (let n = 0; n < messages; n += 1) {
    let asked = 0;
    const answered = new Promise((resolve) => {
      far.fault = ({ method, at }) => {
        if (method === "chat.postMessage") resolve(at - asked);
        return undefined;
      };
    });
    asked = performance.now();
    far.say(ROOM, { user: "U1", text: `message ${n}` });
    times.push(await answered);
    // What follows an answer is not the next one's.
    await pause(30);
  }
  return median(times);
}

async function settledMb(pid) {
  await pause(SETTLE_MS);
  return residentKb(pid) / 1024;
}

async function task(port, message) {
  const answer = await fetch(`http://127.0.0.1:${port}/task`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ message }),
  });
  await answer.json();
}

export default {
  id: "P21",
  title: "a chat on teamchat",
  against:
    "a bot on the platform's own client with the same far end; of memory and processor time: a daemon without the channel, which did as many tasks over HTTP",
  skip: () => (existsSync(CLIENT) ? undefined : "the platform's client is not installed: npm ci --prefix test/peers"),
  lines: [
    { what: "a message to its delivered answer", unit: "ms", target: addedAtMost(5, "ms") },
    { what: "memory with the channel connected", unit: "MB", target: addedAtMost(10, "MB") },
    { what: "processor time of ten idle seconds", unit: "ms", target: addedAtMost(20, "ms") },
    { what: "memory after those answers", unit: "MB", target: told },
  ],
  async open({ folder, quick }) {
    const { startTeamchat } = await createJiti(import.meta.url).import(join(import.meta.dirname, "../kit/teamchat/server.ts"));
    const messages = quick ? 15 : 60;
    let round = 0;
    const furnished = async () => {
      const far = await startTeamchat();
      const { bot, botToken, appToken } = far.addWorkspace("T1");
      far.addPerson("T1", "U1", "ada");
      far.addRoom("T1", "im", ROOM, ["U1", bot.id]);
      return { far, botToken, appToken };
    };
    return {
      rounds: quick ? 1 : 3,
      async floor() {
        const { far, botToken, appToken } = await furnished();
        const bare = await startNode([join(import.meta.dirname, "floors/teamchat.mjs"), far.root, botToken, appToken]);
        await within("a connection of the bare client", () => far.sockets.open() === 1);
        await answerMs(far, WARM);
        const ms = await answerMs(far, messages);
        await bare.stop();
        await far.close();
        round += 1;
        const daemon = await startDaemon(join(folder, `without-${round}`));
        const figures = await idleCosts(daemon.pid);
        for (let n = 0; n < messages + WARM; n += 1) await task(daemon.port, `message ${n}`);
        const after = await settledMb(daemon.pid);
        await daemon.stop();
        return [ms, ...figures, after];
      },
      async ours() {
        const { far, botToken, appToken } = await furnished();
        round += 1;
        const channels = { teamchat: { enabled: true, apiRoot: far.root, botToken, appToken, agentBinding: "echo", allowFrom: ["U1"] } };
        const daemon = await startDaemon(join(folder, `with-${round}`), (port) => echoConfig(port, { channels }));
        await within("a connection of the daemon", () => far.sockets.open() === 1);
        const figures = await idleCosts(daemon.pid);
        await answerMs(far, WARM);
        const ms = await answerMs(far, messages);
        const after = await settledMb(daemon.pid);
        if (far.violations.length > 0) throw new Error(`the platform was asked wrongly: ${far.violations[0]}`);
        await daemon.stop();
        await far.close();
        return [ms, ...figures, after];
      },
      note: () => `${messages} messages one after the other in a direct conversation, echo mode; each answered message has its emoji, too`,
    };
  },
};
