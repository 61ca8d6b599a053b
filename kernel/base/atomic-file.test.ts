import { chown, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { atomicWrite, sweepTemporary } from "./atomic-file.ts";
import { endedProcess, smallDisk, startChild } from "./processes.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-atomic-"));
});
afterEach(() => rm(folder, { recursive: true }));

it("writes a file that only its owner reads, and replaces it whole", async () => {
  const file = join(folder, "svc.json");
  await atomicWrite(file, "a much longer first version");
  await atomicWrite(file, Buffer.from("short"));
  expect(await readFile(file, "utf8")).toBe("short");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await atomicWrite(join(folder, "public"), "x", { mode: 0o640 });
  expect((await stat(join(folder, "public"))).mode & 0o777).toBe(0o640);
  expect(await readdir(folder)).toEqual(["public", "svc.json"]);
});

it.skipIf(process.getuid?.() !== 0)("written by root, belongs to whom the one before belonged to, else to whom its folder does", async () => {
  const file = join(folder, "svc.json");
  await writeFile(file, "the operator's");
  await chown(file, 0, 65_534);
  await atomicWrite(file, "root's");
  expect(await stat(file)).toMatchObject({ uid: 0, gid: 65_534 });
  await chown(folder, 65_534, 65_534);
  await atomicWrite(join(folder, "new"), "root's");
  expect(await stat(join(folder, "new"))).toMatchObject({ uid: 65_534, gid: 65_534 });
});

it("leaves one whole version when many write at once", async () => {
  const file = join(folder, "tokens.json");
  const versions = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
  await Promise.all(versions.map((version) => atomicWrite(file, version)));
  expect(versions).toContain(await readFile(file, "utf8"));
  expect(await readdir(folder)).toEqual(["tokens.json"]);
});

it("keeps what was there and leaves no temporary file when it fails", async () => {
  const taken = join(folder, "taken");
  await mkdir(join(taken, "inside"), { recursive: true });
  await expect(atomicWrite(taken, "x")).rejects.toMatchObject({ code: expect.stringMatching(/EISDIR|ENOTEMPTY|EEXIST/) });
  expect(await readdir(folder)).toEqual(["taken"]);
  expect(await readdir(taken)).toEqual(["inside"]);
});

it("FAULT-10 a full disk keeps the old configuration and leaves no empty file", async (ctx) => {
  const disk = smallDisk(folder, "200k");
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  try {
    const file = join(folder, "svc.json");
    await atomicWrite(file, '{"old":true}');
    await expect(atomicWrite(file, "x".repeat(400_000))).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await readFile(file, "utf8")).toBe('{"old":true}');
    expect(await readdir(folder)).toEqual(["svc.json"]);
  } finally {
    disk.remove();
  }
});

it("sweeps what killed writers left, and nothing else", async () => {
  const gone = endedProcess();
  const before = new Date(performance.timeOrigin - 60_000);
  const names = {
    [`.svc.json.${gone}.7.tmp`]: before,
    [`.svc.json.${process.pid}.7.tmp`]: before,
    // Of a process that lives, of this one now, and of other makers.
    [`.svc.json.${process.ppid}.7.tmp`]: before,
    [`.tokens.json.${process.pid}.8.tmp`]: new Date(),
    "notes.tmp": before,
    ".hidden.tmp": before,
  };
  for (const [name, at] of Object.entries(names)) {
    await writeFile(join(folder, name), "half");
    await utimes(join(folder, name), at, at);
  }
  expect([...(await sweepTemporary(folder))].sort()).toEqual(Object.keys(names).slice(0, 2).sort());
  expect((await readdir(folder)).sort()).toEqual(Object.keys(names).slice(2).sort());
  expect(await sweepTemporary(join(folder, "missing"))).toEqual([]);
});

it("holds a whole version after kill -9 at any moment", async () => {
  const file = join(folder, "svc.json");
  await atomicWrite(file, "0".repeat(200_000));
  for (let round = 1; round <= 3; round += 1) {
    const child = startChild("replace", file);
    await child.printed(round * 20);
    child.process.kill("SIGKILL");
    expect(await child.ended).toBe("SIGKILL");
    const text = await readFile(file, "utf8");
    expect(text).toBe((text[0] as string).repeat(200_000));
  }
});
