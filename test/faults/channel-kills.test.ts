import { type ChildProcess, fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** More with SVC_SOAK: the whole promise is 1,000 messages. */
const MESSAGES = Number(process.env.SVC_SOAK ?? 120);
const CHATS = 16;
const KILLS = Math.max(4, Math.round(MESSAGES / 25));

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

/** The same faults at every run: a failure can be repeated. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

it(`FAULT-01 FAULT-02 FAULT-05 ${MESSAGES} messages, ${KILLS} kills, and a platform that throttles, drops and doubles: every message is answered, in order`, {
  timeout: 30_000 + MESSAGES * 400,
}, async () => {
  const dice = createDice(7);
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  const chats = Array.from({ length: CHATS }, (_, n) => -2_000 - n);
  for (const chat of chats) api.addChat(chat, "group", `chat ${chat}`);
  let cuts = 0;
  api.fault = () => {
    const roll = dice();
    if (roll < 0.03) return { code: 429, description: "Too Many Requests: retry after 1", parameters: { retry_after: 1 } };
    if (roll < 0.06) return { code: 502, description: "Bad Gateway" };
    if (roll >= 0.09) return undefined;
    cuts += 1;
    return "cut";
  };

  const folder = await temporaryFolder();
  const config = join(folder, "svc.json");
  await writeFile(
    config,
    JSON.stringify({
      node: { id: "n1", name: "Node 1" },
      agents: { a: { name: "A", workspace: folder, tier: "local", maxConcurrent: 8, queueMode: "followup", local: { mode: "echo", delayMs: 10 } } },
      resume: { maxAttempts: 10, crashLoop: { restarts: 100, windowMinutes: 1 } },
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: api.root,
          accounts: { main: { token: TOKEN, agentBinding: "a" } },
          policy: { group: "all", allowFrom: chats.map(String) },
        },
      },
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
  await start();
  const said = new Map<number, string[]>(chats.map((chat) => [chat, []]));
  let kills = 0;
  for (let n = 0; n < MESSAGES; n += 1) {
    const chat = chats[Math.floor(dice() * CHATS)] as number;
    const text = `message ${n} in ${-chat}`;
    said.get(chat)?.push(text);
    api.say(TOKEN, { chat, text });
    if (dice() < 0.1) api.repeat(TOKEN);
    await new Promise((resolve) => setTimeout(resolve, 5 + dice() * 25));
    if (kills < KILLS && n > ((kills + 1) * MESSAGES) / (KILLS + 1)) {
      kills += 1;
      await kill();
      await start();
    }
  }

  const answers = (chat: number) => api.shown.filter((shown) => shown.chat === chat).map(({ text }) => text);
  const missing = () => chats.flatMap((chat) => (said.get(chat) ?? []).filter((text) => !answers(chat).includes(text)));
  // As long as answers come in, wait; thirty seconds without one are the end: one whose send was cut twice waits sixteen before the third.
  for (let before = -1; missing().length > 0 && missing().length !== before; ) {
    before = missing().length;
    for (let patience = 0; patience < 300 && missing().length === before; patience += 1) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(missing(), errors).toEqual([]);
  let doubled = 0;
  for (const chat of chats) {
    const whole = answers(chat).filter((text) => said.get(chat)?.includes(text));
    expect([...new Set(whole)], `chat ${chat}`).toEqual(said.get(chat));
    doubled += whole.length - new Set(whole).size;
  }
  // A bot cannot give its messages a key: what was on the wire when the connection or the daemon died may be there twice.
  expect(doubled).toBeLessThanOrEqual(cuts + kills * 8);
  expect(kills).toBe(KILLS);
  if (doubled > 0) expect(errors).toContain("possible duplicate");
  console.info(`${MESSAGES} messages, ${kills} kills, ${cuts} cut connections: ${doubled} answers are there twice`);
});
