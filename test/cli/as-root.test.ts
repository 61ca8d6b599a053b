import { chownSync, lchownSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const USER = 65_534;

let shell: Shell;
afterEach(() => shell.end());

/** Paths below the folder that belong to another user. */
const foreign = (): readonly string[] =>
  ["", ...(readdirSync(shell.folder, { recursive: true }) as string[])].filter((path) => {
    const { uid, gid } = lstatSync(join(shell.folder, path));
    return uid !== USER || gid !== USER;
  });

it.skipIf(process.getuid?.() !== 0)("what root changes in the folder of another user stays that user's, whose daemon reads it", async () => {
  shell = await openShell();
  shell.write(echoConfig());
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  expect(await shell.svc("exec", "echo", "kept")).toMatchObject({ code: 0 });
  await shell.svc("daemon", "stop");
  for (const path of ["", ...(readdirSync(shell.folder, { recursive: true }) as string[])]) chownSync(join(shell.folder, path), USER, USER);
  expect(foreign()).toEqual([]);

  expect(await shell.svc("config", "set", "session.staleMinutes", "30")).toMatchObject({ code: 0 });
  expect(await shell.svc("agent", "add", "second", "--tier", "local")).toMatchObject({ code: 0 });
  expect(await shell.svc("token", "create", "--name", "reader", "--scope", "dashboard:read")).toMatchObject({ code: 0 });
  expect(await shell.svc("doctor")).toMatchObject({ out: expect.stringContaining("svc.db is sound") });
  const { folder } = await shell.json<{ folder: string }>("backup", join(await temporaryFolder(), "copy"));
  expect(await shell.svc("restore", folder)).toMatchObject({ code: 0 });
  expect(foreign()).toEqual([]);
});

it("a start of the daemon writes its first words to no file that a link leads to", async () => {
  shell = await openShell();
  shell.write(echoConfig());
  const precious = join(await temporaryFolder(), "precious");
  writeFileSync(precious, "kept");
  mkdirSync(join(shell.folder, ".svc"));
  symlinkSync(precious, join(shell.folder, ".svc/daemon.log.start"));
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  expect(readFileSync(precious, "utf8")).toBe("kept");
  expect(lstatSync(join(shell.folder, ".svc/daemon.log.start")).isFile()).toBe(true);
});

it.skipIf(process.getuid?.() !== 0)("what root begins in the folder of another user is that user's", async () => {
  shell = await openShell();
  chownSync(shell.folder, USER, USER);
  expect(await shell.svc("init", "--tier", "local")).toMatchObject({ code: 0 });
  expect(foreign()).toEqual([]);
});

it.skipIf(process.getuid?.() !== 0)("SEC-R9 a restore by root gives away what is restored, and nothing that a link in it leads to", async () => {
  shell = await openShell();
  shell.write(echoConfig());
  const [elsewhere, data] = [await temporaryFolder(), join(shell.folder, ".svc")];
  mkdirSync(join(elsewhere, "inner"));
  writeFileSync(join(elsewhere, "inner/file"), "of root");
  mkdirSync(join(data, "deep"), { recursive: true });
  symlinkSync(elsewhere, join(data, "deep/link"));
  for (const path of ["", ...(readdirSync(shell.folder, { recursive: true }) as string[])])
    if (!path.includes("link/")) lchownSync(join(shell.folder, path), USER, USER);
  const { folder } = await shell.json<{ folder: string }>("backup", join(await temporaryFolder(), "copy"));
  expect(await shell.svc("restore", folder)).toMatchObject({ code: 0 });
  expect(lstatSync(join(data, "deep/link"))).toMatchObject({ uid: USER });
  expect(lstatSync(join(data, "deep"))).toMatchObject({ uid: USER });
  for (const path of ["", "inner", "inner/file"]) expect(lstatSync(join(elsewhere, path))).toMatchObject({ uid: 0, gid: 0 });
});
