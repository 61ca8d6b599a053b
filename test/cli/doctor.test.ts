import { execFile } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";
import { ON_SERVER } from "../kit/test-store.ts";

/** Doctors look at many folders in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
const servers: { close(): void }[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  for (const server of servers.splice(0)) server.close();
});

async function folder(config: unknown = echoConfig(), env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shell.write(config);
  chmodSync(join(shell.folder, "svc.json"), 0o600);
  mkdirSync(join(shell.folder, "w"), { recursive: true });
  return shell;
}

/** A folder in which a daemon ran and stopped; tests have copies of it. */
let used: string;
beforeAll(async () => {
  used = mkdtempSync(join(tmpdir(), "svc-doctor-test-"));
  const shell = await openShell({}, used);
  shell.write(echoConfig());
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  expect(await shell.svc("daemon", "stop")).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await (await openShell({}, used)).end();
  rmSync(used, { recursive: true, force: true });
});

async function usedFolder(): Promise<Shell> {
  const shell = await openShell();
  cpSync(used, shell.folder, { recursive: true });
  return shell;
}

/** As a user who may write nowhere here, where this one may write everywhere. */
const asNobody = (shell: Shell, ...args: string[]) =>
  new Promise<Said>((resolve) => {
    const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const child = execFile(
      process.execPath,
      [join(ROOT, "cli/bin/svc.cjs"), ...args],
      { cwd: shell.folder, env: { PATH: process.env.PATH, HOME: shell.folder }, ...identity },
      (_error, out, err) => resolve({ code: child.exitCode, out, err }),
    );
  });

const problems = ({ out }: Said) => out.split("\n").filter((line) => line.startsWith("ERROR") || line.startsWith("warning"));

/** Doctor and start agree: it ends with 1 and names the fault and a next step, and a start fails with `code` and says the same in words. */
async function bothFail(shell: Shell, said: RegExp, code: number): Promise<void> {
  const doctor = await lines(shell).svc("doctor");
  expect(doctor.out).toMatch(new RegExp(`ERROR.*${said.source}`));
  expect(doctor.code).toBe(1);
  const started = await shell.svc("daemon", "start");
  expect(started.err).toMatch(said);
  expect(started.err).not.toMatch(/E[A-Z]{3,}:/);
  expect(started.code).toBe(code);
}

describe("doctor tries what a start would do", () => {
  it("OPR-M4 a sound folder is well, with the daemon down and up", async () => {
    const shell = await folder();
    const before = await shell.svc("doctor");
    expect(before).toMatchObject({ code: 0, err: "" });
    expect(problems(before)).toEqual([expect.stringContaining("the daemon is not running; start it with: svc daemon start")]);
    expect(existsSync(join(shell.folder, ".svc"))).toBe(false);
    shells.push(shell);
    await shell.svc("daemon", "start");
    const after = await shell.svc("doctor");
    expect(after.code).toBe(0);
    expect(problems(after)).toEqual([]);
    expect(after.out).toContain("svc.db is sound");
  });

  it("OPR-M4 1 a database that is damaged in the middle", async () => {
    const shell = await usedFolder();
    const file = join(shell.folder, ".svc/svc.db");
    const handle = openSync(file, "r+");
    for (let page = 1; page < statSync(file).size / 4096; page += 1) writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
    await bothFail(shell, /svc\.db/, 74);
  });

  it("OPR-M4 2 a file that is no database, and a database of a newer version", async () => {
    const shell = await usedFolder();
    const file = join(shell.folder, ".svc/svc.db");
    const sound = readFileSync(file);
    writeFileSync(file, "this is a letter to my aunt ".repeat(400));
    await bothFail(shell, /svc\.db/, 74);
    writeFileSync(file, sound);
    const Database = createRequire(join(ROOT, "plugins/stores/sqlite/package.json"))("better-sqlite3");
    const database = new Database(file);
    database.pragma("user_version = 9999");
    database.close();
    await bothFail(shell, /version 9999, newer than/, 74);
  });

  it.skipIf(ON_SERVER !== undefined)(
    "OPR-M4 FAULT-09 a full disk: a start has the ballast's room; without any it ends with 74 and says what to do",
    async (ctx) => {
      const shell = await folder();
      const data = join(shell.folder, ".svc");
      mkdirSync(data);
      const disk = smallDisk(data, "4m");
      if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
      try {
        chmodSync(data, 0o700);
        await shell.svc("daemon", "start");
        await shell.svc("daemon", "stop");
        const fill = () => {
          try {
            for (;;) writeFileSync(join(data, "theirs"), Buffer.alloc(4096, 1), { flag: "a" });
          } catch {
            // Full.
          }
        };
        fill();
        const before = readdirSync(data).sort();
        expect(before).toContain("ballast");
        const doctor = await shell.svc("doctor");
        expect(doctor.out).toMatch(/warning {2}the disk of .*\.svc is full; free some room there .*a start has the room of .*ballast/);
        expect(doctor.out).not.toContain("damage");
        shells.push(shell);
        expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0, out: expect.stringContaining("The daemon is up") });
        expect(await shell.svc("daemon", "send", "echo", "hello")).toMatchObject({ code: 0, out: "hello\n" });
        expect((await shell.svc("daemon", "stop")).code).toBe(0);
        rmSync(join(data, "ballast"), { force: true });
        fill();
        await bothFail(shell, /[Tt]he disk of .*\.svc is full.*free some room there/, 74);
        const said = await shell.svc("daemon", "start", "--foreground");
        expect(said).toMatchObject({
          code: 74,
          err: expect.stringContaining(`The disk of the data folder ${data} is full: nothing can be stored. Free some room`),
        });
        // Nothing is left of what could not be written.
        expect(readdirSync(data).filter((name) => name.endsWith(".tmp"))).toEqual([]);
        rmSync(join(data, "theirs"));
        expect((await shell.svc("doctor")).code).toBe(0);
        expect((await shell.svc("daemon", "start")).code).toBe(0);
      } finally {
        await shell.end();
        shells.length = 0;
        disk.remove();
      }
    },
  );

  it("OPR-M4 a configuration that switches the store off", async () => {
    await bothFail(
      await folder(echoConfig({}, { plugins: ["!store-sqlite"] })),
      /Nothing keeps the state: store-sqlite is switched off; take "!store-sqlite" out of plugins/,
      78,
    );
  });

  it("OPR-M4 3 OPR-m5 a data folder that is a file", async () => {
    const shell = await folder();
    writeFileSync(join(shell.folder, ".svc"), "");
    await bothFail(shell, /\.svc.*move it away/, 74);
  });

  it("OPR-M4 4 a port that another program holds", async () => {
    const program = createServer((_request, response) => response.writeHead(404).end());
    servers.push(program);
    await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
    const shell = await folder(echoConfig({}, { node: { id: "n", name: "N", bind: `127.0.0.1:${(program.address() as AddressInfo).port}` } }));
    await bothFail(shell, /another program answers at.*svc config set node\.bind/, 69);
  });

  it("OPR-M4 5 a port that the daemon of another folder holds", async () => {
    const other = await folder();
    shells.push(other);
    await other.svc("daemon", "start");
    const { port } = JSON.parse(readFileSync(join(other.folder, ".svc/daemon.json"), "utf8"));
    const shell = await folder(echoConfig({}, { node: { id: "n", name: "N", bind: `127.0.0.1:${port}` } }));
    await bothFail(shell, /belongs to the daemon of Test \(test\) in .*svc config set node\.bind/, 69);
  });

  it("a svc.json that cannot be read, or is not there yet, leads to no words about the default port", async () => {
    const shell = await folder('{ "node": { "bind": ');
    const broken = await lines(shell).svc("doctor");
    expect(broken).toMatchObject({ code: 1, out: expect.stringContaining("svc.json:1:") });
    expect(broken.out).not.toMatch(/port|node\.bind/);
    expect(problems(await lines(await openShell()).svc("doctor"))).toEqual([expect.stringContaining("run: svc init")]);
  });

  it("OPR-M4 6 a plugin that is not installed", async () => {
    const shell = await folder(echoConfig({}, { plugins: ["svc-plugin-nope"] }));
    const { code, out } = await lines(shell).svc("doctor");
    expect(out).toMatch(/ERROR.*svc-plugin-nope.*is not installed/);
    expect(code).toBe(1);
    expect((await lines(shell).svc("config", "check")).code).toBe(78);
  });

  it("OPR-M4 7 an engine that is not there, with the daemon down", async () => {
    const empty = await openShell();
    const shell = await folder(echoConfig({ tier: "cli-b", local: undefined }));
    const { out } = await lines(shell, { PATH: empty.folder }).svc("doctor");
    expect(out).toMatch(/warning {2}the engine of agent echo \(tier cli-b\) is not usable: ./);
  });

  it("OPR-M5 providers are judged by the agents that use them, with the daemon down and up, in the words that a run fails with", async () => {
    const config = echoConfig(
      { tier: "sdk", provider: "ollama", model: "qwen", local: undefined },
      { providers: { ollama: {}, mine: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "${MINE}" } } },
    );
    const agents = config.agents as Record<string, object>;
    agents.second = { name: "Second", workspace: "./w", tier: "sdk", provider: "mine", model: "m" };
    const env = { MINE: "a-key-of-the-tests-00000000" };
    const shell = await folder(config, env);
    const words = "The address of the provider 'mine' is not known; set providers.mine.endpoint (baseUrl is not read).";
    const expected = [
      expect.stringContaining("providers.mine.baseUrl: is not read; the address of a provider is its key endpoint"),
      expect.stringContaining(words),
    ];
    expect(problems(await lines(shell, env).svc("doctor")).slice(0, 2)).toEqual(expected);
    expect((await lines(shell, env).svc("config", "check")).out).toContain("providers.mine.baseUrl: is not read");
    shells.push(shell);
    await shell.svc("daemon", "start");
    expect(problems(await lines(shell, env).svc("doctor"))).toEqual(expected);
    const { out, err } = await lines(shell).svc("daemon", "send", "second", "hello");
    expect(out + err).toContain(words);
  });

  it("OPR-M4 8 a .env whose lines do not parse, and that others may read", async () => {
    const shell = await folder();
    writeFileSync(join(shell.folder, ".env"), 'GOOD=1\nthis is nothing\nLONG="a\nb"\n=no name\n# a comment\n');
    chmodSync(join(shell.folder, ".env"), 0o644);
    const { out } = await lines(shell).svc("doctor");
    expect(out).toMatch(/warning.*\.env: line 2, 5 is no NAME=value and is ignored/);
    expect(out).toMatch(/warning.*\.env beside it can be read.*chmod 600/);
  });

  it("OPR-M4 9 a svc.json with a literal key that everybody may read and change", async () => {
    const shell = await folder(echoConfig({}, { providers: { anthropic: { apiKey: "sk-literal-0123456789" } } }));
    chmodSync(join(shell.folder, "svc.json"), 0o666);
    const { out } = await lines(shell).svc("doctor");
    expect(out).toMatch(/warning.*can be changed by other users.*chmod 600/);
    expect(out).toMatch(/warning.*can be read by other users.*providers\.anthropic\.apiKey/);
    expect(out).not.toContain("sk-literal");
  });

  it("OPR-M4 10 CON-D8 a channel that is enabled without an account, one whose account names no agent, and one without a topic", async () => {
    const enabled = (channels: object) => folder(echoConfig({}, { channels }));
    const none = await enabled({ botmsg: { enabled: true } });
    expect((await lines(none).svc("doctor")).out).toMatch(/warning.*channels\.botmsg: is enabled without an account; add one with: svc connect botmsg/);
    const nobody = await enabled({ botmsg: { enabled: true, accounts: { main: { token: "1:x", agentBinding: "nobody" } } }, topicpush: { enabled: true } });
    for (const command of [["doctor"], ["config", "check"]]) {
      const { out } = await lines(nobody).svc(...command);
      expect(out).toMatch(/channels\.botmsg\.accounts\.main\.agentBinding: names no agent of this configuration: 'nobody'; there are echo/);
      expect(out).toMatch(/channels\.topicpush\.topic: is missing/);
    }
  });

  it("OPR-M4 11 OPR-m5 a folder that this user may not write to, before the first start", async () => {
    const shell = await folder();
    chmodSync(join(shell.folder, "svc.json"), 0o644);
    chmodSync(shell.folder, 0o555);
    try {
      const doctor = await asNobody(shell, "doctor");
      expect(doctor.out).toMatch(/ERROR.*this user may not write there; run svc as the user it belongs to/);
      expect(doctor.code).toBe(1);
      const started = await asNobody(shell, "daemon", "start");
      expect(started.err).toMatch(/^svc: \/.* cannot be used: this user may not write there; run svc as/);
      expect(started.code).toBe(74);
      expect((await asNobody(shell, "config", "set", "node.name", "x")).err).toMatch(/takes no new files.*let the user of svc write there/);
    } finally {
      chmodSync(shell.folder, 0o755);
    }
  });

  it("OPR-M4 a workspace that cannot be made", async () => {
    const shell = await folder(echoConfig({ workspace: "/proc/nope/ws" }));
    const { code, out } = await lines(shell).svc("doctor");
    expect(out).toMatch(/ERROR.*agent echo: the workspace \/proc\/nope\/ws cannot be made.*set agents\.echo\.workspace/);
    expect(code).toBe(1);
  });

  it("OPR-m5 an address that this machine does not have", async () => {
    const shell = await folder(echoConfig({}, { node: { id: "n", name: "N", bind: "203.0.113.7:18800" } }));
    await bothFail(shell, /cannot listen on node\.bind 203\.0\.113\.7:18800: this machine does not have that address/, 78);
  });
});
