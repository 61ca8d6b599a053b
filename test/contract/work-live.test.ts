import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreWork, TaskEvent } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTask, type Task, tell } from "../../kernel/core/flow/live-task.ts";
import type { TaskRecord } from "../../kernel/core/flow/record.ts";
import { LiveAnswers } from "../../kernel/lanes/live-answers.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

describe.skipIf(NO_POSTGRES !== undefined)(`growing answers as rows${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  const NOTHING = { running: [], said: [], over: [], watched: new Map<string, number>() };
  let server: TestServer;
  let at: { url: string; schema: string };
  let one: StoreWork;
  let two: StoreWork;
  let stores: PostgresStore[];
  const folders: string[] = [];
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    at = server.schema();
    const open = async () => {
      const folder = await mkdtemp(join(tmpdir(), "svc-live-"));
      folders.push(folder);
      return openPostgres({ ...at, poolSize: 4, folder, shared: true });
    };
    stores = [await open(), await open()];
    [one, two] = stores.map((store) => store.work("core")) as [StoreWork, StoreWork];
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    for (const store of stores) await store.close();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  const watch = (id: string, known = 0) => two.live({ ...NOTHING, watched: new Map([[id, known]]) });
  const say = (id: string, from: number, text: string) => one.live({ ...NOTHING, running: [id], said: [{ id, at: from, text }] });
  const rows = () => server.sql(`SELECT task || ':' || text FROM ${at.schema}.live`);

  it("a word is stored once somebody watches, and goes with its turn", async () => {
    expect(await say("t", 0, "unheard")).toEqual({ asked: new Map(), texts: new Map() });
    expect(rows()).toBe("");
    expect((await watch("t")).texts).toEqual(new Map());
    expect((await say("t", 0, "one")).asked).toEqual(new Map([["t", 3]]));
    await say("t", 3, " two");
    expect((await watch("t", 3)).texts).toEqual(new Map([["t", "one two"]]));
    expect((await watch("t", 7)).texts).toEqual(new Map());
    await one.live({ ...NOTHING, over: ["t"] });
    expect(rows()).toBe("");
  });

  it("what does not follow on what is stored is not stored, and the daemon hears how much there is; from 0 on it takes its place", async () => {
    await watch("t");
    await say("t", 0, "one");
    expect((await say("t", 9, "lost")).asked).toEqual(new Map([["t", 3]]));
    expect((await say("t", 0, "anew")).asked).toEqual(new Map([["t", 4]]));
    expect(rows()).toBe("t:anew");
  });

  it("who does not ask any more is not written for, and what is left of it is swept", async () => {
    await watch("t");
    server.sql(`UPDATE ${at.schema}.live SET asked_until = clock_timestamp() - interval '1 s'`);
    expect((await one.live({ ...NOTHING, running: ["t"] })).asked).toEqual(new Map());
    await one.sweep();
    expect(rows()).toBe("t:");
    server.sql(`UPDATE ${at.schema}.live SET asked_until = clock_timestamp() - interval '4 s'`);
    await one.sweep();
    expect(rows()).toBe("");
  });

  /** A daemon's part in it, with a task that it knows. */
  function answers(store: StoreWork, task: Task | undefined): LiveAnswers {
    const live = new LiveAnswers({
      rows: store,
      log: { debug() {} },
      shared: () => true,
      task: (id) => (task?.record.id === id ? task : undefined),
      tell() {},
    });
    ends.push(() => live.close());
    return live;
  }
  const taskOf = (id: string) => createTask({ id, steps: [] } as unknown as TaskRecord, {} as Task["live"], {});
  const batchOf = (task: Task) => ({ batch: [task], conversation: "c", agent: "a", token: "t" }) as const;

  it("a character of two units is not cut, whatever the engine hands over", async () => {
    const running = taskOf("t");
    const speaker = answers(one, running);
    speaker.begin(batchOf(running));
    const heard: string[] = [];
    const watcher = answers(two, undefined);
    watcher.listen("t", (event: TaskEvent) => event.type === "text" && heard.push(event.text));
    tell(running, { type: "text", text: "a \ud835" });
    await watcher.look();
    await expect.poll(async () => [await speaker.look(), await watcher.look(), heard.join("")].at(-1), { timeout: 15_000 }).toBe("a ");
    tell(running, { type: "text", text: "\udcaf b" });
    await expect.poll(async () => [await speaker.look(), await watcher.look(), heard.join("")].at(-1), { timeout: 15_000 }).toBe("a \ud835\udcaf b");
  });

  it("a turn that begins anew elsewhere with other words: who has heard the first ones hears nothing more of it but the end", async () => {
    const mine = taskOf("t");
    const heard: string[] = [];
    mine.listeners.add((event) => event.type === "text" && heard.push(event.text));
    mine.state = "waiting";
    const watcher = answers(two, mine);
    watcher.watch([mine]);
    await watcher.look();
    await say("t", 0, "first words");
    await expect.poll(async () => [await watcher.look(), heard.join("|")].at(-1), { timeout: 15_000 }).toBe("first words");
    await say("t", 0, "other words,");
    await watcher.look();
    await say("t", 12, " and more");
    await watcher.look();
    watcher.ended(mine, { ok: true, taskId: "t", reply: "other words, and more", durationMs: 1 } as unknown as Parameters<typeof watcher.ended>[1]);
    expect(heard).toEqual(["first words"]);
  });
});
