import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeContext, createRealSpawn } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { keyOf, mentionsIn, readItems } from "./item.ts";
import { reminders } from "./plugin.ts";
import { Polls } from "./polls.ts";
import type { ReminderSettings } from "./settings.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-05-04T10:00:00Z");
const settings: ReminderSettings = { enabled: true, lists: ["svc"], pollSeconds: 60, lookbackHours: 24, command: "" };

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A program in the place of the app's: it prints what the test wrote, and notes how it was called. */
function program() {
  const folder = mkdtempSync(join(tmpdir(), "svc-reminders-"));
  folders.push(folder);
  const command = join(folder, "remindctl");
  writeFileSync(command, `#!/bin/sh\necho "$@" >> ${folder}/calls\ncat ${folder}/says\nexit $(cat ${folder}/code)\n`);
  chmodSync(command, 0o755);
  const says = (text: string, code = 0) => {
    writeFileSync(join(folder, "says"), text);
    writeFileSync(join(folder, "code"), String(code));
  };
  return { command, folder, says, items: (...items: object[]) => says(JSON.stringify(items)) };
}

const item = (more: object = {}) => ({ id: "r1", title: "Water the plants", isCompleted: false, dueDate: "2026-05-04T09:00:00Z", listName: "svc", ...more });

function stage(more: Partial<ReminderSettings> = {}) {
  const app = program();
  const plugin = reminders({ platform: "darwin" });
  const { spawn } = createRealSpawn();
  const ctx = createFakeContext(plugin, { agents: [{ id: "ada", mentions: ["@plants"] }, { id: "ben" }], spawn });
  const clock = { now: NOW };
  const polls = new Polls({
    ctx: ctx as never,
    settings: { ...settings, command: app.command, ...more },
    cwd: app.folder,
    defaultAgent: async () => "ben",
    now: () => clock.now,
  });
  const types = () => ctx.events.recent().events.map(({ type }) => type);
  return { app, ctx, polls, clock, types };
}

describe("items", () => {
  it("are read as the program gives them; odd ones are passed over, and an answer that is no list is refused", () => {
    const odd = [
      null,
      5,
      [],
      {},
      item({ id: "" }),
      item({ dueDate: null }),
      item({ dueDate: "1" }),
      item({ dueDate: "foo 2024" }),
      item({ isCompleted: true }),
      item({ title: 5 }),
    ];
    expect(readItems(JSON.stringify([...odd, item({ notes: " " })]), "svc")).toEqual([{ id: "r1", title: "Water the plants", list: "svc", due: NOW - HOUR }]);
    for (const text of ["", "{}", "null", "nonsense"]) expect(() => readItems(text, "svc")).toThrow();
    const [long] = readItems(JSON.stringify([item({ title: "x".repeat(100_000), notes: "y".repeat(100_000) })]), "svc");
    expect([long?.title.length, long?.notes?.length]).toEqual([500, 20_000]);
  });

  it("mention agents, and no mail address is a mention", () => {
    expect(mentionsIn({ id: "i", title: "ask @ada. and @Ben-2", notes: "mail to x@example.org", list: "l", due: 0 })).toEqual(["ada", "Ben-2"]);
    expect(keyOf({ id: "a", due: 1 })).not.toBe(keyOf({ id: "a", due: 2 }));
  });
});

describe("OPS-05 a look", () => {
  it("hands each due item over once, over looks and a restart; one that repeats comes again", async () => {
    const { app, ctx, polls, types } = stage();
    app.items(item(), item({ id: "r2", dueDate: "2026-05-04T10:00:01Z" }));
    await polls.look();
    await polls.look();
    await new Polls({
      ctx: ctx as never,
      settings: { ...settings, command: app.command },
      cwd: app.folder,
      defaultAgent: async () => "ben",
      now: () => NOW,
    }).look();
    expect(ctx.tasks.accepted).toMatchObject([
      { entry: "reminder", agent: "ben", text: "Water the plants", dedupKey: expect.stringMatching(/^reminder:[0-9a-f]{40}$/) },
    ]);
    expect(types()).toEqual(["reminder:due", "reminder:dispatched"]);
    app.items(item({ dueDate: "2026-05-04T09:30:00Z" }));
    await polls.look();
    expect(ctx.tasks.accepted).toHaveLength(2);
  });

  it("reports what is overdue by more than lookbackHours, once, and does not run it", async () => {
    const { app, ctx, polls, types } = stage();
    app.items(item({ id: "edge", dueDate: "2026-05-03T10:00:00Z" }), item({ id: "old", dueDate: "2026-05-03T09:59:59Z", title: "a secret" }));
    await polls.look();
    await polls.look();
    expect(ctx.tasks.accepted).toHaveLength(1);
    expect(types().filter((type) => type === "reminder:skipped")).toHaveLength(1);
    expect(JSON.stringify(ctx.events.recent().events)).not.toContain("secret");
  });

  it("goes to the agent that the item mentions, by handle or id", async () => {
    const { app, ctx, polls } = stage();
    app.items(item({ id: "1", title: "@plants water" }), item({ id: "2", notes: "for @ADA" }), item({ id: "3", title: "@nobody" }));
    await polls.look();
    expect(ctx.tasks.accepted.map(({ agent }) => agent)).toEqual(["ada", "ada", "ben"]);
  });

  it("20 at a time, so that a list of a thousand starts no thousand agents at once", async () => {
    const { app, ctx, polls } = stage();
    app.items(...Array.from({ length: 45 }, (_, at) => item({ id: `r${at}` })));
    for (const count of [20, 40, 45, 45]) {
      await polls.look();
      expect(ctx.tasks.accepted).toHaveLength(count);
    }
  });

  it("a program that fails, says nonsense or is not there changes nothing and is told once", async () => {
    const { app, ctx, polls } = stage();
    for (const [text, code] of [
      ["[]", 1],
      ["no list", 0],
    ] as const) {
      app.says(text, code);
      await polls.look();
      await polls.look();
    }
    await stage({ command: "/nonexistent/remindctl" }).polls.look();
    expect(ctx.tasks.accepted).toEqual([]);
    expect(ctx.logged.filter(({ level }) => level === "warn")).toHaveLength(2);
    app.items(item());
    await polls.look();
    expect(ctx.tasks.accepted).toHaveLength(1);
  });
});

describe("OPS-05 the system", () => {
  it.each(["linux", "win32", "freebsd"])("%s ignores it: nothing fails and nothing is looked at", async (platform) => {
    const plugin = reminders({ platform });
    const ctx = createFakeContext(plugin, { config: { ...settings, command: "/nonexistent" } });
    await (plugin.setup(ctx as never) as { start(): Promise<void> }).start();
    expect(ctx.registered.jobs).toEqual([]);
  });

  it("of macOS forgets items of long ago within hours, by a daemon that never lives for a day, too", async () => {
    const plugin = reminders({ platform: "darwin" });
    const ctx = createFakeContext(plugin, { config: { ...settings, command: "/nonexistent" }, spawn: createRealSpawn().spawn });
    await (plugin.setup(ctx as never) as { start(): Promise<void> }).start();
    const items = ctx.store.collection("items", { indexes: ["at"] });
    for (const [key, days] of [
      ["old", 401],
      ["young", 399],
    ] as const)
      await items.put(key, { state: "done", item: key, due: 0, at: Date.now() - days * 24 * HOUR });
    for (const job of ctx.registered.jobs) if (job.kind === "every" && job.ms !== undefined && job.ms <= HOUR) await job.run(new Date());
    expect((await items.list()).map(({ key }) => key)).toEqual(["young"]);
  });
});
