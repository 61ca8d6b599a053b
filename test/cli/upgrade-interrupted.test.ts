import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

let shell: Shell;
afterEach(() => shell.end());

/** An installation as npm makes it, and in it the release from before, which is the same. */
async function installation(): Promise<string> {
  const cli = join(await temporaryFolder(), "lib/node_modules/@svc/cli");
  for (const folder of [cli, join(cli, ".former")]) {
    mkdirSync(folder, { recursive: true });
    for (const part of ["bin", "dist", "package.json"]) cpSync(join(ROOT, "cli", part), join(folder, part), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  }
  return join(cli, "bin/svc.cjs");
}

it("Ctrl-C while an upgrade waits for running work leaves no daemon down", async () => {
  const program = await installation();
  shell = await openShell();
  shell.write(echoConfig({ local: { mode: "echo", delayMs: 4_000, chunks: 1 } }));
  // A group of its own, as a shell makes for what it starts.
  const begin = (...args: string[]): ChildProcess =>
    spawn(process.execPath, [program, ...args], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "" },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
  expect(await once(begin("daemon", "start"), "exit")).toEqual([0, null]);
  const first = shell.pid();
  const task = shell.ask("/task", { agent: "echo", message: "slow" }).catch(() => undefined);

  const upgrade = begin("upgrade", "--rollback");
  const ended = once(upgrade, "exit");
  let said = "";
  upgrade.stderr?.on("data", (text) => {
    said += text;
  });
  await expect.poll(() => existsSync(join(shell.folder, ".svc/upgrading.json"))).toBe(true);
  process.kill(-(upgrade.pid as number), "SIGINT");
  expect(await ended).toEqual([0, null]);
  await task;
  expect(said).toContain("The upgrade goes on, so that a daemon runs at its end.");
  expect(shell.pid()).not.toBe(first);
  expect(await shell.svc("daemon", "status")).toMatchObject({ code: 0 });
});
