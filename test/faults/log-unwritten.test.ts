import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { ROOT } from "../house/house.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

let shell: Shell | undefined;
let daemon: ChildProcess | undefined;
afterEach(async () => {
  await shell?.end();
  daemon?.kill("SIGKILL");
});

it("FAULT-09 a daemon in a terminal or under a supervisor goes on when the reader of its output has gone", async () => {
  shell = await openShell();
  shell.write(echoConfig());
  daemon = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "daemon", "start", "--foreground"], {
    cwd: shell.folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(daemon, "exit");
  const note = join(shell.folder, ".svc/daemon.json");
  await expect.poll(() => existsSync(note)).toBe(true);
  daemon.stdout?.destroy();
  daemon.stderr?.destroy();
  // Each is a line of the log.
  for (let n = 0; n < 3; n += 1) expect(await shell.ask("/reload", {})).toMatchObject({ reloaded: true });
  expect(await shell.ask("/ready")).toMatchObject({ ready: true });
  await shell.end();
  expect((await ended)[0]).toBe(0);
});

it("FAULT-09 a daemon whose log has no room goes on without its lines", async (ctx) => {
  shell = await openShell();
  shell.write(echoConfig());
  const data = join(shell.folder, ".svc");
  mkdirSync(data);
  const disk = smallDisk(data, "14m");
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  try {
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const [fill, log] = [join(data, "fill"), join(data, "daemon.log")];
    expect(() => writeFileSync(fill, Buffer.alloc(15_000_000))).toThrow("ENOSPC");
    // Each is a line, and the last page of the file has room for some of them.
    let size = -1;
    for (let n = 0; n < 100; n += 1) {
      expect(await shell.ask("/reload", {})).toMatchObject({ reloaded: true });
      const before = size;
      size = statSync(log).size;
      if (size === before) break;
    }
    rmSync(fill);
    expect(await shell.ask("/reload", {})).toMatchObject({ reloaded: true });
    expect(statSync(log).size).toBeGreaterThan(size);
    await shell.end();
  } finally {
    disk.remove();
  }
});
