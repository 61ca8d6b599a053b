import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK. */
const ROUNDS = Number(process.env.SVC_SOAK ?? 3);
const TASKS = 3;

/** A channel that appends what it sends to a file. */
const PLUGIN = `
import { appendFileSync } from "node:fs";
export default {
  kind: "channel", name: "mail", version: "1.0.0", svc: "^0.1.0", capabilities: [],
  setup(ctx) {
    const handle = ctx.provide.channel({
      name: "mail", traits: { maxChars: 1000, unit: "codepoint", dialect: "plain", keyed: true },
      async send({ text, key }) { appendFileSync(process.env.SVC_TEST_NOTES, JSON.stringify({ text, key }) + "\\n"); return { platformId: key }; },
    });
    return { async start() { handle.ready(); } };
  },
};
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-notices-"));
  writeFileSync(join(folder, "mail.ts"), PLUGIN);
  writeConfig(folder, {
    plugins: ["./mail.ts"],
    agents: { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo", delayMs: 50 } } },
    notifications: { longTaskThreshold: 0.001, destination: { channel: "mail", chatId: "me" }, local: { banner: false, sound: false } },
  });
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

it("FAULT-01 OPS-04 a daemon killed while notices wait: each end of a task is told once", { timeout: 120_000 + ROUNDS * 20_000 }, async () => {
  const notes = join(folder, "notes");
  writeFileSync(notes, "");
  const env = { SVC_TEST_NOTES: notes };
  /** How many ends were told, whether in a notice of their own or in one that counts them. */
  const told = (): number => {
    const lines = readFileSync(notes, "utf8").split("\n").filter(Boolean);
    const sent = new Map(lines.map((line) => JSON.parse(line) as { text: string; key: string }).map(({ key, text }) => [key, text]));
    return [...sent.values()].reduce((sum, text) => sum + Number(/^(\d+) finished: /.exec(text)?.[1] ?? 1), 0);
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const daemon = await startDaemon(folder, { env });
    for (let task = 0; task < TASKS; task += 1) {
      const { body } = await ask<{ ok: boolean }>(daemon.port, "/task", { agent: "echo", message: `task ${round}.${task}` });
      expect(body.ok).toBe(true);
    }
    // What was heard of the last end is a row by then; the notice itself is still to come.
    await pause(600);
    await daemon.kill("SIGKILL");
  }
  const daemon = await startDaemon(folder, { env });
  await vi.waitFor(() => expect(told()).toBe(ROUNDS * TASKS), { timeout: 60_000, interval: 100 });
  await pause(4_000);
  expect(told()).toBe(ROUNDS * TASKS);
  await daemon.kill("SIGTERM");
});
