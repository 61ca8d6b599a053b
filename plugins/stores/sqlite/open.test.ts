import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { put } from "@svc/sdk";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkDatabase } from "./database.ts";
import { SCHEMA_VERSION, TRACES } from "./migrations.ts";
import { openStore } from "./open.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-open-"));
  file = join(folder, "data", "svc.db");
});
afterEach(() => rm(folder, { recursive: true }));

describe("opening", () => {
  it("makes folder and files for their owner alone", async () => {
    const store = openStore({ file });
    await store.scope("core").collection("tasks").put("a", 1);
    expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
    for (const name of ["svc.db", "svc.db-wal", "svc.db-shm", "ballast"]) expect(statSync(join(folder, "data", name)).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it("finds everything again, and goes on counting", async () => {
    let store = openStore({ file });
    let core = store.scope("core");
    await core.collection("tasks", { indexes: ["agent"] }).put("a", { agent: "x" });
    await core.queue("work").push(1, { id: "w", dedupKey: "d" });
    await core.journal("log").append("one");
    await store.close();
    store = openStore({ file });
    core = store.scope("core");
    const tasks = core.collection("tasks", { indexes: ["agent"] });
    expect(await tasks.list({ where: { agent: "x" } })).toEqual([{ key: "a", value: { agent: "x" }, version: 1 }]);
    expect(await tasks.put("a", { agent: "y" }, 1)).toBe(2);
    expect(await core.queue("work").push(2, { dedupKey: "d" })).toBeUndefined();
    expect(await core.journal("log").append("two")).toBe(2);
    await store.close();
  });

  it("refuses an empty file beside which lies what only a database has; each part that is said to be removed is, and it begins anew", async () => {
    const store = openStore({ file });
    await store.scope("core").collection("tasks").put("a", 1);
    await store.close();
    writeFileSync(file, "");
    const told = expect.objectContaining({ code: "SVC_STORE_EMPTIED", message: expect.stringContaining("svc restore <folder>") });
    expect(() => openStore({ file })).toThrow(told);
    expect(checkDatabase(file)).toEqual([expect.stringContaining(`${file} is empty (0 bytes)`)]);
    expect(statSync(file).size).toBe(0);
    await rm(join(folder, "data/ballast"));
    await openStore({ file }).close();
  });

  it("goes on with the empty file of a first start that was killed", async () => {
    mkdirSync(join(folder, "data"));
    writeFileSync(file, "");
    expect(checkDatabase(file)).toEqual([]);
    const store = openStore({ file });
    await store.scope("core").collection("tasks").put("a", 1);
    await store.close();
  });

  it("keeps an index filled by writers that never declared it", async () => {
    let store = openStore({ file });
    await store
      .scope("core")
      .collection("tasks", { indexes: ["agent"] })
      .put("a", { agent: "x" });
    await store.close();
    store = openStore({ file });
    await store.scope("core").commit([put("tasks", "b", { agent: "x" })]);
    const tasks = store.scope("core").collection("tasks", { indexes: ["agent"] });
    expect((await tasks.list({ where: { agent: "x" } })).map((found) => found.key)).toEqual(["a", "b"]);
    await store.close();
  });

  it("sees what a second handle commits", async () => {
    const first = openStore({ file });
    const second = openStore({ file });
    const mine = first.scope("core").collection<number>("tasks");
    const theirs = second.scope("core").collection<number>("tasks");
    await mine.put("a", 1);
    expect((await theirs.get("a"))?.value).toBe(1);
    expect(await theirs.put("a", 2, 1)).toBe(2);
    await expect(mine.put("a", 3, 1)).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT" });
    await Promise.all(Array.from({ length: 50 }, (_, index) => [mine.put("a", index), theirs.put("a", index)]).flat());
    expect((await mine.get("a"))?.version).toBe(102);
    await first.close();
    await second.close();
  });
});

describe("versions", () => {
  it("TRC-02 a database of a newer program is refused and left as it is", async () => {
    await openStore({ file }).close();
    const raw = new Database(file);
    raw.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    raw.close();
    const before = readFileSync(file);
    expect(() => openStore({ file })).toThrow(expect.objectContaining({ code: "SVC_STORE_NEWER", found: SCHEMA_VERSION + 1, known: SCHEMA_VERSION }));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("TRC-01 rows from before version 8 keep their preview alone", async () => {
    await openStore({ file }).close();
    writeFileSync(file, "");
    const old = new Database(file);
    old.exec("CREATE TABLE traces (id TEXT, agent TEXT, status TEXT, message_preview TEXT, at INTEGER)");
    old.prepare("INSERT INTO traces VALUES (?, ?, ?, ?, ?)").run("task_1", "writer", "ok", "é".repeat(200), 1_700_000_000_000);
    old.prepare("INSERT INTO traces VALUES (?, ?, ?, ?, ?)").run("task_2", "writer", "error", "short", 1_700_000_000_001);
    old.pragma("user_version = 7");
    old.close();
    for (let opening = 0; opening < 2; opening += 1) {
      const store = openStore({ file });
      const [prefix, name] = TRACES.split("/") as [string, string];
      const traces = store.scope(prefix).collection(name, { indexes: ["agent", "startedAt"] });
      const page = await traces.list({ by: "startedAt", where: { agent: "writer" } });
      expect(page.map((trace) => trace.value)).toEqual([
        { id: "task_1", agent: "writer", status: "ok", messagePreview: "é".repeat(200), startedAt: 1_700_000_000_000 },
        { id: "task_2", agent: "writer", status: "error", messagePreview: "short", startedAt: 1_700_000_000_001 },
      ]);
      await store.close();
    }
    const raw = new Database(file);
    expect(raw.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    raw.close();
  });

  it("TRC-01 a long message comes back whole", async () => {
    const store = openStore({ file });
    const message = "ä𝄞\u0000\n".repeat(2500);
    const traces = store.scope("core").collection<{ message: string }>("traces");
    await traces.put("task_1", { message });
    expect((await traces.get("task_1"))?.value.message).toBe(message);
    await store.close();
  });
});

describe("writing", () => {
  it("lets the loop turn while a flood is stored, in order", async () => {
    const store = openStore({ file: ":memory:" });
    const log = store.scope("core").journal<number>("log");
    let turns = 0;
    let going = true;
    const turn = () => {
      turns += 1;
      if (going) setImmediate(turn);
    };
    const flood = Array.from({ length: 2000 }, (_, index) => log.append(index));
    setImmediate(turn);
    expect(await Promise.all(flood)).toEqual(flood.map((_, index) => index + 1));
    going = false;
    expect(turns).toBeGreaterThan(10);
    await store.close();
  });

  it("shares one transaction among the writes of a tick", async () => {
    const store = openStore({ file });
    const tasks = store.scope("core").collection("tasks");
    await tasks.put("warm", 1);
    const wal = () => statSync(`${file}-wal`).size;
    const start = wal();
    await Promise.all(Array.from({ length: 50 }, (_, index) => tasks.put(`k${index}`, 1)));
    const together = wal() - start;
    for (let index = 0; index < 50; index += 1) await tasks.put(`k${index}`, 2);
    expect(wal() - start - together).toBeGreaterThan(10 * together);
    await store.close();
  });

  it("has no thread for the log of changes before two megabytes lie in it", async () => {
    let threads = 0;
    const count = () => {
      threads += 1;
    };
    process.on("worker", count);
    const store = openStore({ file });
    const tasks = store.scope("core").collection("tasks");
    await tasks.put("small", 1);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(threads).toBe(0);
    expect(statSync(file).size).toBeLessThan(100_000);
    await tasks.put("large", "x".repeat(2 * 1_048_576));
    await expect.poll(() => statSync(file).size).toBeGreaterThan(2 * 1_048_576);
    expect(threads).toBe(1);
    process.off("worker", count);
    await store.close();
  });

  it("keeps the log of changes small under load, and nothing is lost", async () => {
    const store = openStore({ file });
    const tasks = store.scope("core").collection("tasks");
    const text = "x".repeat(3000);
    let written = 0;
    let largest = 0;
    // Far more than the log may hold: it must have started over several times.
    const writer = async () => {
      while (written < 72_000) {
        written += 1;
        await tasks.put(`k${written}`, { text });
        if (written % 500 === 0) largest = Math.max(largest, statSync(`${file}-wal`).size);
      }
    };
    await Promise.all(Array.from({ length: 16 }, writer));
    expect(await tasks.count()).toBe(written);
    expect(largest).toBeLessThan(written * text.length);
    await store.close();
  });

  it("takes nothing after close, and closes twice", async () => {
    const store = openStore({ file });
    const tasks = store.scope("core").collection("tasks");
    const last = tasks.put("last", 1);
    await Promise.all([store.close(), store.close()]);
    expect(await last).toBe(1);
    await expect(tasks.put("a", 1)).rejects.toMatchObject({ code: "SVC_STORE_CLOSED" });
    await expect(tasks.get("last")).rejects.toMatchObject({ code: "SVC_STORE_CLOSED" });
  });

  it("forgets dedup keys older than 7 days, so that they do not pile up", async () => {
    let now = 1_800_000_000_000;
    const store = openStore({ file, now: () => now, monotonic: () => now });
    const work = store.scope("core").queue("work");
    await Promise.all(Array.from({ length: 1500 }, (_, index) => work.push(index, { dedupKey: `old${index}` })));
    now += 8 * 86_400_000;
    for (let minute = 0; minute < 2; minute += 1) {
      await work.push(minute, { dedupKey: `new${minute}` });
      now += 61_000;
    }
    await store.close();
    const raw = new Database(file);
    expect(raw.prepare('SELECT key FROM "seen:core/work" ORDER BY id').pluck().all()).toEqual(["new0", "new1"]);
    raw.close();
  });

  it("warns once of a plugin that makes more than a hundred names, and again at the next start that adds one", async () => {
    const told: string[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (facts: object | string, text?: string) => void told.push(`${JSON.stringify(facts)} ${text}`) };
    let store = openStore({ file, log });
    const append = (owner: string, from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, n) =>
          store
            .scope(owner)
            .journal(`run-${from + n}`)
            .append(1),
        ),
      );
    await append("feature-x", 0, 60);
    await append("feature-xy", 0, 60);
    for (let n = 0; n < 40; n += 1) await store.scope("feature-x").queue(`run-${n}`).push(1, { dedupKey: "d" });
    expect(told).toEqual([]);
    await append("feature-x", 60, 65);
    expect(told).toEqual([expect.stringMatching(/^\{"owner":"feature-x","names":101\} feature-x keeps 101 collections/)]);
    await store.close();
    store = openStore({ file, log });
    await append("feature-x", 0, 65);
    expect(told).toHaveLength(1);
    await append("feature-x", 65, 67);
    expect(told.slice(1)).toEqual([expect.stringContaining('"names":106')]);
    await store.close();
  });

  it("hands out again what a dead daemon held, without waiting for its lease", async () => {
    let store = openStore({ file });
    await store.scope("core").queue("work").push(1, { id: "w" });
    await store.scope("core").queue("work").claim(1, 3_600_000);
    await store.close();
    store = openStore({ file });
    const work = store.scope("core").queue("work");
    expect(await work.claim(1, 1000)).toEqual([]);
    await store.reclaim("n1");
    expect(await work.claim(1, 1000)).toEqual([{ id: "w", value: 1, attempt: 2, redelivered: true }]);
    await store.close();
  });
});
