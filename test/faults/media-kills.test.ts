import { type ChildProcess, fork } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const PICTURES = 12;
/** More with SVC_SOAK; each of four comes at another moment. */
const KILLS = process.env.SVC_SOAK === undefined ? 4 : 8;

let daemon: ChildProcess;
let api: BotApi;
afterEach(async () => {
  await kill();
  await api.close();
});

const kill = () =>
  new Promise<void>((resolve) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    daemon.removeAllListeners("exit");
    daemon.once("exit", () => resolve());
    daemon.kill("SIGKILL");
  });

it(`K17 K26 FAULT-01 ${PICTURES} pictures, ${KILLS} kills while they are fetched: each message is answered, and each picture lies there once and whole`, {
  timeout: 240_000,
}, async () => {
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  const chats = Array.from({ length: PICTURES }, (_, n) => -3_000 - n);
  const pictures = chats.map((_, n) => Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(5_000_000, n + 1)]));
  for (const [n, chat] of chats.entries()) {
    api.addChat(chat, "group", `chat ${chat}`);
    api.addFile(`P${n}`, pictures[n] as Buffer);
  }
  const folder = await temporaryFolder();
  const config = join(folder, "svc.json");
  const botmsg = {
    enabled: true,
    apiRoot: api.root,
    accounts: { main: { token: TOKEN, agentBinding: "a" } },
    policy: { group: "all", allowFrom: chats.map(String) },
  };
  await writeFile(
    config,
    JSON.stringify({
      node: { id: "n1", name: "Node 1" },
      agents: { a: { name: "A", workspace: folder, tier: "local", maxConcurrent: 4, local: { mode: "echo", delayMs: 10 } } },
      resume: { maxAttempts: 50, crashLoop: { restarts: 100, windowMinutes: 1 } },
      channels: { botmsg },
    }),
    { mode: 0o600 },
  );
  let errors = "";
  const start = () =>
    new Promise<void>((resolve, reject) => {
      daemon = fork(join(import.meta.dirname, "channel-daemon.mjs"), [config], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
      daemon.stderr?.on("data", (chunk) => (errors += chunk));
      daemon.once("message", () => resolve());
      daemon.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready:\n${errors}`)));
    });
  const downloads = () => api.calls.filter(({ method }) => method === "getFile").length;
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
  };

  await start();
  const said: number[] = [];
  for (const [n, chat] of chats.entries()) {
    const photo = [{ file_id: `P${n}`, file_unique_id: `p${n}`, width: 1, height: 1, file_size: pictures[n]?.length }];
    said.push(api.say(TOKEN, { chat, more: { caption: `picture ${n}`, photo } }));
  }
  const answered = () => chats.filter((chat, n) => api.shown.some((shown) => shown.chat === chat && shown.text.includes(`picture ${n}`))).length;
  let kills = 0;
  for (let seen = 0; kills < KILLS && answered() < PICTURES; ) {
    await until(() => downloads() > seen || answered() === PICTURES);
    // Now and then before the bytes are there, now and then while they are written, now and then after.
    await new Promise((resolve) => setTimeout(resolve, (kills % 4) * 12));
    await kill();
    kills += 1;
    seen = downloads();
    await start();
  }
  await until(() => answered() === PICTURES);

  const media = join(folder, ".svc/media");
  const tasks = readdirSync(media);
  expect(tasks).toHaveLength(PICTURES);
  const kept = tasks.map((task) => readdirSync(join(media, task)).filter((name) => !name.startsWith(".")));
  expect(kept.map((names) => names.length)).toEqual(tasks.map(() => 1));
  const found = tasks.map((task, at) => readFileSync(join(media, task, kept[at]?.[0] as string)));
  expect(pictures.every((picture) => found.some((bytes) => bytes.equals(picture)))).toBe(true);
  expect(api.shown.filter(({ text }) => text.includes("was not taken"))).toEqual([]);
  // Each message was acknowledged, too: asked for in the commit that stored it, and so over each kill.
  await until(() => said.every((id) => api.reactions.get(id) === "👀"));
  expect(kills).toBeGreaterThan(2);
  console.info(`${PICTURES} pictures, ${kills} kills: ${downloads()} downloads`);
});
