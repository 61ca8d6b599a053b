import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Log, put } from "@svc/sdk";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { stateStore } from "../base/state-store.ts";
import { newTaskId, type TaskRecord, TRACE_INDEXES, TRACES } from "../core/flow/record.ts";
import { createTraces } from "../core/flow/traces.ts";
import { createForgetting } from "./maintenance.ts";
import { createRetention, readRetention } from "./retention.ts";

const DAY = 86_400_000;
const MEGABYTE = 1_048_576;
/** Ids of tasks never go back within a process: each test begins years after the one before. */
let start = Date.parse("2027-01-01T12:00:00Z");
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };

let folder: string;
beforeEach(async () => {
  start += 5 * 365 * DAY;
  folder = await mkdtemp(join(tmpdir(), "svc-retention-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A data folder whose clock a test moves. */
function openFolder(retention: object = {}) {
  const file = join(folder, "svc.db");
  const plugins = join(folder, "plugins");
  const media = join(folder, "media");
  const clock = { wall: start, ran: 1_000_000 };
  const store = stateStore(openStore({ file, now: () => clock.wall, monotonic: () => clock.ran }));
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  const told: string[] = [];
  const kept = createRetention({ store, core, plugins, media, log, rules: () => readRetention({ retention }), tell: (summary) => told.push(summary) });
  const forget = createForgetting(core, () => clock.wall, store.steady, kept.byAge);
  let chat = 0;
  return {
    file,
    plugins,
    media,
    store,
    core,
    told,
    clock,
    kept,
    /** Some tasks of this day. */
    async work(count: number, more: Partial<TaskRecord> = {}, text = "word ".repeat(300)): Promise<string[]> {
      const records = Array.from({ length: count }, () => {
        const id = newTaskId(clock.wall);
        const inbound = { id, channel: "app", chat: String(chat++ % 7), text, at: clock.wall } as unknown as TaskRecord["inbound"];
        return {
          id,
          inbound,
          status: "ok",
          agent: "a",
          conversation: "c",
          attempts: 1,
          startedAt: clock.wall,
          steps: [],
          response: text,
          ...more,
        } as TaskRecord;
      });
      await core.note(records.map((record) => put(TRACES, record.id, record)));
      return records.map(({ id }) => id);
    },
    async pass(days: number) {
      clock.wall += days * DAY;
      clock.ran += days * DAY;
      await forget();
      await kept.bySize();
    },
  };
}

it("FLT-5 a year of work stays under the bound: the database in use, its file and the histories; what is in flight stays", { timeout: 120_000 }, async () => {
  const one = openFolder({ maxMegabytes: 16, traceDays: 400, historyDays: 60 });
  const [running = ""] = await one.work(1, { status: "in-flight" });
  const history = join(one.plugins, "feature-context-layered/history/a/app");
  let largest = 0;
  for (let day = 0; day < 365; day += 1) {
    await one.work(60);
    const chat = join(history, `chat${day % 9}`);
    mkdirSync(chat, { recursive: true });
    writeFileSync(join(chat, `${new Date(one.clock.wall).toISOString().slice(0, 10)}.jsonl`), "{}\n".repeat(5_000));
    await one.pass(1);
    largest = Math.max(largest, one.store.size().used);
  }
  expect(largest).toBeLessThanOrEqual(16 * MEGABYTE);
  const traces = createTraces(one.core);
  expect((await traces.get(running))?.status).toBe("in-flight");
  const newest = await traces.list({ limit: 1_000 });
  expect(newest).toHaveLength(1_000);
  expect(newest[0]?.startedAt).toBe(one.clock.wall - DAY);
  expect(one.told.some((summary) => /\d+ of the oldest traces are gone/.test(summary))).toBe(true);
  const days = (await readdir(history, { recursive: true })).filter((name) => name.endsWith(".jsonl"));
  expect(days.length).toBeGreaterThanOrEqual(60);
  expect(days.length).toBeLessThanOrEqual(69);
  await one.store.close();
  expect(statSync(one.file).size).toBeLessThan(20 * MEGABYTE);
});

it("FLT-5 traces go by age, but for those in flight and the newest thousand, and the disk gets its space back", { timeout: 60_000 }, async () => {
  const one = openFolder();
  for (let day = 0; day < 110; day += 1) {
    await one.work(200);
    await one.pass(1);
  }
  const before = one.store.size();
  const oldest = async () => (await one.core.collection<TaskRecord>(TRACES).list({ limit: 1 }))[0]?.value.startedAt ?? 0;
  expect((one.clock.wall - (await oldest())) / DAY).toBeGreaterThan(89);
  expect((one.clock.wall - (await oldest())) / DAY).toBeLessThan(93);
  await one.pass(200);
  await one.pass(8);
  expect(await one.core.collection(TRACES).count()).toBe(1_001);
  expect(one.store.size().used).toBeLessThan(before.used / 4);
  await one.store.close();
  expect(statSync(one.file).size).toBeLessThan(before.used / 2);
});

it("FLT-5 a step of pruning takes few long documents and many short ones, the oldest first", async () => {
  const one = openFolder();
  const long = await one.work(5, {}, "x".repeat(600_000));
  await one.work(300, {}, "short");
  const step = () => one.core.prune(TRACES, { spare: { field: "status", value: "in-flight" }, rows: 100 });
  expect([await step(), await step(), await step(), await step(), await step(), await step()]).toEqual([1, 1, 1, 1, 1, 100]);
  expect(await one.core.collection(TRACES).get(long[4] as string)).toBeUndefined();
  expect(await one.core.collection(TRACES).count()).toBe(200);
  await one.store.close();
});

it("SEC-R3 a plugin that fills the database does not have all traces of the others thrown away", async () => {
  const one = openFolder({ maxMegabytes: 16 });
  await one.work(300, {}, "short");
  const hoard = one.store.scope("feature-hoard").collection<string>("hoard");
  for (let at = 0; at < 20; at += 1) await hoard.put(String(at), "x".repeat(MEGABYTE));
  await one.kept.bySize();
  const left = await createTraces(one.core).list({ limit: 1_000 });
  expect(left.length).toBeGreaterThanOrEqual(100);
  expect(left.length).toBeLessThanOrEqual(101);
  expect(one.told.at(-1)).toContain("that are not old traces");
  await one.store.close();
});

it("FLT-5 a clock that is a year ahead for days makes nothing old", async () => {
  const one = openFolder({ traceDays: 7 });
  await one.core.collection<{ at: number }>("dedup", { indexes: ["at"] }).put("key", { at: one.clock.wall });
  await one.work(1_500, {}, "short");
  await one.pass(1);
  one.clock.wall += 365 * DAY;
  for (let day = 0; day < 4; day += 1) await one.pass(1);
  one.clock.wall -= 365 * DAY;
  await one.pass(1);
  expect(await one.core.collection(TRACES).count()).toBe(1_500);
  expect(await one.core.collection("dedup").count()).toBe(1);
  await one.store.close();
});

it("FLT-5 indexes over channels and runs of a database from before are filled in steps, and asking needs it not", async () => {
  const old = openFolder();
  const inbound = { channel: "app", chat: "1", text: "short", at: start, runId: "run_1" } as TaskRecord["inbound"];
  const ofRun = (await old.work(3, { inbound }, "short")).reverse();
  await old.work(447, {}, "short");
  await old.store.close();
  const raw = new Database(old.file);
  raw.exec(`DROP INDEX "documents:core/traces:inbound.channel"; DROP INDEX "documents:core/traces:status"; DROP INDEX "documents:core/traces:agent";
    DROP INDEX "documents:core/traces:inbound.runId";
    ALTER TABLE "documents:core/traces" DROP COLUMN ":inbound.channel"; ALTER TABLE "documents:core/traces" DROP COLUMN ":inbound.runId";
    CREATE INDEX "documents:core/traces:status" ON "documents:core/traces" (":status", key, ":agent");
    CREATE INDEX "documents:core/traces:agent" ON "documents:core/traces" (":agent", key, ":status")`);
  raw.close();
  const one = openFolder();
  const traces = createTraces(one.core);
  const both = async () => [(await traces.list({ channel: "app", limit: 1_000 })).length, (await traces.list({ channel: "none", status: "ok" })).length];
  const run = async () => (await traces.list({ runId: "run_1" })).map(({ id, runId }) => `${id} ${runId}`);
  const listed = ofRun.map((id) => `${id} run_1`);
  expect(await both()).toEqual([450, 0]);
  expect(await run()).toEqual(listed);
  expect(await one.core.fill(TRACES, 200)).toBe(200);
  expect(await both()).toEqual([450, 0]);
  await one.kept.settle();
  expect(await both()).toEqual([450, 0]);
  expect(await run()).toEqual(listed);
  await one.work(50, {}, "short");
  expect(await both()).toEqual([500, 0]);
  await one.store.close();
  expect(existsSync(one.file)).toBe(true);
});

it("FLT-5 listing goes page by page, also where other traces stand between those that are asked for", async () => {
  const one = openFolder();
  const traces = createTraces(one.core);
  for (let day = 0; day < 30; day += 1) {
    await one.work(150, { agent: day % 2 === 0 ? "a" : "b" }, "short");
    if (day % 10 === 0) await one.work(3, { agent: "a", status: "error" }, "short");
    one.clock.wall += DAY;
  }
  const page = async (query: object) => (await traces.list(query)).map(({ startedAt, agent, status }) => ({ day: (startedAt - start) / DAY, agent, status }));
  expect(await page({ agent: "a", status: "error", channel: "app" })).toEqual(
    [20, 20, 20, 10, 10, 10, 0, 0, 0].map((day) => ({ day, agent: "a", status: "error" })),
  );
  expect(await page({ agent: "a", status: "error", before: start + 10 * DAY })).toEqual([0, 0, 0].map((day) => ({ day, agent: "a", status: "error" })));
  expect((await page({ limit: 151 })).map(({ day }) => day)).toEqual([...Array(150).fill(29), 28]);
  expect(await page({ channel: "none" })).toEqual([]);
  expect(await page({ before: 1 })).toEqual([]);
  expect(await page({ agent: "b", status: "error", channel: "app" })).toEqual([]);
  await one.store.close();
});

it("K26 the files of messages go with the traces of their tasks, and nothing else in their folder does", async () => {
  const one = openFolder({ traceDays: 30 });
  const [old = ""] = await one.work(1);
  const [running = ""] = await one.work(1, { status: "in-flight" });
  await one.pass(20);
  const [young = ""] = await one.work(1_200);
  for (const name of [old, running, young, "task_", "notes", "task_../x"]) {
    mkdirSync(join(one.media, name), { recursive: true });
    writeFileSync(join(one.media, name, "a.png"), "picture");
  }
  await one.pass(9);
  expect(existsSync(join(one.media, old, "a.png"))).toBe(true);
  await one.pass(9);
  await one.pass(9);
  expect((await readdir(one.media)).sort()).toEqual(["notes", "task_", "task_..", running, young].sort());
  await one.store.close();
});

it("K26 the oldest files go when they are more than a quarter of the bound; those of running tasks stay", async () => {
  const one = openFolder({ maxMegabytes: 16 });
  const [running = ""] = await one.work(1, { status: "in-flight" });
  const ids = [running, ...(await one.work(3))];
  for (const id of ids) {
    mkdirSync(join(one.media, id), { recursive: true });
    writeFileSync(join(one.media, id, "a.bin"), Buffer.alloc(1.6 * MEGABYTE));
  }
  await one.kept.bySize();
  expect((await readdir(one.media)).sort()).toEqual([running, ids[3]].sort());
  await one.store.close();
});
