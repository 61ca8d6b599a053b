import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { askAttach, endPrograms, startProgram } from "../kit/attach.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK: the whole promise is 50 kills. */
const KILLS = Number(process.env.SVC_SOAK ?? 4);
const PATIENCE = { timeout: 60_000, interval: 20 };

interface Said {
  readonly chat: string;
  readonly text: string;
  readonly key: string;
}

let folder: string;
let platform: Server;
let said: Said[];
beforeEach(async () => {
  folder = await temporaryFolder();
  said = [];
  platform = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      said.push(JSON.parse(body) as Said);
      response.setHeader("content-type", "application/json").end(JSON.stringify({ platformId: `p${said.length}` }));
    });
  });
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
  writeConfig(folder, {
    node: { id: "faults", name: "Faults", bind: "127.0.0.1:0", defaultAgent: "ledger" },
    plugins: [join(import.meta.dirname, "ledger.mjs")],
    agents: { ledger: { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 1 } },
  });
});
afterEach(async () => {
  endPrograms();
  await endDaemons();
  await new Promise((resolve) => platform.close(resolve));
});

const start = () =>
  startDaemon(folder, {
    env: { SVC_TEST_LEDGER: join(folder, "ledger"), SVC_TEST_PLATFORM: `http://127.0.0.1:${(platform.address() as AddressInfo).port}/` },
  });
const baseOf = ({ port }: DaemonProcess) => `http://127.0.0.1:${port}`;
const sessions = async ({ port }: DaemonProcess) => (await ask<{ agent?: string; depth: number }[]>(port, "/attach/sessions")).body;

/** Runs of the engine, by chat. */
function runs(): string[] {
  try {
    return readFileSync(join(folder, "ledger"), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { chat: string }).chat);
  } catch {
    return [];
  }
}

it(`ATT-03 FAULT-05 killed ${KILLS} times with two messages queued, a daemon answers each once: by the session that was in time, else by the engine`, {
  timeout: 30_000 + KILLS * 15_000,
}, async () => {
  let daemon = await start();
  const program = await startProgram(baseOf(daemon));
  await program.hook("session-start", { source: "startup" });
  await program.ask("bind", { agent: "ledger" });
  const answered = new Set<string>();
  const chats: string[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    expect(await sessions(daemon), "the session wears its agent over a restart").toMatchObject([{ agent: "ledger" }]);
    const two = [`${round}-a`, `${round}-b`];
    chats.push(...two);
    for (const chat of two) await ask(daemon.port, "/said", { channel: "keyed", chat, text: `say ${chat}`, key: chat });
    await vi.waitFor(async () => expect(await sessions(daemon)).toMatchObject([{ depth: 2 }]), PATIENCE);
    // In every second round the session is at work while the daemon dies, each time a little further.
    const base = baseOf(daemon);
    const work = async () => {
      if (round % 2 === 0) return;
      const { body } = await askAttach(base, "next", { pid: program.pid, max: 1 + ((round >> 1) % 2) });
      for (const { id, text } of body.items as { id: string; text: string }[]) {
        const { status } = await askAttach(base, "answer", { pid: program.pid, id, text: `the terminal ${text}` });
        if (status === 200) answered.add(text.replace("say ", ""));
      }
    };
    const working = work().catch(() => undefined);
    // In the last one it is done, however busy the machine is.
    await (round === KILLS - 1 ? working : pause((round * 13) % 40));
    await daemon.kill("SIGKILL");
    await working;
    daemon = await start();
    await vi.waitFor(() => expect(two.filter((chat) => said.some((one) => one.chat === chat))).toEqual(two), PATIENCE);
  }
  await daemon.kill("SIGTERM");
  const engine = runs();
  for (const chat of chats) {
    const heard = said.filter((one) => one.chat === chat);
    // The platform tells a letter that comes twice by its key.
    expect(new Set(heard.map(({ key }) => key)).size, chat).toBe(1);
    expect(new Set(heard.map(({ text }) => text)).size, chat).toBe(1);
    const byEngine = engine.filter((one) => one === chat).length;
    // What the daemon has acknowledged to the session is the answer; where it had not, either may be.
    if (answered.has(chat)) expect([chat, heard[0]?.text, byEngine]).toEqual([chat, `the terminal say ${chat}`, 0]);
    else expect([chat, byEngine, heard[0]?.text]).toEqual(byEngine === 0 ? [chat, 0, `the terminal say ${chat}`] : [chat, 1, `did say ${chat}`]);
  }
  // Both ways were taken: else the test has shown nothing.
  expect(engine.length).toBeGreaterThan(KILLS / 2);
  expect(answered.size).toBeGreaterThan(0);
});
