import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, handOver, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** Kills; more with SVC_SOAK. */
const KILLS = Number(process.env.SVC_SOAK ?? 3);
const CHATS = 12;

afterEach(endDaemons);

interface Row {
  readonly subject: string;
  readonly agent: string;
}
interface Ran {
  readonly chat: string;
  readonly agent: string;
  readonly status: string;
}

it("CFG-22 a kill between reading and writing the ledger leaves each subject with one agent, and no other one ever ran a turn of it", async () => {
  const folder = await temporaryFolder();
  const chats = Array.from({ length: KILLS * CHATS }, (_, at) => `c${at}`);
  const agent = { workspace: "./w", tier: "local", local: { mode: "echo" }, maxConcurrent: 32 };
  writeConfig(folder, {
    agents: { echo: { name: "Echo", ...agent }, ada: { name: "Ada", ...agent }, ben: { name: "Ben", ...agent } },
    business: { projects: [{ id: "shop" }], contactMap: chats.map((chatId) => ({ channel: "mail", chatId, project: "shop" })) },
  });
  const start = () => startDaemon(folder, { env: { INTENT_LEDGER_MODE: "authoritative" } });
  let daemon = await start();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const sent = chats.slice(kill * CHATS, (kill + 1) * CHATS).flatMap((chatId) =>
      ["ada", "ben"].map((agentId) =>
        // The acknowledgement may die with the daemon.
        handOver(daemon.port, { agent: agentId, message: `about ${chatId}`, context: { channel: "mail", chatId } }, `${chatId} ${agentId}`).catch(
          () => undefined,
        ),
      ),
    );
    await pause(kill * 10);
    await daemon.kill("SIGKILL");
    await Promise.all(sent);
    daemon = await start();
  }
  const open = async () => {
    const { tasks } = (await ask<{ tasks: { running: number; queued: number } }>(daemon.port, "/health")).body;
    return tasks.running + tasks.queued;
  };
  await expect.poll(open, { timeout: 60_000 }).toBe(0);
  // Each subject once more, so that even those whose messages died with the daemon have somebody.
  for (const chatId of chats) await ask(daemon.port, "/task", { agent: "ben", message: "again", context: { channel: "mail", chatId } });

  const { entries } = (await ask<{ entries: readonly Row[] }>(daemon.port, "/ledger?limit=1000")).body;
  const { traces } = (await ask<{ traces: readonly Ran[] }>(daemon.port, "/traces?limit=1000")).body;
  expect(entries).toHaveLength(chats.length);
  for (const chat of chats) {
    const holder = entries.filter(({ subject }) => subject === `mail ${chat}`).map((entry) => entry.agent);
    expect(holder).toHaveLength(1);
    const ran = traces.filter((trace) => trace.chat === chat && trace.status === "ok").map((trace) => trace.agent);
    expect(ran.length).toBeGreaterThan(0);
    expect([chat, new Set(ran)]).toEqual([chat, new Set(holder)]);
  }
}, 120_000);
