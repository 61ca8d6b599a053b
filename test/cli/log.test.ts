import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { post } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly plugin?: string;
  readonly err?: { readonly stack?: string };
  readonly [fact: string]: unknown;
}

const logOf = (shell: Shell): Line[] =>
  readFileSync(join(shell.folder, ".svc/daemon.log"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const baseOf = (shell: Shell): string => `http://127.0.0.1:${JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")).port}`;

async function daemonWith(config: unknown): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  shell.write(config);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

/** A plugin whose `start` throws. */
function writeBroken(shell: Shell): void {
  const folder = join(shell.folder, "broken");
  mkdirSync(folder);
  const svc = { api: 1, kind: "feature", name: "broken", entry: "./index.js", activate: "always", capabilities: [] };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "broken", version: "1.0.0", type: "module", svc }));
  writeFileSync(
    join(folder, "index.js"),
    `export default { kind: "feature", name: "broken", version: "1.0.0", svc: "^0.1.0", capabilities: [],
  setup() { return { start() { throw new Error("401 bad token"); } }; } };`,
  );
}

const SECRET_WORDS = "the launch code is pelican";

describe("the daemon's log", () => {
  const running = sharedDaemon(echoConfig({ tier: "sdk", provider: "nowhere", model: "m" }, { providers: { nowhere: { endpoint: "http://127.0.0.1:1" } } }));

  it("OPR-M1 tells a daemon's life: start, address, plugins, reloads, a crash, tasks taken up again, drain and stop", async () => {
    const shell = await openShell();
    shells.push(shell);
    writeBroken(shell);
    shell.write(echoConfig({ local: { mode: "echo", delayMs: 60_000 } }, { plugins: ["./broken"], shutdown: { drainTimeoutSeconds: 0 } }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const file = readFileSync(join(shell.folder, "svc.json"), "utf8");
    writeFileSync(join(shell.folder, "svc.json"), "{");
    expect((await post(baseOf(shell), "/reload", {})).status).toBe(400);
    writeFileSync(join(shell.folder, "svc.json"), file.replace('"Echo"', '"Echoes"'));
    expect((await post(baseOf(shell), "/reload", {})).status).toBe(200);
    const sending = shell.svc("daemon", "send", "echo", SECRET_WORDS);
    const running = async () => (await shell.ask<{ tasks: { running: number } }>("/health")).tasks.running;
    await vi.waitFor(async () => expect(await running()).toBe(1), { timeout: 15_000 });
    process.kill(shell.pid(), "SIGKILL");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect(await running()).toBe(1), { timeout: 15_000 });
    expect(await shell.svc("daemon", "stop")).toMatchObject({ code: 0 });
    await sending;

    const lines = logOf(shell);
    expect(lines).toMatchObject([
      { msg: "starting", version: expect.stringMatching(/^\d/), node: "test", folder: shell.folder },
      { msg: expect.stringContaining("made the workspace") },
      { msg: "listening", address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
      { level: 50, plugin: "feature-broken", msg: expect.stringContaining("401 bad token"), err: { stack: expect.stringMatching(/broken\/index\.js:2/) } },
      { msg: "plugins are up", running: expect.any(Number), down: ["feature-broken"] },
      { msg: "up" },
      { level: 40, msg: "reload refused; the running configuration stays", err: { message: expect.stringContaining("svc.json") } },
      { level: 50, plugin: "feature-broken" },
      { msg: "configuration reloaded", changed: ["agents.echo.name"], failed: ["feature-broken"] },
      { msg: "starting" },
      { level: 40, msg: expect.stringContaining("did not end cleanly") },
      { msg: "listening" },
      { level: 50, plugin: "feature-broken" },
      { msg: "plugins are up" },
      { msg: "unfinished tasks of the last run are taken up again", tasks: 1 },
      { msg: "up" },
      { msg: "asked to stop", signal: "SIGTERM" },
      { msg: expect.stringMatching(/^stopping/), running: 1 },
      { level: 40, msg: expect.stringContaining("running tasks are interrupted"), tasks: [expect.stringMatching(/^task_/)] },
      { msg: "stopped" },
    ]);
    expect(JSON.stringify(lines)).not.toContain("pelican");
  });

  it("OPR-M1 a failed task is told with agent, channel and reason, and without a word of its message", async () => {
    const shell = running();
    const before = logOf(shell).length;
    expect(await shell.svc("daemon", "send", "echo", SECRET_WORDS)).toMatchObject({ code: 1 });
    const failed = logOf(shell)
      .slice(before)
      .filter(({ msg }) => msg === "a task failed");
    expect(failed).toEqual([
      expect.objectContaining({ level: 40, agent: "echo", channel: "cli", status: "error", reason: expect.stringMatching(/./), task: expect.any(String) }),
    ]);
    expect(JSON.stringify(logOf(shell))).not.toContain("pelican");
    const shown = await shell.svc("daemon", "logs");
    expect(shown.out).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d warn {2}flow: a task failed task=task_\S+ agent=echo channel=cli status=error/);
    expect(shown.out).toMatch(/listening address=127\.0\.0\.1:\d+/);
  });

  it("AUT-B22 OPR-M2 logs --json is one object a line, with every fact", async () => {
    const shell = running();
    const { out } = await shell.svc("daemon", "logs", "--json");
    const lines = out.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(logOf(shell).map(({ msg }) => msg));
  });

  it("OPR-m29 while the daemon runs in the foreground, logs says where it writes", async () => {
    const shell = await openShell();
    shell.write(echoConfig());
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "start"], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "", SVC_DETACHED: "" },
      stdio: "ignore",
    });
    try {
      await vi.waitFor(() => readFileSync(join(shell.folder, ".svc/daemon.json")), { timeout: 20_000 });
      const { code, err } = await shell.svc("daemon", "logs");
      expect(code).toBe(1);
      expect(err).toContain(`The daemon (pid ${child.pid}) runs in the foreground and writes its log there`);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("OPR-M3 after a move and SIGHUP the daemon writes a new file, and logs shows and follows both", async () => {
    const shell = await daemonWith(echoConfig());
    const file = join(shell.folder, ".svc/daemon.log");
    const { pid } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8"));
    // The file is moved within the follower's last write, before it looks for new lines the first time.
    const mover = join(shell.folder, "mover.cjs");
    writeFileSync(
      mover,
      `const { existsSync, readFileSync, renameSync } = require("node:fs");
const file = ${JSON.stringify(file)};
const { write } = process.stdout;
process.stdout.write = function (...args) {
  if (String(args[0]).includes("up ") && !existsSync(file + ".1")) {
    renameSync(file, file + ".1");
    process.kill(${pid}, "SIGHUP");
    while (!existsSync(file) || !readFileSync(file, "utf8").includes("reload")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return write.apply(process.stdout, args);
};`,
    );
    const following = spawn(process.execPath, ["--require", mover, join(ROOT, "cli/bin/svc.cjs"), "daemon", "logs", "-f"], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let followed = "";
    following.stdout.on("data", (chunk: Buffer) => (followed += chunk));
    try {
      await vi.waitFor(() => expect(followed).toContain("reload"), { timeout: 20_000 });
      const { out } = await shell.svc("daemon", "logs");
      expect(out.indexOf("listening")).toBeGreaterThan(-1);
      expect(out.indexOf("reload")).toBeGreaterThan(out.indexOf("listening"));
    } finally {
      following.kill("SIGKILL");
    }
  });
});
