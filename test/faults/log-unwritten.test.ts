import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginStatus } from "@svc/kernel";
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

it("FAULT-09 what a plugin prints when nobody reads it, or the disk is full, neither ends the daemon nor counts against the plugin", async () => {
  shell = await openShell();
  shell.write(echoConfig({}, { plugins: ["./prints.mjs"] }));
  const prints = "for (const out of [process.stdout, process.stderr]) out.write('words\\n');";
  writeFileSync(
    join(shell.folder, "prints.mjs"),
    `export default { kind: "feature", name: "prints", version: "1.0.0", svc: "^0.1.0", capabilities: [],
      setup() { return { start() { setInterval(() => { ${prints} }, 20).unref(); } }; } };`,
  );
  // A full disk, as the file of a daemon in the background may be on one.
  const full = openSync("/dev/full", "w");
  daemon = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "daemon", "start", "--foreground"], {
    cwd: shell.folder,
    stdio: ["ignore", "pipe", full],
    env: { ...process.env, SVC_DETACHED: "1" },
  });
  closeSync(full);
  const ended = once(daemon, "exit");
  await expect.poll(() => existsSync(join((shell as Shell).folder, ".svc/daemon.json"))).toBe(true);
  daemon.stdout?.destroy();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { plugins } = await shell.ask<{ plugins: readonly PluginStatus[] }>("/health");
  expect(plugins.find(({ id }) => id === "feature-prints")).toMatchObject({ state: "running", failures: 0 });
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
