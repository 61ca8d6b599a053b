import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { EXIT } from "../../cli/exit.ts";
import { post } from "../kit/kernel.ts";
import { type SshServer, sshMissing, startSsh } from "../kit/ssh-server.ts";
import { echoConfig, openShell } from "../kit/svc.ts";
import { another, deployer, type Far, farMachine, fewNames, install } from "./deploy.harness.ts";

const missing = sshMissing();
if (missing !== undefined) console.log(`the tests of svc daemon deploy are skipped: ${missing}`);

const CONFIG = echoConfig();
let stage: string;
let home: string;
let ssh: SshServer;
/** A machine to which release one was brought; the tests begin with what lies there. */
let deployed: Far;
beforeAll(async () => {
  if (missing !== undefined) return;
  stage = mkdtempSync(join(tmpdir(), "svc-deploy-test-"));
  home = join(stage, "home");
  mkdirSync(home);
  const one = install(join(stage, "one"));
  another(one, join(stage, "two"), "0.2.0");
  another(one, join(stage, "broken"), "0.3.0", { broken: true });
  ssh = await startSsh(join(stage, "ssh"), home);
}, 120_000);
afterAll(async () => {
  if (missing !== undefined) return;
  await ssh.stop();
  rmSync(stage, { recursive: true, force: true });
});

let tests = 0;
let name: string;
let near: string;
let far: Far;
const from = (installed: string) => deployer(join(stage, installed), near, ssh, name);
const configure = (config: object) => writeFileSync(join(near, "svc.json"), JSON.stringify(config));

beforeEach(() => {
  if (missing !== undefined) return;
  name = `svc-${++tests}`;
  near = join(stage, `near-${tests}`);
  mkdirSync(near);
  far = farMachine(home, name);
  configure(CONFIG);
});
afterEach(async () => {
  if (missing === undefined) await far.end();
});

/** Release one runs there, with that configuration. */
async function runs(config: object = CONFIG): Promise<void> {
  if (deployed === undefined) {
    const first = farMachine(home, "deployed");
    expect(await deployer(join(stage, "one"), near, ssh, "deployed").run()).toMatchObject({ code: 0 });
    await (await openShell({}, first.folder)).end();
    deployed = first;
  }
  await far.like(deployed, config);
}

const LONG = 180_000;

describe.skipIf(missing !== undefined)("svc daemon deploy", () => {
  it("takes an empty folder to a running daemon, says so, and leaves .env at home", { timeout: LONG }, async () => {
    writeFileSync(join(near, ".env"), "A_SECRET=very-secret-words\n", { mode: 0o600 });
    const planned = await from("one").run("--dry-run", "--json");
    expect(planned).toMatchObject({ code: 0 });
    expect(JSON.parse(planned.out)).toMatchObject([{ target: "far", outcome: "planned", release: expect.stringMatching(/^0\.1\.0-[0-9a-f]{12}$/) }]);
    expect(existsSync(far.folder)).toBe(false);

    const index = "node_modules/@svc/cli/dist/main.js";
    if (process.getuid?.() === 0) chownSync(join(stage, "one", index), 1234, 1234);
    const said = await from("one").run("--json");
    expect(statSync(join(far.folder, "current", index)).uid).toBe(process.getuid?.());
    expect(said.err).toContain("no daemon ran there; starting it");
    expect(JSON.parse(said.out)).toMatchObject([{ target: "far", outcome: "up", pid: far.note().pid }]);
    expect(said.code).toBe(0);
    expect(await far.svc("daemon", "send", "echo", "hello")).toMatchObject({ code: 0, out: expect.stringContaining("hello") });
    expect(existsSync(join(far.folder, ".env"))).toBe(false);
    expect(far.releases()).toEqual([far.current()]);

    // The same program once more: nothing is sent.
    const again = await from("one").run();
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining("is there already") });
  });

  it("an upgrade under a running conversation: the message is answered once, by the old or the new daemon", { timeout: LONG }, async () => {
    const slow = echoConfig({ local: { mode: "echo", delayMs: 4_000, chunks: 1 } }, { shutdown: { drainTimeoutSeconds: 60 } });
    configure(slow);
    await runs(slow);
    // Older ones, and what a copy that was cut has left.
    for (const [older, at] of [
      ["0.0.1-aaaaaaaaaaaa", 1],
      ["0.0.2-bbbbbbbbbbbb", 2],
    ] as const) {
      mkdirSync(join(far.folder, "releases", older));
      writeFileSync(join(far.folder, "releases", older, ".whole"), "");
      utimesSync(join(far.folder, "releases", older, ".whole"), at, at);
    }
    for (const left of [".incoming-999999999-x", ".order-1-999999999.json", ".log-1-999999999"]) mkdirSync(join(far.folder, "releases", left));
    const [former] = far.releases().slice(-1);
    const before = far.note();
    const asked = post(`http://${before.host}:${before.port}`, "/task", { agent: "echo", message: "under way" });
    await vi.waitFor(async () => expect(await far.ask("/health")).toMatchObject({ tasks: { running: 1 } }), { timeout: 20_000 });
    const said = await from("two").run("--json", "--keep", "2");
    expect(said.err).not.toContain("going back");
    // The one that runs, the one before it, and one more.
    expect([...far.releases()].sort()).toEqual(["0.0.2-bbbbbbbbbbbb", former, far.current()].sort());
    expect(readdirSync(join(far.folder, "releases")).filter((one) => /999999999/.test(one))).toEqual([]);
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "up", release: expect.stringMatching(/^0\.2\.0-/), former: expect.stringMatching(/^0\.1\.0-/) }]);
    expect(JSON.stringify((await asked).body)).toContain("under way");
    expect(far.note().pid).not.toBe(before.pid);
    const traces = JSON.parse((await far.svc("trace", "list", "--json")).out) as { status: string }[];
    expect(traces.map(({ status }) => status)).toEqual(["ok"]);
  });

  it("a release that does not start gives way to the one before, configuration included", { timeout: LONG }, async () => {
    await runs();
    const [former, config] = [far.current(), readFileSync(join(far.folder, "svc.json"), "utf8")];
    configure(echoConfig({ name: "Changed" }));
    const said = await from("broken").run("--json", "--wait", "20");
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "back", back: true, former }]);
    expect(said.code).toBe(1);
    expect(far.current()).toBe(former);
    expect(readFileSync(join(far.folder, "svc.json"), "utf8")).toBe(config);
    expect(await far.answer("still here")).toContain("still here");
  });

  it("what cannot run there is refused before anything is switched: a bad configuration, a restart that is not allowed", { timeout: LONG }, async () => {
    await runs(echoConfig({}, { shutdown: { restart: { allowBy: "^operator$" } } }));
    configure(echoConfig({}, { shutdown: { restart: { allowBy: "^operator$" } } }));
    const [{ pid }, former] = [far.note(), far.current()];
    const refused = await from("two").run("--by", "somebody");
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("not deployed") });
    configure({ ...echoConfig(), nonsense: true });
    expect(await from("two").run("--by", "operator")).toMatchObject({ code: 78, out: expect.stringContaining("nonsense") });
    expect([far.note().pid, far.current()]).toEqual([pid, former]);
    configure(echoConfig({}, { shutdown: { restart: { allowBy: "^operator$" } } }));
    expect(await from("two").run("--by", "operator")).toMatchObject({ code: 0 });
    expect(far.current()).toMatch(/^0\.2\.0-/);
  });

  it("a restart that is held for its window: the release is in place, the old daemon runs on, and the far side sees to the end", {
    timeout: LONG,
  }, async () => {
    const before = new Date(Date.now() - 120_000);
    const window = [before.getHours(), before.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
    const rules = echoConfig({}, { shutdown: { restart: { allowBy: "^operator$", window, windowWaitMinutes: 1440 } } });
    configure(rules);
    await runs(rules);
    const [{ pid }, former] = [far.note(), far.current()];
    const said = await from("two").run("--by", "somebody", "--json");
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "held", release: expect.stringMatching(/^0\.2\.0-/), at: expect.any(String) }]);
    expect(said.code).toBe(EXIT.running);
    expect(far.note().pid).toBe(pid);
    expect(far.current()).not.toBe(former);
    const pending = join(far.folder, "releases/pending.json");
    expect(existsSync(pending)).toBe(true);
    expect(await from("two").run()).toMatchObject({ code: EXIT.running, out: expect.stringContaining("not deployed") });

    // Somebody who may restarts it before the window comes.
    expect(await far.svc("daemon", "restart", "--by", "operator")).toMatchObject({ code: 0 });
    await expect.poll(() => existsSync(pending)).toBe(false);
    expect(far.note().pid).not.toBe(pid);
    expect(far.current()).toMatch(/^0\.2\.0-/);
    expect(await far.answer("hello")).toContain("hello");
  });

  it("a connection that is cut in the middle of the copy, and a full disk, leave the old one running", { timeout: LONG }, async (ctx) => {
    await runs();
    const { pid } = far.note();
    const line = await ssh.breaking(1_000_000);
    expect(await deployer(join(stage, "two"), near, { ...ssh, config: line.config }, name).run()).toMatchObject({
      code: 1,
      err: expect.stringContaining("sending"),
      out: expect.stringContaining("ssh failed"),
    });
    line.close();
    expect([far.releases().length, far.note().pid]).toEqual([1, pid]);
    expect(await far.answer("one")).toContain("one");

    const free = fewNames(join(home, "full"));
    if (free === undefined) return ctx.skip("this user may not mount a tmpfs");
    try {
      expect(await from("two").run("--folder", "full")).toMatchObject({ code: 74, out: expect.stringContaining("the disk is full") });
      expect(existsSync(join(home, "full/current"))).toBe(false);
    } finally {
      free();
    }
  });

  it("two deployments at once: one is done, the other says who works there, or comes after it", { timeout: LONG }, async () => {
    await runs();
    const both = await Promise.all([from("two").run(), from("two").run()]);
    const codes = both.map(({ code }) => code).sort();
    expect([
      [0, 0],
      [0, 75],
    ]).toContainEqual(codes);
    for (const { code, out } of both) if (code === 75) expect(out).toContain("another deployment works there");
    expect(far.current()).toMatch(/^0\.2\.0-/);
    expect(await far.answer("hello")).toContain("hello");
  });

  it("kill -9 of the one who deploys, while the daemon restarts: the far side ends what it began", { timeout: LONG }, async () => {
    await runs();
    const { pid } = far.note();
    const child = from("two").spawn();
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    await vi.waitFor(() => expect(err).toContain("asking the daemon"), { timeout: 60_000, interval: 5 });
    child.kill("SIGKILL");
    await vi.waitFor(
      () => {
        expect(existsSync(join(far.folder, "releases/pending.json"))).toBe(false);
        expect(far.note().pid).not.toBe(pid);
      },
      { timeout: 60_000 },
    );
    expect(far.current()).toMatch(/^0\.2\.0-/);
    expect(await far.answer("hello")).toContain("hello");
  });

  it("a switch that a crash of the machine broke off is undone by the next deployment, before anything else", { timeout: LONG }, async () => {
    await runs();
    const [former, { pid }] = [far.current(), far.note()];
    await far.svc("daemon", "stop", "--now");
    const pending = { release: "9.9.9-cccccccccccc", former, config: readFileSync(join(far.folder, "svc.json"), "utf8"), pid };
    writeFileSync(join(far.folder, "releases/pending.json"), JSON.stringify(pending));
    rmSync(join(far.folder, "current"));
    symlinkSync("releases/9.9.9-cccccccccccc", join(far.folder, "current"));
    writeFileSync(join(far.folder, "svc.json"), "{ half of a conf");
    const said = await from("two").run("--json", "--keep-settings");
    expect(said.err).toContain("an earlier deployment of 9.9.9-cccccccccccc broke off");
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "up", former, release: expect.stringMatching(/^0\.2\.0-/) }]);
    expect(readFileSync(join(far.folder, "svc.json"), "utf8")).toBe(pending.config);
    expect(existsSync(join(far.folder, "releases/pending.json"))).toBe(false);
    expect(await far.answer("hello")).toContain("hello");
  });

  it("what a deployer that was killed left in the folder for temporary files goes with the next deployment", { timeout: LONG }, async () => {
    const folder = join(near, "tmp");
    mkdirSync(folder);
    const held = spawnSync(process.execPath, ["-e", ""]).pid;
    for (const left of [`svc-deploy-${held}-AbCdEf`, `svc-deploy-${process.pid}-AbCdEf`, "svc-deploy-AbCdEf"]) mkdirSync(join(folder, left));
    expect((await from("one").with({ TMPDIR: folder }, "--dry-run")).code).toBe(0);
    expect(readdirSync(folder).sort()).toEqual([`svc-deploy-${process.pid}-AbCdEf`, "svc-deploy-AbCdEf"].sort());
    // While it gathers the files, and while the archive is being written.
    for (const written of ["tree", "release.tgz"]) {
      const child = from("one").spawnWith({ TMPDIR: folder });
      const ended = once(child, "exit");
      const made = () => readdirSync(folder).find((name) => name.startsWith(`svc-deploy-${child.pid}-`)) ?? "none";
      await vi.waitFor(() => expect(existsSync(join(folder, made(), written))).toBe(true), { timeout: 30_000, interval: 1 });
      child.kill("SIGTERM");
      expect((await ended)[1]).toBe("SIGTERM");
      expect(readdirSync(folder)).toHaveLength(2);
    }
  });

  it("hosts that ssh could take for options, and credentials in the file, are refused before anything is sent", { timeout: LONG }, async () => {
    const { any } = from("one");
    expect(await any("daemon", "deploy", "--", "-oProxyCommand=touch x")).toMatchObject({ code: 2, err: expect.stringContaining("is no host") });
    expect(await any("daemon", "deploy", "x@-oy")).toMatchObject({ code: 2 });
    expect(await any("daemon", "deploy", "far", "--node", "/x;touch y")).toMatchObject({ code: 2, err: expect.stringContaining("--node") });
    configure({ ...echoConfig(), plugins: [], tiers: {}, mesh: { peers: [{ name: "far", url: "http://127.0.0.1:1", token: "a-token-that-is-literal" }] } });
    const said = await any("daemon", "deploy", "far", "--ssh-config", ssh.config);
    expect(said.code).not.toBe(0);
    expect(`${said.out}${said.err}`).not.toContain("a-token-that-is-literal");
    expect(existsSync(far.folder)).toBe(false);
  });
});
