import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { post } from "../kit/kernel.ts";
import { type SshServer, sshMissing, startSsh } from "../kit/ssh-server.ts";
import { echoConfig } from "../kit/svc.ts";
import { another, deployer, type Far, farMachine, fewNames, install } from "./deploy.harness.ts";

const missing = sshMissing();
if (missing !== undefined) console.log(`the tests of svc daemon deploy are skipped: ${missing}`);

let installations: string;
let one: string;
beforeAll(() => {
  if (missing !== undefined) return;
  installations = mkdtempSync(join(tmpdir(), "svc-installed-"));
  one = install(join(installations, "one"));
  another(one, join(installations, "two"), "0.2.0");
  another(one, join(installations, "broken"), "0.3.0", { broken: true });
}, 120_000);
afterAll(() => {
  if (missing === undefined) rmSync(installations, { recursive: true, force: true });
});

let folder: string;
let ssh: SshServer;
let far: Far;
const from = (name: string) => deployer(join(installations, name), join(folder, "near"), ssh);
const configure = (config: object) => writeFileSync(join(folder, "near/svc.json"), JSON.stringify(config));

beforeEach(async () => {
  if (missing !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), "svc-deploy-test-"));
  for (const name of ["near", "home"]) mkdirSync(join(folder, name));
  far = farMachine(join(folder, "home"));
  ssh = await startSsh(join(folder, "ssh"), join(folder, "home"));
  configure(echoConfig());
});
afterEach(async () => {
  if (missing !== undefined) return;
  await far.end();
  await ssh.stop();
  rmSync(folder, { recursive: true, force: true });
});

const LONG = 180_000;

describe.skipIf(missing !== undefined)("svc daemon deploy", () => {
  it("takes an empty folder to a running daemon, says so, and leaves .env at home", { timeout: LONG }, async () => {
    writeFileSync(join(folder, "near/.env"), "A_SECRET=very-secret-words\n", { mode: 0o600 });
    const planned = await from("one").run("--dry-run", "--json");
    expect(planned).toMatchObject({ code: 0 });
    expect(JSON.parse(planned.out)).toMatchObject([{ target: "far", outcome: "planned", release: expect.stringMatching(/^0\.1\.0-[0-9a-f]{12}$/) }]);
    expect(existsSync(far.folder)).toBe(false);

    const said = await from("one").run("--json");
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
    configure(echoConfig({ local: { mode: "echo", delayMs: 4_000, chunks: 1 } }, { shutdown: { drainTimeoutSeconds: 60 } }));
    expect(await from("one").run()).toMatchObject({ code: 0 });
    const before = far.note();
    const asked = post(`http://${before.host}:${before.port}`, "/task", { agent: "echo", message: "under way" });
    await vi.waitFor(async () => expect((await far.svc("daemon", "status", "--json")).out).toMatch(/"running": 1/), { timeout: 20_000 });
    const said = await from("two").run("--json");
    expect(said.err).not.toContain("going back");
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "up", release: expect.stringMatching(/^0\.2\.0-/), former: expect.stringMatching(/^0\.1\.0-/) }]);
    expect(JSON.stringify((await asked).body)).toContain("under way");
    expect(far.note().pid).not.toBe(before.pid);
    const traces = JSON.parse((await far.svc("trace", "list", "--json")).out) as { status: string }[];
    expect(traces.map(({ status }) => status)).toEqual(["ok"]);
  });

  it("a release that does not start gives way to the one before, configuration included", { timeout: LONG }, async () => {
    expect(await from("one").run()).toMatchObject({ code: 0 });
    const [former, config] = [far.current(), readFileSync(join(far.folder, "svc.json"), "utf8")];
    configure(echoConfig({ name: "Changed" }));
    const said = await from("broken").run("--json", "--wait", "20");
    expect(JSON.parse(said.out)).toMatchObject([{ outcome: "back", back: true, former }]);
    expect(said.code).toBe(1);
    expect(far.current()).toBe(former);
    expect(readFileSync(join(far.folder, "svc.json"), "utf8")).toBe(config);
    expect(await far.svc("daemon", "send", "echo", "still here")).toMatchObject({ code: 0, out: expect.stringContaining("still here") });
  });

  it("what cannot run there is refused before anything is switched: a bad configuration, a restart that is not allowed", { timeout: LONG }, async () => {
    configure(echoConfig({}, { shutdown: { restart: { allowBy: "^operator$" } } }));
    expect(await from("one").run()).toMatchObject({ code: 0 });
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

  it("a connection that is cut in the middle of the copy, and a full disk, leave the old one running", { timeout: LONG }, async (ctx) => {
    expect(await from("one").run()).toMatchObject({ code: 0 });
    const { pid } = far.note();
    const line = await ssh.breaking(1_000_000);
    expect(await deployer(join(installations, "two"), join(folder, "near"), { ...ssh, config: line.config }).run()).toMatchObject({
      code: 1,
      err: expect.stringContaining("sending"),
      out: expect.stringContaining("ssh failed"),
    });
    line.close();
    expect([far.releases().length, far.note().pid]).toEqual([1, pid]);
    expect(await far.svc("daemon", "send", "echo", "one")).toMatchObject({ code: 0 });

    const free = fewNames(join(folder, "home/full"));
    if (free === undefined) return ctx.skip("this user may not mount a tmpfs");
    try {
      expect(await from("two").run("--folder", "full")).toMatchObject({ code: 74, out: expect.stringContaining("the disk is full") });
      expect(existsSync(join(folder, "home/full/current"))).toBe(false);
    } finally {
      free();
    }
  });

  it("two deployments at once: one is done, the other says who works there, or comes after it", { timeout: LONG }, async () => {
    expect(await from("one").run()).toMatchObject({ code: 0 });
    const both = await Promise.all([from("two").run(), from("two").run()]);
    const codes = both.map(({ code }) => code).sort();
    expect([
      [0, 0],
      [0, 75],
    ]).toContainEqual(codes);
    for (const { code, out } of both) if (code === 75) expect(out).toContain("another deployment works there");
    expect(far.current()).toMatch(/^0\.2\.0-/);
    expect(await far.svc("daemon", "send", "echo", "hello")).toMatchObject({ code: 0 });
  });

  it("kill -9 of the one who deploys, while the daemon restarts: the far side ends what it began", { timeout: LONG }, async () => {
    expect(await from("one").run()).toMatchObject({ code: 0 });
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
    expect(await far.svc("daemon", "send", "echo", "hello")).toMatchObject({ code: 0 });
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
