import type { Delivery, Notifier, Spawn } from "@svc/sdk";
import { createFakeContext, createFakeTasks, createMemoryStore, withDefaults } from "@svc/sdk/testing";
import { describe, expect, it, vi } from "vitest";
import { createBanner } from "./banner.ts";
import plugin from "./index.ts";
import { NOTIFICATIONS, type NotificationSection } from "./settings.ts";
import { duration, wordsFor } from "./words.ts";

const DESTINATION = { destination: { channel: "acme", chatId: "me", accountId: "main" } };

/** The plugin, started, with a clock of the test's own for its waiting. */
async function setUp(section: object = DESTINATION, { store = createMemoryStore(), tasks = createFakeTasks(), spawn = noPrograms } = {}) {
  const config = withDefaults(NOTIFICATIONS, section) as NotificationSection;
  const env = { DISPLAY: ":7" };
  const ctx = createFakeContext(plugin, { config, store, tasks, spawn, env });
  const lifecycle = plugin.setup(ctx as never);
  await lifecycle?.start?.();
  const publish = (type: string, data: object, task = "t1", agent = "ada") =>
    void ctx.events.publish({ kind: "agent", type, summary: "", agentId: agent, ref: task, data: { channel: "http", ...data } });
  const ended = (task: string, durationMs: number, errorKind?: string, agent?: string) =>
    publish("task:completed", { status: errorKind === undefined ? "ok" : "error", durationMs, ...(errorKind === undefined ? {} : { errorKind }) }, task, agent);
  /** Runs the timers until nothing more waits. */
  const settle = async () => {
    vi.spyOn(performance, "now").mockImplementation(() => (later += 120_000));
    for (let job = ctx.registered.jobs.shift(); job !== undefined; job = ctx.registered.jobs.shift()) await job.run(new Date());
    vi.restoreAllMocks();
  };
  let later = performance.now();
  const told = () => tasks.delivered as readonly Delivery[];
  const idle = async () => {
    await settle();
    await vi.waitFor(async () => expect(await store.queue("notices").size()).toBe(0), { timeout: 10_000 });
  };
  const notifier = ctx.registered.services[0]?.api as unknown as Notifier;
  return { ctx, lifecycle, store, tasks, publish, ended, idle, told, notifier };
}

const noPrograms: Spawn = () => ({
  pid: 0,
  started: Promise.reject(Object.assign(new Error("not there"), { code: "SVC_SPAWN_FAILED" })),
  ended: new Promise(() => {}),
  write: async () => {},
  closeStdin() {},
  stop: async () => {},
});

describe("what is told of tasks", () => {
  it("long ones that are done, all that failed, and those that wait only where it is switched on", async () => {
    const { ended, publish, idle, told } = await setUp();
    ended("short", 29_999);
    ended("cancelled", 90_000, "cancelled");
    ended("dropped", 0, "dropped");
    publish("task:queued", { taskId: "q" }, "q");
    publish("task:started", {});
    await idle();
    expect(told()).toEqual([]);
    ended("long", 125_000);
    await idle();
    expect(told()).toEqual([
      {
        kind: "notice",
        target: { channel: "acme", chat: "me", account: "main" },
        title: "Task finished",
        text: "ada finished after 2 min 5 s (http)",
      },
    ]);
    ended("bad", 300, "timeout");
    await idle();
    expect(told()[1]).toMatchObject({ title: "Task failed", text: "ada failed after 0 s (http): timeout; see svc trace show bad" });
    ended("held", 40_000, "held");
    await idle();
    expect(told()[2]).toMatchObject({ text: "ada finished after 40 s (http)" });
    expect(told()).toHaveLength(3);
  });

  it("what happened within a few seconds is one notice, a thousand ends too", async () => {
    const { ended, idle, told } = await setUp();
    for (let n = 0; n < 1_000; n += 1) ended(`t${n}`, 60_000, n % 250 === 0 ? "engine" : undefined, n % 10 === 0 ? "bob" : "ada");
    await idle();
    expect(told().map(({ title, text }) => [title, text.split("\n")])).toEqual([
      [
        "1000 tasks",
        ["996 finished, 4 failed: ada 900, bob 100", ...[0, 250, 500, 750].map((n) => `bob failed after 1 min (http): engine; see svc trace show t${n}`)],
      ],
    ]);
  });

  it("what was heard before a restart is told after it, once", async () => {
    const store = createMemoryStore();
    const before = await setUp(DESTINATION, { store });
    before.ended("t1", 60_000);
    before.ended("t1", 60_000);
    await vi.waitFor(async () => expect(await store.collection("pending").count()).toBe(1));
    before.ctx.end();
    const { idle, told } = await setUp(DESTINATION, { store });
    await idle();
    expect(told()).toHaveLength(1);
    expect(before.told()).toEqual([]);
  });

  it("another machine's tasks are told there", async () => {
    const { ctx, idle, told } = await setUp();
    // The bus of the tests keeps what it is given.
    const theirs = { node: "far", kind: "agent", type: "task:completed", summary: "", ref: "t", data: { status: "ok", durationMs: 99_000 } };
    ctx.events.publish(theirs);
    await idle();
    expect(told()).toEqual([]);
  });

  it("a change of the section counts at once", async () => {
    const { lifecycle, ended, idle, told } = await setUp();
    await lifecycle?.reload?.(withDefaults(NOTIFICATIONS, { ...DESTINATION, longTaskThreshold: 0, on: { taskError: false } }) as never);
    ended("long", 90_000);
    ended("bad", 90_000, "engine");
    await idle();
    expect(told()).toEqual([]);
  });
});

describe("the service notifier", () => {
  it("stores a notice before it resolves, sends it to its own destination or the configured one, and one key once", async () => {
    const { notifier, idle, told } = await setUp();
    expect(notifier.destination()).toEqual({ channel: "acme", chat: "me", account: "main" });
    await notifier.notify({ text: "one", title: "T", priority: 4, key: "k" });
    await notifier.notify({ text: "one again", key: "k" });
    await notifier.notify({ text: "two", destination: { channel: "mail", chat: "you" } });
    await idle();
    expect(told().map(({ target, text, title, priority }) => [target.channel, text, title, priority])).toEqual([
      ["acme", "one", "T", 4],
      ["mail", "two", undefined, undefined],
    ]);
  });

  it("a channel that is not there yet is tried again", async () => {
    let missing = 2;
    const tasks = createFakeTasks();
    const { deliver } = tasks;
    Object.assign(tasks, {
      deliver: async (delivery: never) => {
        if (missing-- > 0) throw Object.assign(new Error("There is no channel"), { code: "SVC_CHANNEL_UNKNOWN" });
        return deliver(delivery);
      },
    });
    const { notifier, told, ctx } = await setUp(DESTINATION, { tasks });
    await notifier.notify({ text: "soon" });
    await vi.waitFor(() => expect(told()).toHaveLength(1), { timeout: 20_000 });
    expect(ctx.logged.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it("nothing is stored where nobody could be told", async () => {
    const { notifier, store } = await setUp({ local: { banner: false, sound: false } });
    await notifier.notify({ text: "x" });
    expect(await store.queue("notices").size()).toBe(0);
    expect(notifier.destination()).toBeUndefined();
  });
});

describe("POST /notify", () => {
  const routed = async (section: object, known: readonly string[]) => {
    const tasks = createFakeTasks();
    const { deliver } = tasks;
    Object.assign(tasks, {
      deliver: async (delivery: Delivery) => {
        if (!known.includes(delivery.target.channel)) throw Object.assign(new Error("There is no channel"), { code: "SVC_CHANNEL_UNKNOWN", status: 404 });
        return deliver(delivery);
      },
    });
    const { ctx, told } = await setUp(section, { tasks });
    return async (body: object) => ({ answer: await ctx.request("POST", "/notify", { body }), targets: told().map(({ target }) => target) });
  };

  it("OPS-04 takes the named channel, else notifications.channel, else push, else topicpush", async () => {
    const both = ["push", "topicpush", "acme"];
    const all = { chat: "default" };
    expect((await (await routed({}, both))({ text: "x" })).targets).toEqual([{ channel: "push", ...all }]);
    expect((await (await routed({}, ["topicpush"]))({ text: "x" })).targets).toEqual([{ channel: "topicpush", ...all }]);
    expect((await (await routed({ channel: "topicpush" }, both))({ text: "x" })).targets).toEqual([{ channel: "topicpush", ...all }]);
    expect((await (await routed({ channel: "acme", ...DESTINATION }, both))({ text: "x" })).targets).toEqual([
      { channel: "acme", chat: "me", account: "main" },
    ]);
    expect((await (await routed({}, both))({ text: "x", channel: "acme", chat: "1", account: "b" })).targets).toEqual([
      { channel: "acme", chat: "1", account: "b" },
    ]);
  });

  it.each([
    ["none is switched on", {}, [], {}, "SVC_NOTIFY_CHANNEL"],
    ["the configured one is not there: no other is taken", { channel: "push" }, ["topicpush"], {}, "SVC_CHANNEL_UNKNOWN"],
    ["no chat is known", { channel: "acme" }, ["acme"], {}, "SVC_NOTIFY_CHAT"],
  ])("says so when %s", async (_name, section, known, body, code) => {
    const call = await routed(section, known);
    const { answer, targets } = await call({ text: "x", ...body });
    expect(answer.body).toMatchObject({ code });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(targets).toEqual([]);
  });
});

describe("banners", () => {
  const LOCAL = { banner: true, sound: true, soundName: "Glass", volume: 0.4 };

  function programs(outcome: "there" | "missing" = "there") {
    const started: [string, readonly string[], unknown][] = [];
    const spawn: Spawn = (command, args, { env }) => {
      started.push([command, args, env]);
      if (outcome === "missing") return noPrograms(command, args, { cwd: "/" });
      const ended = Promise.resolve({ code: 1, signal: null, stdout: "", stderr: "no bus", truncated: false });
      return { pid: 1, started: Promise.resolve(), ended, write: async () => {}, closeStdin() {}, stop: async () => {} };
    };
    const show = (platform: NodeJS.Platform, session: Readonly<Record<string, string>> = { DISPLAY: ":1" }) =>
      createBanner({ platform, spawn, log: { debug() {} }, variable: (name) => session[name] });
    return { started, show };
  }

  it("OPS-04 are shown on the desktop that has them, the words as arguments, and nothing elsewhere", async () => {
    const { started, show } = programs();
    const words = { title: "-x", text: '"; do shell script "id' };
    await show("darwin")(words, { ...LOCAL, icon: "/i.png" });
    expect(started.map(([command, args]) => [command, args.slice(-3)])).toEqual([
      ["osascript", ["--", "-x", '"; do shell script "id']],
      ["afplay", ["-v", "0.4", "/System/Library/Sounds/Glass.aiff"]],
    ]);
    started.length = 0;
    await show("darwin")(words, { ...LOCAL, banner: false, sound: false });
    await show("win32")(words, LOCAL);
    await show("linux")(words, { ...LOCAL, banner: false });
    await show("linux", {})(words, LOCAL);
    await show("linux", { XDG_RUNTIME_DIR: "/run/user/1" })(words, LOCAL);
    expect(started).toEqual([]);
    await show("linux", { WAYLAND_DISPLAY: "w", XDG_RUNTIME_DIR: "/run/user/1" })({ title: "T", text: "a <b> & c" }, { ...LOCAL, icon: "/i.png" });
    expect(started).toEqual([
      ["notify-send", ["--app-name=svc", "--icon=/i.png", "--", "T", "a &lt;b&gt; &amp; c"], { WAYLAND_DISPLAY: "w", XDG_RUNTIME_DIR: "/run/user/1" }],
    ]);
  });

  it("OPS-04 a program that is not there is no error, and not asked for again", async () => {
    const { started, show } = programs("missing");
    const banner = show("linux");
    await banner({ title: "T", text: "x" }, LOCAL);
    await banner({ title: "T", text: "y" }, LOCAL);
    expect(started).toHaveLength(1);
  });
});

it("words: durations, and many failures are cut", () => {
  expect([400, 3_000, 59_700, 125_000, 3_600_000, 5_520_000].map(duration)).toEqual(["0 s", "3 s", "1 min", "2 min 5 s", "1 h", "1 h 32 min"]);
  const failed = (task: number) => ({ what: "failed", task: `t${task}`, agent: `a${task}`, errorKind: "engine" }) as const;
  const { title, text } = wordsFor([...Array.from({ length: 8 }, (_, n) => failed(n)), { what: "queued", task: "q", agent: "a0", channel: "http" }]);
  expect(title).toBe("9 tasks");
  expect(text.split("\n")).toEqual([
    "8 failed, 1 waiting: a0 2, a1 1, a2 1, a3 1, a4 1, and 3 more",
    ...[0, 1, 2, 3, 4].map((n) => `a${n} failed: engine; see svc trace show t${n}`),
    "and 3 more",
  ]);
});
