import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

/** Changes of svc.json at once, each by a program of its own; more with SVC_SOAK. */
const CHANGES = process.env.SVC_SOAK === undefined ? 6 : 12;

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function folder(config: unknown, env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shells.push(shell);
  shell.write(config);
  return shell;
}

/** A feature whose module says what `body` is. */
function writePlugin(shell: Shell, name: string, body: string): void {
  const at = join(shell.folder, name);
  mkdirSync(at);
  const svc = { api: 1, kind: "feature", name, entry: "./index.js", activate: "always", capabilities: [] };
  writeFileSync(join(at, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", svc }));
  writeFileSync(join(at, "index.js"), `export default { kind: "feature", name: "${name}", version: "1.0.0", svc: "^0.1.0", capabilities: [], ${body} };`);
}

describe("a start in the background", () => {
  it("OPR-m2 prints what is wrong, as one in the foreground does", async () => {
    const shell = await folder(echoConfig({ model: "${NOT_SET_ANYWHERE}" }, { plugins: ["./broken"] }));
    writePlugin(shell, "broken", 'setup() { throw new Error("no luck\\nproblem: agent ada: made up"); }');
    const { code, out } = await shell.svc("daemon", "start");
    expect(code).toBe(0);
    expect(out).toMatch(/problem: feature-broken: .*no luck/);
    expect(out).toMatch(/problem: agent echo: .*NOT_SET_ANYWHERE/);
    // A plugin's words make no line of their own.
    expect([out, (await shell.svc("daemon", "status")).out].map((said) => said.match(/^problem: /gm)?.length)).toEqual([2, 2]);
    await shell.end();
    expect(await shell.json("daemon", "start")).toMatchObject({ pid: expect.any(Number), problems: [expect.any(String), expect.any(String)] });
  });

  it("OPR-m3 --last-good shows what differs", async () => {
    const shell = await folder(echoConfig());
    await shell.svc("daemon", "start");
    await shell.end();
    writeFileSync(join(shell.folder, "svc.json"), readFileSync(join(shell.folder, "svc.json"), "utf8").replace('"Test",', '"Test"'));
    const { code, err } = await shell.svc("daemon", "start", "--last-good");
    expect(code).toBe(0);
    expect(err).toMatch(/Starting with the last configuration that worked/);
    expect(err).toMatch(/\+ +4 .*"name": "Test",?/);
  });

  it("AUT-B14 a plugin that holds the loop in start: the successor comes up, and what was held back is said", async () => {
    const shell = await folder(echoConfig({}, { plugins: ["./spins"] }), { SVC_WATCHDOG_MS: "1000" });
    writePlugin(shell, "spins", "setup() { return { start() { for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20); } }; }");
    const { code, out, err } = await shell.svc("daemon", "start");
    expect(err).toContain("was ended by its watchdog; waiting for its successor");
    expect(out).toContain("The daemon is up on");
    expect(out).toMatch(/problem: feature-spins: /);
    expect(code).toBe(0);
    expect((await shell.svc("daemon", "logs")).out).toMatch(/plugin \S*spins holds the loop/);
  });
});

describe("the daemon's state", () => {
  it("OPR-m23 is one glance: address, folder, log, agents, engines, channels, last crash and problems; as JSON it is short", async () => {
    const shell = await folder(echoConfig({}, { channels: { topicpush: { enabled: true, topic: "t", server: "http://127.0.0.1:1" } } }));
    await shell.svc("daemon", "start");
    process.kill(shell.pid(), "SIGKILL");
    await shell.svc("daemon", "start");
    const { code, out } = await shell.svc("daemon", "status");
    expect(code).toBe(0);
    expect(out).toMatch(/^Test \(test\) is running, version \S+, pid \d+, up \d+ s$/m);
    expect(out).toMatch(/^ {2}address +http:\/\/127\.0\.0\.1:\d+$/m);
    expect(out).toContain(`  folder      ${shell.folder}\n`);
    expect(out).toContain(`  log         ${join(shell.folder, ".svc/daemon.log")}\n`);
    expect(out).toMatch(/^ {2}agents +echo \(local\)$/m);
    expect(out).toMatch(/^ {2}engines +local ok$/m);
    expect(out).toMatch(/^ {2}channels +topicpush \w+/m);
    expect(out).toMatch(/^ {2}last crash +before the start of /m);
    const short = await lines(shell).svc("daemon", "status", "--json");
    expect(short.out.split("\n").length).toBeLessThan(70);
    expect(JSON.parse(short.out)).toMatchObject({ ok: true, folder: shell.folder, agents: [{ id: "echo", tier: "local" }], lastCrash: expect.any(String) });
    expect(await lines(shell).json("daemon", "status", "--plugins")).toMatchObject({
      plugins: expect.arrayContaining([expect.objectContaining({ id: "tier-local" })]),
    });
  });
});

describe("a daemon in the foreground", () => {
  /** Whether a terminal can be made here. */
  const script = ["/usr/bin/script", "/bin/script"].find((file) => existsSync(file));

  it.skipIf(script === undefined)("OPR-m6 ends when its terminal is closed, and reloads on SIGHUP where it has none", async () => {
    const shell = await folder(echoConfig());
    const command = `${process.execPath} ${join(ROOT, "cli/bin/svc.cjs")} start`;
    const terminal = spawn(script as string, ["-qfec", command, "/dev/null"], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "", SVC_DETACHED: "" },
      stdio: "pipe",
    });
    const note = join(shell.folder, ".svc/daemon.json");
    try {
      await vi.waitFor(() => expect(existsSync(note)).toBe(true), { timeout: 20_000 });
      process.kill(shell.pid(), "SIGHUP");
      await vi.waitFor(() => expect(existsSync(note)).toBe(false), { timeout: 20_000 });
    } finally {
      terminal.kill("SIGKILL");
    }
    await vi.waitFor(async () => expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 }), { timeout: 20_000 });
    process.kill(shell.pid(), "SIGHUP");
    await vi.waitFor(async () => expect((await shell.svc("daemon", "logs")).out).toContain("configuration reloaded"), { timeout: 20_000 });
  });
});

describe("changes of the configuration", () => {
  const columns = [["triage", "open-backlog"], ["todo"], ["doing"], ["on-hold"], ["review"], ["done", "closed"]].map(([id = "", kind = "scoped-label"]) => ({
    id,
    title: id,
    kind,
    ...(kind === "scoped-label" ? { mapsToLabel: id } : {}),
  }));
  const running = sharedDaemon(echoConfig({}, { boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: ["g/a"] }, columns }] }));

  it(`OPR-m13 of ${CHANGES} at once, each of another path, all are made`, async () => {
    const shell = running();
    const names = Array.from({ length: CHANGES }, (_, index) => `a${index}`);
    const added = await Promise.all(
      names.map((name) => shell.svc("config", "set", `agents.${name}`, JSON.stringify({ name, workspace: `./${name}`, tier: "local" }))),
    );
    expect(added.map(({ code, err }) => ({ code, err }))).toEqual(names.map(() => ({ code: 0, err: "" })));
    expect(Object.keys(shell.config().agents as object).sort()).toEqual(["echo", ...names].sort());
  }, 90_000);

  it("OPR-m14 a path that is no setting is refused by get and unset; one that is not set is said to be so", async () => {
    const shell = await folder(echoConfig());
    for (const command of ["get", "unset"])
      expect(await lines(shell).svc("config", command, "nope.nope")).toMatchObject({
        code: 78,
        err: expect.stringContaining("'nope.nope' cannot be used: there is no such setting"),
      });
    expect(await lines(shell).svc("config", "get", "agents.echo.model")).toMatchObject({ code: 1, err: "agents.echo.model is not set and has no default.\n" });
    expect(await lines(shell).svc("config", "unset", "agents.echo.model")).toMatchObject({
      code: 0,
      out: "agents.echo.model was not set; nothing was changed.\n",
    });
  });

  it("CON-D10 a setting that nothing reads yet does not claim to be in force", async () => {
    const { svc, json } = lines(running());
    for (const [path, value] of [["boards.0.reconciliation.enabled", "false"]] as const) {
      const { code, out } = await svc("config", "set", path, value);
      expect({ code, out }).toEqual({ code: 0, out: `${path} is set. It is stored and checked, but nothing reads it in this version.\n` });
    }
    expect(await json("config", "set", "boards.0.reconciliation.enabled", "true")).toMatchObject({ applied: false, unread: true });
  });
});
