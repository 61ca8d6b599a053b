import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { lockHolder } from "@svc/kernel/folder";
import type { Trace } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { restoreBackup } from "../../cli/backup/restore-backup.ts";
import type { Cli } from "../../cli/cli.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function shellWith(config?: unknown): Promise<Shell> {
  const shell = await openShell();
  if (config !== undefined) shell.write(config);
  shells.push(shell);
  return shell;
}

const messages = async (shell: Shell) => (await shell.ask<{ traces: Trace[] }>("/traces?limit=1000")).traces.map(({ message }) => message).sort();
/** What an agent answers to a message. */
const answer = async (shell: Shell, agent: string, message: string) => (await shell.ask<{ reply: string }>("/task", { agent, message })).reply;

describe("svc backup of a running daemon", () => {
  const running = sharedDaemon(echoConfig());

  it("OPR-backup copies a running daemon under load; the copy restores elsewhere with everything that was acknowledged before it", async () => {
    const shell = running();
    writeFileSync(join(shell.folder, ".env"), "SOME_KEY=canary-1\n");
    const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as { port: number };
    const said: string[] = [];
    let writing = true;
    const writer = (async () => {
      for (let n = 0; writing; n += 1) {
        const headers = { "content-type": "application/json", accept: "application/json" };
        const response = await fetch(`http://127.0.0.1:${port}/task`, { method: "POST", headers, body: JSON.stringify({ agent: "echo", message: `m${n}` }) });
        await response.json();
        if (response.ok) said.push(`m${n}`);
        // All of them fit in the list that is read below, however long the backup takes.
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();
    while (said.length < 20) await new Promise((resolve) => setTimeout(resolve, 10));
    const before = [...said];
    const to = join(await temporaryFolder(), "copy");
    const taken = await shell.json<{ folder: string; files: number }>("backup", to);
    writing = false;
    await writer;
    expect(taken).toMatchObject({ folder: to });
    expect(statSync(to).mode & 0o777).toBe(0o700);
    expect(statSync(join(to, "svc-backup-secrets/.env")).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(to, "svc-backup-secrets/state"))).not.toEqual(expect.arrayContaining(["svc.db-wal", "daemon.lock", "daemon.json", "ballast"]));
    expect(await lines(shell).svc("backup", to)).toMatchObject({ code: 1, err: expect.stringContaining("exists already") });

    const other = await shellWith();
    expect(await other.svc("restore", to)).toMatchObject({ code: 0, out: expect.stringContaining("Next: svc daemon start") });
    expect(readFileSync(join(other.folder, ".env"), "utf8")).toContain("canary-1");
    expect((await other.svc("daemon", "start")).code).toBe(0);
    expect(await messages(other)).toEqual(expect.arrayContaining(before));
    expect((await other.svc("daemon", "send", "echo", "after")).out).toContain("after");
  });

  it("a folder in a file system of the kernel is refused, where making one would never end", async () => {
    expect(await lines(running()).svc("backup", "/proc/svc-backup")).toMatchObject({ code: 2, err: expect.stringContaining("name a folder elsewhere") });
  });

  it("FLT-R1 pipes and sockets of plugins, and files that go while it copies, break no backup", async () => {
    const shell = running();
    mkdirSync(join(shell.folder, ".svc/plugins"), { recursive: true });
    const own = mkdtempSync(join(shell.folder, ".svc/plugins/busy-"));
    const to = await temporaryFolder();
    symlinkSync("nowhere", join(own, "link"));
    const socket = createServer().listen(join(own, "socket"));
    execFileSync("mkfifo", [join(own, "pipe")]);
    const churn = spawn(process.execPath, [
      "-e",
      `const fs = require("node:fs"); for (;;) { for (let n = 0; n < 40; n++) { const f = process.argv[1] + "/f" + n; fs.existsSync(f) ? fs.unlinkSync(f) : fs.writeFileSync(f, "x"); } Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); }`,
      own,
    ]);
    try {
      for (let n = 0; n < 5; n += 1) expect(await shell.svc("backup", join(to, `copy${n}`))).toMatchObject({ code: 0 });
    } finally {
      churn.kill("SIGKILL");
      socket.close();
    }
    const names = readdirSync(join(to, "copy0/svc-backup-secrets/state/plugins", basename(own)));
    expect(names).toContain("link");
    expect(names).not.toEqual(expect.arrayContaining(["pipe"]));
    expect(names).not.toEqual(expect.arrayContaining(["socket"]));
  });
});

/** A folder in which a daemon ran, was told "kept" and has stopped, and its backup `copy`; each test works on a copy of it. */
let prepared: string;
beforeAll(async () => {
  prepared = mkdtempSync(join(tmpdir(), "svc-backup-test-"));
  const shell = await openShell({}, prepared);
  shell.write(echoConfig());
  expect((await shell.svc("daemon", "start")).code).toBe(0);
  await answer(shell, "echo", "kept");
  expect((await shell.svc("daemon", "stop")).code).toBe(0);
  mkdirSync(join(prepared, ".svc/sessions"), { recursive: true });
  writeFileSync(join(prepared, ".svc/sessions/note.json"), "{}");
  expect((await shell.svc("backup", "copy")).code).toBe(0);
});
afterAll(async () => {
  await (await openShell({}, prepared)).end();
  await rm(prepared, { recursive: true, force: true });
});

async function usedShell(): Promise<Shell> {
  const shell = await shellWith();
  await cp(prepared, shell.folder, { recursive: true, preserveTimestamps: true });
  return shell;
}

/** Removes the file of the backup, and puts a text or a link in its place. */
async function damage(shell: Shell, name: string, text: string | undefined): Promise<void> {
  const file = join(shell.folder, "copy/svc-backup-secrets", name);
  await rm(file);
  if (text?.startsWith("-> ")) symlinkSync(text.slice(3), file);
  else if (text !== undefined) writeFileSync(file, text);
}

/** The hash of each file of the folder but those of its backup. */
function filesOf(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const kept = files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => !path.startsWith(join(folder, "copy/")));
  return Object.fromEntries(kept.map((path) => [path, createHash("sha256").update(readFileSync(path)).digest("hex")]));
}

describe("svc backup and svc restore", () => {
  it("keeps what stood there, and changes nothing while a daemon runs or when the backup is not whole", async () => {
    const shell = await usedShell();
    const to = join(shell.folder, "copy");
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    await answer(shell, "echo", "later");
    expect(await shell.svc("restore", to)).toMatchObject({ code: 75, err: expect.stringContaining("svc daemon stop") });
    await shell.svc("daemon", "stop");

    const broken = join(shell.folder, "broken");
    await cp(to, broken, { recursive: true });
    await rm(join(broken, "backup.json"));
    expect(await lines(shell).svc("restore", broken)).toMatchObject({ code: 1, err: expect.stringContaining("no backup") });
    await cp(join(to, "backup.json"), join(broken, "backup.json"));
    writeFileSync(join(broken, "svc-backup-secrets/state/svc.db"), "no database");
    expect(await lines(shell).svc("restore", broken)).toMatchObject({ code: 1, err: expect.stringContaining("svc.db is not what was backed up") });

    const restored = await shell.json<{ kept: string[] }>("restore", to);
    expect(restored.kept.length).toBeGreaterThanOrEqual(2);
    expect(restored.kept.every((path) => existsSync(path))).toBe(true);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await messages(shell)).toEqual(["kept"]);
  });

  it.each([
    ["without its database", "state/svc.db", undefined, "svc.db is missing"],
    ["whose database is empty", "state/svc.db", "", "svc.db is not what was backed up"],
    ["without its configuration", "svc.json", undefined, "svc.json is missing"],
    ["whose configuration is another one", "svc.json", "{}", "svc.json is not what was backed up"],
    ["in which a file has become a link that never ends", "state/sessions/note.json", "-> /dev/zero", "note.json is not what was backed up"],
    ["without a file of the state", "state/sessions/note.json", undefined, "note.json is missing"],
  ])("a backup %s is refused, and nothing is changed", async (_what, name, text, reason) => {
    const shell = await usedShell();
    const before = filesOf(shell.folder);
    await damage(shell, name, text);
    expect(await lines(shell).svc("restore", "copy")).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
    expect(readdirSync(shell.folder).filter((entry) => /restor/.test(entry))).toEqual([]);
    expect(filesOf(shell.folder)).toEqual(before);
  });

  it("a daemon starts with what was there after a backup was refused", async () => {
    const shell = await usedShell();
    await damage(shell, "state/svc.db", "");
    expect((await lines(shell).svc("restore", "copy")).code).toBe(1);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await messages(shell)).toEqual(["kept"]);
  });

  it("no daemon starts on a folder while a backup is put in its place", async () => {
    const shell = await usedShell();
    const to = join(shell.folder, "copy");
    const dataFolder = join(shell.folder, ".svc");
    const file = join(shell.folder, "svc.json");
    let holder: number | undefined;
    // Asked for in the middle of it, after what was first looked at.
    const cli = {
      folder: shell.folder,
      dataFolder,
      get file() {
        holder = lockHolder(dataFolder)?.pid;
        return file;
      },
    };
    const { kept } = await restoreBackup(cli as Cli, to);
    expect(holder).toBe(process.pid);
    expect(kept.filter((path) => existsSync(join(path, "daemon.lock")))).toEqual([]);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
  });

  it.each([".svc", "svc.json"])("a restore that is killed when %s was moved away is told by doctor and by each start, and done again", async (name) => {
    const shell = await usedShell();
    const to = join(shell.folder, "copy");
    const killer = join(shell.folder, "killer.cjs");
    writeFileSync(
      killer,
      `const files = require("node:fs/promises");
      const { rename } = files;
      files.rename = async (from, to) => {
        await rename(from, to);
        if (from === ${JSON.stringify(join(shell.folder, name))}) process.kill(process.pid, "SIGKILL");
      };
      require("node:module").syncBuiltinESMExports();`,
    );
    await (await openShell({ NODE_OPTIONS: `--require ${killer}` }, shell.folder)).svc("restore", to);
    expect(existsSync(join(shell.folder, name))).toBe(false);
    const told = expect.stringContaining(`Restore it again: svc restore ${to}`);
    for (const start of [["start"], ["daemon", "start"], ["daemon", "start", "--foreground"]])
      expect(await shell.svc(...start)).toMatchObject({ code: 74, err: told });
    expect(await shell.svc("doctor")).toMatchObject({ code: 1, out: told });
    expect(existsSync(join(shell.folder, name))).toBe(false);
    expect((await shell.svc("restore", to)).code).toBe(0);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await messages(shell)).toEqual(["kept"]);
  });

  it("OPR-backup where a part cannot be put in its place, as where svc.json is a mount, all is as before, and a daemon starts", async () => {
    const shell = await usedShell();
    const to = join(shell.folder, "copy");
    const before = filesOf(shell.folder);
    const mount = join(await temporaryFolder(), "mount.cjs");
    writeFileSync(
      mount,
      `const files = require("node:fs/promises");
      const { rename } = files;
      const error = (path) => Object.assign(new Error("EBUSY: resource busy or locked"), { code: "EBUSY", syscall: "rename", path });
      files.rename = async (from, to) => { if (from === ${JSON.stringify(join(shell.folder, "svc.json"))}) throw error(from); await rename(from, to); };
      require("node:module").syncBuiltinESMExports();`,
    );
    const refused = await (await openShell({ NODE_OPTIONS: `--require ${mount}` }, shell.folder)).svc("restore", to);
    expect(refused).toMatchObject({ code: 74, err: expect.stringContaining("svc.json cannot be used: it is a mount") });
    expect(readdirSync(shell.folder, { recursive: true }).filter((entry) => /restor/.test(String(entry)))).toEqual([]);
    expect(filesOf(shell.folder)).toEqual(before);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await messages(shell)).toEqual(["kept"]);
  });

  it("SEC-R1 no agent reads a backup beside svc.json, under any name, nor what a restore kept aside", async () => {
    const agents = { a: { name: "A", workspace: ".", tier: "local", local: { actions: ["file.*"] } } };
    const shell = await shellWith({ node: { ...echoConfig().node, defaultAgent: "a" }, agents });
    writeFileSync(join(shell.folder, ".env"), "SOME_KEY=canary-2\n");
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    const { folder } = await shell.json<{ folder: string }>("backup");
    await shell.svc("backup", "copy");
    await shell.end();
    const { kept } = await shell.json<{ kept: string[] }>("restore", "copy");
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    const secret = ["copy", folder].flatMap((backup) => [".env", "svc.json", "state/svc.db"].map((name) => join(backup, "svc-backup-secrets", name)));
    const aside = kept.map((path) => (path.includes(".svc.before") ? join(path, "last-good.json") : path));
    for (const path of [...secret, ...aside]) {
      expect(existsSync(join(shell.folder, path)) || existsSync(path)).toBe(true);
      const said = await answer(shell, "a", `/run file.read_lines ${JSON.stringify({ path })}`);
      expect([path, said]).toEqual([path, expect.stringContaining("belongs to the daemon")]);
    }
  });

  it("FLT-R3 SEC-R9 a backup does not copy itself, and a link in a backup takes the place of nothing", async () => {
    const shell = await shellWith(echoConfig());
    mkdirSync(join(shell.folder, ".svc/actions"), { recursive: true });
    expect(await lines(shell).svc("backup", ".svc/inner")).toMatchObject({ code: 2, err: expect.stringContaining("lies in the data folder") });
    expect(readdirSync(join(shell.folder, ".svc"))).toEqual(["actions"]);
    for (const name of ["state", "svc.json"]) {
      expect((await lines(shell).svc("backup", `of-${name}`)).code).toBe(0);
      const place = join(shell.folder, `of-${name}`, "svc-backup-secrets", name);
      await rm(place, { recursive: true });
      symlinkSync(name === "state" ? "/etc" : "/etc/passwd", place);
      expect(await lines(shell).svc("restore", `of-${name}`)).toMatchObject({ code: 1, err: expect.stringContaining("is a link") });
    }
    expect(lstatSync(join(shell.folder, ".svc")).isDirectory()).toBe(true);
  });
});
