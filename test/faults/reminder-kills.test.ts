import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, pause, writeConfig } from "./daemon.harness.ts";

/** Kills; more with SVC_SOAK. */
const KILLS = Number(process.env.SVC_SOAK ?? 4);
/** As many as one look hands over. */
const EACH = 5;

const children = new Set<ChildProcess>();
const kill = async (child: ChildProcess) => {
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
  children.delete(child);
};
afterEach(async () => {
  for (const child of children) await kill(child);
});

it("OPS-05 each due item is one task, however often the daemon is killed while it looks", async () => {
  const folder = await temporaryFolder();
  const command = join(folder, "remindctl");
  writeFileSync(command, `#!/bin/sh\ncat ${folder}/items\n`);
  chmodSync(command, 0o755);
  writeConfig(folder, { reminders: { enabled: true, command } });
  const due = new Date(Date.now() - 60_000).toISOString();
  const titles = Array.from({ length: KILLS * EACH }, (_, at) => `item ${at}`);
  const write = (count: number) =>
    writeFileSync(
      join(folder, "items"),
      JSON.stringify(titles.slice(0, count).map((title, at) => ({ id: `r${at}`, title, isCompleted: false, dueDate: due }))),
    );
  const start = async () => {
    const child = fork(join(import.meta.dirname, "reminders-daemon.mjs"), [join(folder, "svc.json")], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    children.add(child);
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return { child, port };
  };
  const traces = async (port: number) =>
    (await ask<{ traces: readonly { messagePreview?: string; message?: string; status: string }[] }>(port, "/traces?limit=1000")).body.traces;

  for (let round = 0; round < KILLS; round += 1) {
    write((round + 1) * EACH);
    const { child } = await start();
    await pause((round % 10) * 6);
    await kill(child);
  }
  let wanted: readonly string[] = [];
  // A look hands over 20: several starts come to the end of a long list, sooner than several looks.
  for (let round = 0; round * 20 < titles.length; round += 1) {
    const { child, port } = await start();
    const all = Math.min(titles.length, (round + 1) * 20);
    await expect.poll(async () => (await traces(port)).filter(({ status }) => status === "ok").length, { timeout: 30_000 }).toBeGreaterThanOrEqual(all);
    wanted = (await traces(port)).map(({ message, messagePreview }) => message ?? messagePreview ?? "");
    await kill(child);
  }
  expect([...wanted].sort()).toEqual([...titles].sort());
}, 120_000);
