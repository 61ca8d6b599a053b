import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { phoneMessage, SECRET, signed, standInTool } from "../rules/phn-triage.harness.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

const KILLS = Number(process.env.SVC_SOAK ?? 3);
const CHATS = 6;
afterEach(endDaemons);

it(`FAULT-38 PHN-06 over ${KILLS} kills each message of a phone chat is in one reply, sent once or asked about, never twice`, {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const folder = await temporaryFolder();
  const tool = await standInTool();
  const chat = (at: number) => `4915100000${at % CHATS}@s.whatsapp.net`;
  writeConfig(folder, {
    node: { id: "faults", name: "Faults", bind: "127.0.0.1:0", defaultAgent: "sorter" },
    agents: { sorter: { name: "Sorter", workspace: "./w", tier: "sorter", maxConcurrent: 8 } },
    plugins: [join(import.meta.dirname, "sorter.mjs")],
    phoneTriage: {
      enabled: true,
      batchSeconds: 0.05,
      allowAutoAck: true,
      wacli: { bin: tool.bin },
      rules: [{ id: "all", chats: Array.from({ length: CHATS }, (_, at) => chat(at)), agent: "sorter", autoAck: true }],
    },
    approvals: {},
  });
  const start = () => startDaemon(folder, { env: { WACLI_WEBHOOK_SECRET: SECRET } });
  let daemon: DaemonProcess = await start();
  let over = false;
  let failed = false;
  let next = 0;

  async function sendUntilTaken(at: number): Promise<void> {
    const body = JSON.stringify(phoneMessage({ Chat: chat(at), SenderJID: chat(at), ID: `ID${at}`, Text: `m-${at}` }));
    while (!failed) {
      try {
        const response = await fetch(`http://127.0.0.1:${daemon.port}/webhook/wacli`, {
          method: "POST",
          body,
          headers: signed(body),
          signal: AbortSignal.timeout(10_000),
        });
        await response.arrayBuffer();
        if (response.status === 202) return;
      } catch {
        // Killed meanwhile: nobody knows whether it was taken.
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const senders = Array.from({ length: 4 }, async () => {
    while (!over) {
      const at = next;
      next += 1;
      await sendUntilTaken(at);
      if (at % 5 === 0) await sendUntilTaken(at);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const sent = tool.sent().length;
      await vi.waitFor(() => expect(tool.sent().length, daemon.said()).toBeGreaterThan(sent + 2 + (kill % 5)), { timeout: 60_000, interval: 10 });
      await daemon.kill("SIGKILL");
      daemon = await start();
    }
  } catch (error) {
    // Nobody goes on sending beside the next test.
    failed = true;
    throw error;
  } finally {
    over = true;
    await Promise.all(senders);
  }

  const idsIn = (text: string) => text.match(/m-\d+/g) ?? [];
  const asked = async () => (await ask<{ approvals: { title: string; detail: string }[] }>(daemon.port, "/approvals?limit=1000")).body.approvals;
  const all = Array.from({ length: next }, (_, at) => `m-${at}`).sort();
  await vi.waitFor(
    async () => {
      const questions = await asked();
      const found = new Set([...tool.sent().flatMap(({ text }) => idsIn(text)), ...questions.flatMap(({ detail }) => idsIn(detail))]);
      expect([...found].sort()).toEqual(all);
    },
    { timeout: 60_000, interval: 200 },
  );
  const sent = tool.sent().flatMap(({ text }) => idsIn(text));
  expect(sent.length).toBe(new Set(sent).size);
  // What was cut off while it was being sent is said to be unsure.
  for (const { detail } of await asked()) expect(detail).toContain("It may have been sent already");
});
