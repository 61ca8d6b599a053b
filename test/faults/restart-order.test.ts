import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { freePort } from "../kit/free-port.ts";
import { bearer, svcIn } from "../rules/auth.harness.ts";
import { ask, handOver, type Launched, launch, pause } from "./daemon.harness.ts";
import type { Ran } from "./history.ts";

/** Kills, and as many restarts in good order; 200 of each with SVC_SOAK. */
const EACH = process.env.SVC_SOAK === undefined ? 2 : 200;
/** Messages of one writer while one daemon lives. */
const MOST = 12;
/** A run takes longer than its next message: something waits whenever the daemon ends. */
const RUN_MS = 15;

let api: BotApi;
let folder: string;
let daemon: Launched | undefined;
afterEach(async () => {
  await end("SIGKILL");
  await api.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

async function end(signal: NodeJS.Signals): Promise<void> {
  if (daemon === undefined) return;
  if (!daemon.gone) process.kill(daemon.pid, signal);
  await daemon.ended;
}

const ledger = () => join(folder, "ledger");

/** The first run of each message, in order. */
function firstRuns(): Ran[] {
  const lines = existsSync(ledger()) ? readFileSync(ledger(), "utf8").split("\n").filter(Boolean) : [];
  return [
    ...new Map(
      lines
        .map((line) => JSON.parse(line) as Ran)
        .map((ran) => [ran.text, ran] as const)
        .reverse(),
    ).values(),
  ].reverse();
}

const numberOf = (text: string) => Number(text.split(" ").at(-1));

/** What ran before something that was accepted earlier in the same chat: by its task's id, and where its sender waited for the acknowledgement by its number. */
function inversions(runs: readonly Ran[]): string[] {
  const latest = new Map<string, Ran>();
  return runs.flatMap((ran) => {
    const before = latest.get(ran.chat);
    const early = before !== undefined && !ran.text.startsWith("p") && numberOf(ran.text) < numberOf(before.text);
    if (before !== undefined && (early || ran.taskId < before.taskId)) return [`${ran.chat}: ${before.text} before ${ran.text}`];
    latest.set(ran.chat, ran);
    return [];
  });
}

it(`FLT-2 ${EACH} kills and ${EACH} restarts in good order, written to from the moment the port opens: no conversation is out of order`, {
  timeout: 180_000 + EACH * 12_000,
}, async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-order-"));
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  const groups = [-2_001, -2_002];
  for (const group of groups) api.addChat(group, "group", `chat ${group}`);
  const [port, dashboardPort] = [await freePort(), await freePort()];
  writeFileSync(
    join(folder, "svc.json"),
    JSON.stringify({
      node: { id: "order", name: "Order", bind: `127.0.0.1:${port}` },
      agents: { l: { name: "L", workspace: "./w", tier: "ledger", maxConcurrent: 32, queueMode: "followup", access: "public" } },
      plugins: [join(import.meta.dirname, "ledger.mjs")],
      resume: { maxAttempts: 100_000, maxAgeMinutes: 600, crashLoop: { restarts: 100_000, windowMinutes: 1 } },
      shutdown: { drainTimeoutSeconds: 0 },
      dashboard: { enabled: true, port: dashboardPort },
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: api.root,
          accounts: { main: { token: TOKEN, agentBinding: "l" } },
          policy: { group: "all", allowFrom: groups.map(String) },
        },
      },
    }),
    { mode: 0o600 },
  );
  const { stdout } = await svcIn(folder, ["--json", "token", "create", "--name", "order", "--scope", "agent:l"]);
  const { secret } = JSON.parse(stdout) as { secret: string };

  let life = 0;
  let over = false;
  const acknowledged = new Set<string>();
  /** Calls `send` with one number after the other, `MOST` of them a life; one that is refused or breaks is sent again at once. */
  async function write(send: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0, sent = 0, lived = life; !over; ) {
      if (lived !== life) [lived, sent] = [life, 0];
      const tried =
        sent < MOST &&
        (await send(n)
          .then(() => true)
          .catch(() => false));
      if (tried) {
        n += 1;
        sent += 1;
      }
      await pause(tried ? 8 : sent < MOST ? 2 : 20);
    }
  }
  const overHttp = (chat: string) =>
    write(async (n) => {
      const text = `${chat} ${n}`;
      await handOver(port, { agent: "l", message: text, context: { channel: "http", chatId: chat } }, text);
      acknowledged.add(text);
    });
  const overBot = (chat: number) =>
    write(async (n) => {
      api.say(TOKEN, { chat, text: `chat${chat} ${n}` });
      acknowledged.add(`chat${chat} ${n}`);
    });
  // Its caller hears nothing before the answer: the order is that of the tasks.
  const overDashboard = (chat: string) =>
    write(async (n) => {
      const body = JSON.stringify({ message: `${chat} ${n}`, context: { chatId: chat } });
      const headers = { "content-type": "application/json", ...bearer(secret) };
      const answer = fetch(`http://127.0.0.1:${dashboardPort}/api/public/agents/l/messages`, { method: "POST", body, headers }).catch(
        (error) => error as Error,
      );
      if ((await Promise.race([answer, pause(5)])) instanceof Error) throw new Error("refused");
    });

  const env = { SVC_TEST_LEDGER: ledger(), SVC_TEST_LEDGER_MS: String(RUN_MS), SVC_TEST_PLATFORM: "http://127.0.0.1:9/" };
  const writers = [...["h0", "h1", "h2"].map(overHttp), ...groups.map(overBot), ...["p0", "p1"].map(overDashboard)];
  try {
    for (let round = 0; round < 2 * EACH; round += 1) {
      life += 1;
      daemon = launch(folder, { env });
      const before = acknowledged.size;
      while (!daemon.gone && ![...acknowledged].slice(before).some((text) => text.startsWith("h"))) await pause(2);
      if (daemon.gone) throw new Error(`the daemon ended: ${daemon.said()}`);
      await pause(Math.random() * (round % 3 === 0 ? 1_500 : 400));
      await end(round % 2 === 0 ? "SIGKILL" : "SIGTERM");
      expect(inversions(firstRuns()), `after ${round + 1} restarts`).toEqual([]);
    }
    over = true;
    daemon = launch(folder, { env });
    await Promise.all(writers);
    const missing = () => {
      const ran = new Set(firstRuns().map(({ text }) => text));
      return [...acknowledged].filter((text) => !ran.has(text));
    };
    // As long as something runs it is waited for; the daemon itself may take its time to start.
    for (let [before, idle] = [-1, 0]; missing().length > 0 && idle < 12; await pause(5_000)) {
      idle = missing().length === before ? idle + 1 : 0;
      before = missing().length;
    }
    expect(missing()).toEqual([]);
    expect(inversions(firstRuns())).toEqual([]);
    expect((await ask<{ ok: boolean }>(port, "/health")).body.ok).toBe(true);
    const chats = new Map<string, number>();
    for (const { chat } of firstRuns()) chats.set(chat, (chats.get(chat) ?? 0) + 1);
    console.info(`${EACH} kills and ${EACH} restarts: no inversion in ${[...chats].map(([chat, count]) => `${count} of ${chat}`).join(", ")}`);
    expect(chats.size).toBe(7);
  } finally {
    over = true;
  }
});
