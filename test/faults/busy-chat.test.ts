import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon } from "./daemon.harness.ts";

/** With SVC_SOAK as many as a lively group writes while an agent is at work. */
const SOAK = process.env.SVC_SOAK !== undefined;
const MESSAGES = SOAK ? 600 : 120;
const KILLED_MESSAGES = SOAK ? 1_000 : 150;
const LENGTH = 4_000;
const CHAT = -2_000;
const MEGABYTE = 1_048_576;

let folder: string;
let api: BotApi;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-busy-"));
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(CHAT, "group", "busy");
});
afterEach(async () => {
  await endDaemons();
  await api.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** One agent that says everything back, `resume` and `queueMode` as they are by default. */
function configure(delayMs: number): void {
  const config = {
    node: { id: "busy", name: "Busy", bind: "127.0.0.1:0" },
    agents: { a: { name: "A", workspace: "./w", tier: "local", local: { mode: "echo", chunks: 1, delayMs } } },
    channels: {
      botmsg: {
        enabled: true,
        apiRoot: api.root,
        accounts: { main: { token: TOKEN, agentBinding: "a" } },
        policy: { group: "all", allowFrom: [String(CHAT)] },
      },
    },
  };
  writeFileSync(join(folder, "svc.json"), JSON.stringify(config));
}

const say = (n: number) => api.say(TOKEN, { chat: CHAT, text: `<${n}> ${"lorem ipsum ".repeat(LENGTH / 12)}`.slice(0, LENGTH) });

/** Numbers of the messages that were said back, as people see them. */
function answered(): Set<number> {
  const text = api.shown.map((shown) => shown.text).join("");
  return new Set([...text.matchAll(/<(\d+)>/g)].map(([, n]) => Number(n)));
}

/** What the process and its folder grow to, and how long `/health` lets wait; a crash of the process ends it. */
function watch(daemon: DaemonProcess) {
  let slowestMs = 0;
  let over = false;
  const watching = (async () => {
    while (!over) {
      const began = performance.now();
      await ask(daemon.port, "/health").catch(() => undefined);
      slowestMs = Math.max(slowestMs, performance.now() - began);
      await pause(300);
    }
  })();
  return async () => {
    over = true;
    await watching;
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1]) * 1_024;
    return { peak, slowestMs, stored: sizeOf(join(folder, ".svc")) };
  };
}

const sizeOf = (path: string): number =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

/** Until nothing runs, waits or is to be sent. */
async function settled({ port, ended }: DaemonProcess): Promise<void> {
  let gone = false;
  void ended.then(() => (gone = true));
  for (let still = 0; still < 3; ) {
    if (gone) throw new Error("the daemon ended");
    const { tasks } = (await ask<{ tasks: { running: number; queued: number } }>(port, "/health")).body;
    const { channels } = (await ask<{ channels: { name: string; unsent: number }[] }>(port, "/channels")).body;
    const busy = tasks.running + tasks.queued + channels.reduce((sum, { unsent }) => sum + unsent, 0);
    still = busy === 0 && api.unconfirmed(TOKEN) === 0 ? still + 1 : 0;
    await pause(250);
  }
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly error?: string;
}

it(`FLT-1 ${MESSAGES} messages of ${LENGTH} characters in one chat while an agent is at work cost what came in`, { timeout: 240_000 }, async () => {
  configure(1_000);
  const daemon = await startDaemon(folder);
  const measured = watch(daemon);
  for (let n = 0; n < MESSAGES; n += 1) say(n);
  await settled(daemon);
  const { peak, slowestMs, stored } = await measured();
  console.info(
    `${MESSAGES} messages: ${Math.round(peak / MEGABYTE)} MB of memory at most, ${Math.round(stored / MEGABYTE)} MB stored, /health within ${Math.round(slowestMs)} ms`,
  );
  expect([...answered()].sort((left, right) => left - right)).toEqual(Array.from({ length: MESSAGES }, (_, n) => n));
  expect(peak).toBeLessThan(400 * MEGABYTE);
  expect(stored).toBeLessThan(60 * MEGABYTE);
});

it(`FLT-1 ${KILLED_MESSAGES} messages in one chat over a kill are all answered, with resume as it is by default`, { timeout: 400_000 }, async () => {
  configure(1_000);
  const first = await startDaemon(folder);
  for (let n = 0; n < KILLED_MESSAGES; n += 1) say(n);
  // Killed in the middle of a turn for many, with more waiting: all are stored, few are answered.
  while (api.unconfirmed(TOKEN) > 0) await pause(20);
  await pause(200);
  expect((await ask<{ tasks: { queued: number } }>(first.port, "/health")).body.tasks.queued).toBeGreaterThan(0);
  await first.kill("SIGKILL");
  rmSync(join(folder, ".svc/daemon.json"), { force: true });
  const second = await startDaemon(folder);
  const measured = watch(second);
  await settled(second);
  const { peak, slowestMs } = await measured();
  const { traces } = (await ask<{ traces: Row[] }>(second.port, "/traces?limit=1000")).body;
  expect(traces.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(traces).toHaveLength(KILLED_MESSAGES);
  expect([...answered()].sort((left, right) => left - right)).toEqual(Array.from({ length: KILLED_MESSAGES }, (_, n) => n));
  console.info(`${KILLED_MESSAGES} messages over a kill: ${Math.round(peak / MEGABYTE)} MB at most, /health within ${Math.round(slowestMs)} ms`);
});

it("FLT-1 large messages whose senders have hung up cost what came in, and no plugin is blamed for it", { timeout: 200_000 }, async () => {
  configure(50);
  const daemon = await startDaemon(folder, { env: { SVC_WATCHDOG_MS: "5000" } });
  const measured = watch(daemon);
  const count = SOAK ? 60 : 20;
  for (let n = 0; n < count; n += 1) await handOverAndLeave(daemon.port, `<${n}> ${"lorem ipsum ".repeat(500_000 / 12)}`);
  await settled(daemon);
  const { peak, slowestMs, stored } = await measured();
  const { traces } = (await ask<{ traces: Row[] }>(daemon.port, "/traces?limit=100")).body;
  expect(traces.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => "ok"));
  const { plugins } = (await ask<{ plugins: { id: string; state: string }[] }>(daemon.port, "/health")).body;
  expect(plugins.find(({ id }) => id === "tier-local")?.state).toBe("running");
  expect(peak).toBeLessThan(400 * MEGABYTE);
  console.info(
    `${count} messages of 500,000 characters, callers gone: ${Math.round(peak / MEGABYTE)} MB at most, ${Math.round(stored / MEGABYTE)} MB stored, /health within ${Math.round(slowestMs)} ms`,
  );
});

/** Hands a message over, reads the acknowledgement and breaks the connection. */
async function handOverAndLeave(port: number, message: string): Promise<void> {
  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/task`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: "a", message }),
    signal: leave.signal,
  });
  await response.body?.getReader().read();
  leave.abort();
}
