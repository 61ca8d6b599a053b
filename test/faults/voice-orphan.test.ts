import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };

const spoken = new Set<number>();
afterEach(async () => {
  await endDaemons();
  for (const pid of spoken) if (!isGone(pid)) process.kill(pid, "SIGKILL");
  spoken.clear();
});

/** Has it ended? One that nobody has waited for counts. */
function isGone(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}

describe.skipIf(process.platform !== "linux")("a daemon that is killed while it speaks", () => {
  it("MESH-05 leaves a program that goes on speaking; the next start of the same data folder ends it, and nobody else's", { timeout: 120_000 }, async () => {
    const bin = await temporaryFolder();
    const note = join(bin, "pid");
    writeFileSync(join(bin, "espeak-ng"), `#!/bin/sh\necho $$ >> ${note}\nexec sleep 600\n`);
    chmodSync(join(bin, "espeak-ng"), 0o755);
    const speaking = (n: number) => (existsSync(note) ? Number(readFileSync(note, "utf8").split("\n")[n] ?? 0) : 0);
    const begun = async (speaker: string) => {
      const folder = await temporaryFolder();
      mkdirSync(join(folder, "w"), { recursive: true });
      writeConfig(folder, { voice: { narrate: "on", speaker } });
      return folder;
    };
    const start = (folder: string) => startDaemon(folder, { env: { PATH: `${bin}:${process.env.PATH}` } });
    const say = async ({ port }: DaemonProcess) => expect((await ask(port, "/task", { agent: "echo", message: "hello" })).status).toBe(200);
    const name = `orphan-${process.pid}`;
    const [folder, other] = [await begun(name), await begun(`${name}-other`)];
    const first = await start(folder);
    await say(first);
    await expect.poll(() => speaking(0), PATIENCE).toBeGreaterThan(0);
    spoken.add(speaking(0));
    const beside = await start(other);
    await say(beside);
    await expect.poll(() => speaking(1), PATIENCE).toBeGreaterThan(0);
    spoken.add(speaking(1));
    await first.kill("SIGKILL");
    expect(isGone(speaking(0))).toBe(false);
    await start(folder);
    await expect.poll(() => isGone(speaking(0)), PATIENCE).toBe(true);
    expect(isGone(speaking(1))).toBe(false);
    await beside.kill("SIGTERM");
    await expect.poll(() => isGone(speaking(1)), PATIENCE).toBe(true);
  });
});
