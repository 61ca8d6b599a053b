import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { holderTold, lockFolder, lockHolder } from "./folder-lock.ts";
import { endedProcess, startChild } from "./processes.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

const record = (pid: number, more: object = {}) => writeFile(join(folder, "daemon.lock"), JSON.stringify({ pid, startedAt: 1, nonce: "n", ...more }));

it("is held once, and free again after its release", () => {
  expect(lockHolder(folder)).toBeUndefined();
  const lock = lockFolder(folder);
  expect(lockHolder(folder)).toEqual({ pid: process.pid, startedAt: expect.any(Number) });
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: "SVC_DAEMON_RUNNING", pid: process.pid }));
  lock.release();
  lock.release();
  expect(lockHolder(folder)).toBeUndefined();
  const next = lockFolder(folder);
  lock.release();
  expect(lockHolder(folder)?.pid).toBe(process.pid);
  next.release();
});

it("FAULT-71 a second daemon is told the pid of the first, and takes over when that is killed", async () => {
  const child = startChild("lock", folder);
  await child.printed(1);
  const pid = child.process.pid as number;
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: "SVC_DAEMON_RUNNING", pid, message: expect.stringContaining(String(pid)) }));
  expect(lockHolder(folder)?.pid).toBe(pid);
  child.process.kill("SIGKILL");
  await child.ended;
  expect(lockHolder(folder)).toBeUndefined();
  lockFolder(folder).release();
  expect(await readdir(folder)).toEqual([]);
});

it("a process that was given a dead holder's id is not the holder", async () => {
  await record(process.ppid, { identity: "another boot:1" });
  expect(lockHolder(folder)).toBeUndefined();
  lockFolder(folder).release();
});

it("believes in a live holder whose start time is not known", async () => {
  await record(process.ppid);
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: "SVC_DAEMON_RUNNING", pid: process.ppid }));
});

it("FAULT-71 a lock of another container is held for as long as it is touched, and its process id is nobody's here", async () => {
  const file = join(folder, "daemon.lock");
  await record(process.pid, { space: "this boot pid:[1]" });
  expect(lockHolder(folder)).toBeUndefined();
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: "SVC_DAEMON_RUNNING", message: expect.stringContaining("of another container") }));
  // Touched while it is looked at: it lives, and nobody waits any longer.
  const told = holderTold(folder);
  await utimes(file, new Date(), new Date(Date.now() - 1_000));
  await told;
  await utimes(file, new Date(), new Date(Date.now() - 11_000));
  await holderTold(folder);
  lockFolder(folder).release();
});

it("FAULT-71 a holder touches its lock", async () => {
  const lock = lockFolder(folder);
  const file = join(folder, "daemon.lock");
  await utimes(file, new Date(1_000), new Date(1_000));
  lock.watch(() => {});
  await vi.waitFor(async () => expect(Date.now() - (await stat(file)).mtimeMs).toBeLessThan(10_000), { timeout: 20_000 });
  lock.release();
});

it("a folder in the place of the lock is named, with what to do", async () => {
  const file = join(folder, "daemon.lock");
  await mkdir(file);
  const told = expect.objectContaining({ code: "SVC_LOCK_FOLDER", message: expect.stringContaining(`${file} is a folder`) });
  expect(() => lockHolder(folder)).toThrow(told);
  expect(() => lockFolder(folder)).toThrow(told);
});

it("takes over a file that says nothing, such as one emptied by a power cut", async () => {
  for (const content of ["", "null", "{}", '{"pid":-1,"startedAt":1,"nonce":"n"}', "garbage"]) {
    await writeFile(join(folder, "daemon.lock"), content);
    const lock = lockFolder(folder);
    expect(JSON.parse(await readFile(join(folder, "daemon.lock"), "utf8")).pid).toBe(process.pid);
    lock.release();
  }
});

it("of many that find a dead holder exactly one takes over", async () => {
  await record(endedProcess());
  const children = Array.from({ length: 6 }, () => startChild("lock", folder));
  try {
    await Promise.all(children.map((child) => child.printed(1)));
    const lines = children.map((child) => child.lines[0] as string);
    expect(lines.filter((line) => line === "held")).toHaveLength(1);
    const winner = children.find((child) => child.lines[0] === "held")?.process.pid;
    expect(lockHolder(folder)?.pid).toBe(winner);
    for (const line of lines) expect(line).toMatch(/^held$|^SVC_DAEMON_RUNNING \d+$/);
  } finally {
    for (const child of children) child.process.kill("SIGKILL");
    await Promise.all(children.map((child) => child.ended));
  }
});

it("FLT-6 a lock file that somebody removed is put back, so that a second daemon is kept out", async () => {
  const lock = lockFolder(folder);
  const lost: string[] = [];
  lock.watch((reason) => lost.push(reason));
  await rm(join(folder, "daemon.lock"));
  await vi.waitFor(() => expect(lockHolder(folder)?.pid).toBe(process.pid), { timeout: 20_000 });
  expect(lost).toEqual([]);
  lock.release();
  expect(lockHolder(folder)).toBeUndefined();
});

it("FLT-6 who came in while the lock file was removed is noticed, and so is a folder that is gone", async () => {
  const lock = lockFolder(folder);
  await rm(join(folder, "daemon.lock"));
  const child = startChild("lock", folder);
  await child.printed(1);
  const reason = await new Promise<string>((resolve) => lock.watch(resolve));
  expect(reason).toContain(`process ${child.process.pid} has taken the folder`);
  lock.release();
  expect(lockHolder(folder)?.pid).toBe(child.process.pid);
  child.process.kill("SIGKILL");
  await child.ended;
  const again = lockFolder(folder);
  await rm(folder, { recursive: true });
  expect(await new Promise<string>((resolve) => again.watch(resolve))).toContain("is gone");
  again.release();
  await mkdir(folder);
});

it("FLT-6 a folder that was removed and made anew by who writes into it is noticed, although the lock could be put back", async () => {
  const lock = lockFolder(folder);
  const reason = new Promise<string>((resolve) => lock.watch(resolve));
  await rm(folder, { recursive: true });
  await mkdir(folder);
  expect(await reason).toContain("was removed and made anew");
  lock.release();
});
