import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Collection, codeOf } from "@svc/sdk";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { checkDatabase } from "./database.ts";
import { openStore } from "./open.ts";
import { smallDisk, startChild } from "./processes.harness.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-faults-"));
  file = join(folder, "svc.db");
});
afterEach(() => rm(folder, { recursive: true }));

/** What `child.harness.ts` acknowledged must be there: document, queue item and dedup key of each. */
async function expectAcknowledged(keys: readonly string[]): Promise<void> {
  const store = openStore({ file });
  const core = store.scope("core");
  for (const key of keys) {
    expect(await core.collection("tasks").get(key)).toMatchObject({ key, value: { key }, version: 1 });
    expect(await core.queue("inbox").push(key, { dedupKey: key })).toBeUndefined();
  }
  expect(await core.queue("inbox").size()).toBe(await core.collection("tasks").count());
  await store.close();
  expect(checkDatabase(file)).toEqual([]);
}

const acknowledged = (lines: readonly string[]) => lines.filter((line) => /^\d+-\d+$/.test(line));

it("a program that forgets to close the store ends by itself, and its write is kept", async () => {
  const child = startChild("forget", file);
  expect(await child.ended).toBe(0);
  expect(child.lines).toEqual(["emptied"]);
  const store = openStore({ file });
  expect(await store.scope("core").collection("tasks").get("a")).toMatchObject({ value: "x".repeat(3 * 1_048_576) });
  await store.close();
});

it("what was acknowledged survives kill -9", async () => {
  const keys: string[] = [];
  for (const lines of [150, 300, 450]) {
    await rm(file, { force: true });
    await rm(`${file}-wal`, { force: true });
    const child = startChild("write", file);
    await child.printed(lines);
    // The last time while the log is moved into the database.
    if (lines === 450) await expect.poll(() => statSync(file).size, { interval: 5 }).toBeGreaterThan(100_000);
    child.process.kill("SIGKILL");
    expect(await child.ended).toBe("SIGKILL");
    keys.push(...acknowledged(child.lines));
    await expectAcknowledged(acknowledged(child.lines));
  }
  expect(keys.length).toBeGreaterThanOrEqual(900);
});

it("what was noted survives kill -9", async () => {
  const child = startChild("note", file);
  await child.printed(95);
  child.process.kill("SIGKILL");
  expect(await child.ended).toBe("SIGKILL");
  const store = openStore({ file });
  const tasks = store.scope("core").collection<number>("tasks");
  for (let round = 0; round < child.lines.length; round += 1)
    expect([(await tasks.get(`a-${round}`))?.value, (await tasks.get(`b-${round}`))?.value]).toEqual([round, round]);
  await store.close();
});

it("a note waits for no fsync, and what is committed after it is acknowledged after one", async (ctx) => {
  const trace = await traced("note");
  if (trace === undefined) return ctx.skip("strace may not trace here");
  const syncs = { noted: 0, committed: 0 };
  for (const { line, dirty } of watchLog(trace)) {
    const [, kind] = / write\(1<.*"(noted|committed) \d+\\n"/.exec(line) ?? [];
    if (kind === "noted" && dirty) syncs.noted += 1;
    if (kind === "committed") {
      syncs.committed += 1;
      expect(dirty, `acknowledged before the fsync: ${line}`).toBe(false);
    }
  }
  expect(syncs.committed).toBeGreaterThanOrEqual(5);
  expect(syncs.noted).toBeGreaterThan(40);
});

it("nothing is acknowledged before its fsync", async (ctx) => {
  const trace = await traced("write");
  if (trace === undefined) return ctx.skip("strace may not trace here");
  let acknowledgements = 0;
  for (const { line, dirty } of watchLog(trace)) {
    if (!/ write\(1<.*"\d+-\d+\\n"/.test(line)) continue;
    acknowledgements += 1;
    expect(dirty, `acknowledged before the fsync: ${line}`).toBe(false);
  }
  expect(acknowledgements).toBeGreaterThanOrEqual(60);
});

/** The calls of a program that was killed after its sixtieth line; undefined where this user may not trace. */
async function traced(program: string): Promise<string | undefined> {
  const trace = join(folder, "trace");
  const child = startChild(program, file, ["strace", "-f", "-y", "-o", trace, "-e", "trace=pwrite64,fsync,fdatasync,write"]);
  const started = await child.printed(60).then(
    () => true,
    () => false,
  );
  if (!started) return undefined;
  spawnSync("kill", ["-9", tracedProcess(trace)]);
  await child.ended;
  return trace;
}

/** Each line of the trace, and whether the log held something then that no sync, begun afterwards, had brought to the disk. */
function* watchLog(trace: string): Generator<{ readonly line: string; readonly dirty: boolean }> {
  let written = 0;
  let synced = 0;
  /** By thread: how much was written when the sync began that is not over yet. */
  const syncing = new Map<string, number>();
  for (const line of readFileSync(trace, "utf8").split("\n")) {
    const [thread = ""] = line.split(" ");
    if (/pwrite64\(\d+<.*svc\.db-wal>/.test(line)) written += 1;
    else if (/f(data)?sync\(\d+<.*svc\.db-wal>/.test(line)) {
      if (line.includes("<unfinished")) syncing.set(thread, written);
      else if (line.endsWith("= 0")) synced = written;
    } else if (/<\.\.\. f(data)?sync resumed/.test(line)) {
      if (line.endsWith("= 0")) synced = Math.max(synced, syncing.get(thread) ?? 0);
      syncing.delete(thread);
    }
    yield { line, dirty: synced < written };
  }
}

function tracedProcess(trace: string): string {
  return /^\d+/.exec(readFileSync(trace, "utf8"))?.[0] ?? "";
}

it("FAULT-11 an fsync that fails ends the store: nothing more is acknowledged, exit 74", async (ctx) => {
  const inject = ["-P", `${file}-wal`, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=12+"];
  const child = startChild("write", file, ["strace", "-f", "-o", join(folder, "trace"), ...inject]);
  const code = await child.ended;
  if (child.lines.length === 0) return ctx.skip("strace may not trace here");
  expect(code).toBe(74);
  expect(child.lines.filter((line) => line.startsWith("refused"))).toEqual(Array(8).fill("refused SVC_STORE_FAILED"));
  expect(child.lines).toContain("late SVC_STORE_FAILED");
  const keys = acknowledged(child.lines);
  expect(keys.length).toBeGreaterThan(0);
  expect(child.lines.slice(0, keys.length)).toEqual(keys);
  await expectAcknowledged(keys);
});

const text = "x".repeat(10_000);

/** Puts documents until the disk is full; resolves with the keys that were acknowledged and the refusal. */
async function fillDisk(tasks: Collection<string>, pauseMs: number): Promise<{ kept: string[]; refusal: unknown }> {
  const kept: string[] = [];
  for (;;) {
    const key = `k${kept.length}`;
    try {
      await tasks.put(key, text);
    } catch (refusal) {
      return { kept, refusal };
    }
    kept.push(key);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

it("FAULT-09 a full disk refuses what adds, lets go what frees, and takes everything again by itself", async (ctx) => {
  const disk = smallDisk(folder, "2m");
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  const store = openStore({ file });
  try {
    const core = store.scope("core");
    const tasks = core.collection<string>("tasks");
    const work = core.queue<string>("work");
    await work.push("held", { id: "held" });
    const { kept, refusal } = await fillDisk(tasks, 12);
    expect(refusal).toMatchObject({ code: "SVC_STORE_FULL", status: 507 });
    expect(store.health()).toEqual({ ok: false, reason: expect.stringContaining("full") });
    expect(existsSync(join(folder, "ballast"))).toBe(false);
    expect(await tasks.count()).toBe(kept.length);
    await expect(tasks.put("k0", text)).rejects.toMatchObject({ code: "SVC_STORE_FULL" });
    // Work goes on: claims, completions and deletes.
    expect(await work.claim(1, 1000)).toHaveLength(1);
    await work.complete("held");
    expect(await work.size()).toBe(0);
    for (const key of kept.splice(0, kept.length / 2)) await tasks.delete(key);
    await vi.waitFor(() => tasks.put("again", text), { timeout: 10_000, interval: 100 });
    expect(store.health()).toEqual({ ok: true });
    expect(await tasks.count()).toBe(kept.length + 1);
    await store.close();
    expect(checkDatabase(file)).toEqual([]);
  } finally {
    await store.close();
    disk.remove();
  }
});

it("FAULT-09 a disk that somebody else filled is written to again when they made room", async (ctx) => {
  const disk = smallDisk(folder, "4m");
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  writeFileSync(join(folder, "theirs"), Buffer.alloc(2 * 1_048_576));
  const store = openStore({ file });
  try {
    const tasks = store.scope("core").collection<string>("tasks");
    // At full speed, so that the log holds more than the reserve could take.
    const { kept, refusal } = await fillDisk(tasks, 0);
    expect(refusal).toMatchObject({ code: "SVC_STORE_FULL" });
    for (const key of kept.splice(0, 10)) await tasks.delete(key);
    rmSync(join(folder, "theirs"));
    await vi.waitFor(() => tasks.put("again", text), { timeout: 10_000, interval: 100 });
    expect(statSync(join(folder, "ballast")).size).toBe(300 * 1024);
    expect(await tasks.count()).toBe(kept.length + 1);
    await store.close();
    expect(checkDatabase(file)).toEqual([]);
  } finally {
    await store.close();
    disk.remove();
  }
});

it("FAULT-12 another process's lock is waited for without holding the loop, then answered 503", async () => {
  const store = openStore({ file });
  const tasks = store.scope("core").collection("tasks");
  await tasks.put("before", 1);
  const other = new Database(file);
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 5);
  try {
    other.exec("BEGIN IMMEDIATE");
    await expect(tasks.put("a", 1)).rejects.toMatchObject({ code: "SVC_STORE_BUSY", status: 503 });
    expect(turns).toBeGreaterThan(3);
    const late = tasks.put("b", 1);
    const later = tasks.put("b", 2);
    setTimeout(() => other.exec("COMMIT"), 60);
    expect(await Promise.all([late, later])).toEqual([1, 2]);
    expect(await tasks.get("a")).toBeUndefined();
    expect(store.health()).toEqual({ ok: true });
  } finally {
    clearInterval(turning);
    other.close();
    await store.close();
  }
});

async function fill(documents: number, bytes: number): Promise<void> {
  const store = openStore({ file });
  const tasks = store.scope("core").collection<string>("tasks", { indexes: ["agent"] });
  await Promise.all(Array.from({ length: documents }, (_, index) => tasks.put(`k${index}`, "x".repeat(bytes))));
  await store.close();
}

/** Overwrites one page, as a bad disk would. */
function damage(page: number): Buffer {
  const bytes = readFileSync(file);
  bytes.fill(0xa5, (page - 1) * 4096, page * 4096);
  writeFileSync(file, bytes);
  return bytes;
}

it("FAULT-13 a damaged database is refused at start, left as it is, and the check named", async () => {
  await fill(200, 100);
  for (const page of [4, 1]) {
    const bytes = damage(page);
    expect(() => openStore({ file })).toThrow(expect.objectContaining({ code: "SVC_STORE_CORRUPT", message: expect.stringContaining("svc db check") }));
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(checkDatabase(file).length).toBeGreaterThan(0);
  }
  writeFileSync(file, "no database at all, but long enough to be looked at ".repeat(100));
  expect(() => openStore({ file })).toThrow(expect.objectContaining({ code: "SVC_STORE_CORRUPT" }));
});

it("FLT-11 two spoilt bytes anywhere in the header are damage with the file's name, or nothing that matters", async () => {
  await fill(20, 100);
  const whole = readFileSync(file);
  const codes = new Map<string, number>();
  for (let at = 0; at < 98; at += 2) {
    const bytes = Buffer.from(whole);
    bytes[at] = 0xc3;
    bytes[at + 1] = 0xa7;
    writeFileSync(file, bytes);
    try {
      await openStore({ file }).close();
    } catch (error) {
      const { code, message } = error as Error & { code: string };
      expect(["SVC_STORE_CORRUPT", "SVC_STORE_FAILED", "SVC_STORE_NEWER"], `${at}: ${message}`).toContain(code);
      expect(message).toContain(file);
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  }
  expect(codes.get("SVC_STORE_CORRUPT")).toBeGreaterThan(3);
  whole.write("\u00c3\u00a7", 46, "latin1");
  writeFileSync(file, whole);
  expect(() => openStore({ file })).toThrow(expect.objectContaining({ code: "SVC_STORE_CORRUPT", message: expect.stringContaining("svc db check") }));
});

for (const [what, harm] of [
  ["deleted", () => rmSync(file)],
  ["replaced", () => renameSync(copyOf(file), file)],
  ["gone with its folder", () => rmSync(folder, { recursive: true })],
  ["without its log", () => rmSync(`${file}-wal`)],
] as const) {
  it(`FLT-6 a database that is ${what} while it is open ends the store: nothing more is acknowledged`, async () => {
    const store = openStore({ file });
    const failed = new Promise<Error>((resolve) => store.onFailure(resolve));
    const tasks = store.scope("core").collection("tasks");
    await tasks.put("a", 1);
    harm();
    // SQLite may see it first, in words of its own.
    expect(await failed).toMatchObject({ code: "SVC_STORE_FAILED", message: expect.stringContaining(file) });
    await expect(tasks.put("b", 2)).rejects.toMatchObject({ code: "SVC_STORE_FAILED" });
    expect(store.health()).toMatchObject({ ok: false });
    await store.close();
    await mkdir(folder, { recursive: true });
  });
}

function copyOf(original: string): string {
  copyFileSync(original, `${original}.copy`);
  return `${original}.copy`;
}

it("FAULT-13 damage met later ends the store, with nothing more written", async () => {
  await fill(40, 1_000_000);
  const reader = new Database(file);
  const page = reader.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'documents:core/tasks'").pluck().get() as number;
  reader.close();
  damage(page);
  const store = openStore({ file });
  const failures: unknown[] = [];
  store.onFailure((error) => failures.push(codeOf(error)));
  const tasks = store.scope("core").collection("tasks");
  await expect(tasks.get("k1")).rejects.toMatchObject({ code: "SVC_STORE_CORRUPT" });
  await expect(tasks.put("new", 1)).rejects.toMatchObject({ code: "SVC_STORE_FAILED" });
  expect(failures).toEqual(["SVC_STORE_FAILED"]);
  expect(store.health().ok).toBe(false);
  await store.close();
});
