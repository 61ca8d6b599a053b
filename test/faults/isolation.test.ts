import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin, PluginContext } from "@svc/sdk";
import { tortureCases, writeTorture } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { RootLog } from "../../kernel/base/log.ts";
import { HOLD, holding } from "../kit/hold-loop.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { action, alive, type IsolatedRun, isolatedChildren, type Laid, lay, QUICK, runIsolated, statusOf } from "./isolation.harness.ts";

const PATIENCE = { timeout: 20_000, interval: 50 };
/** How often what is repeated is repeated; SVC_SOAK for more. */
const OFTEN = Number(process.env.SVC_SOAK ?? 2);

/** Ends in the way its input says. */
const FRAGILE: Laid = {
  name: "fragile",
  capabilities: ["events"],
  top: `import net from "node:net"; import { writeSync } from "node:fs";
    const raw = (text) => { for (let at = 0; at < text.length; ) { try { at += writeSync(3, text.slice(at)); } catch (error) { if (error.code !== "EAGAIN") throw error; } } };`,
  setup: `
    ${action("fragile.echo", "return input;")}
    ${action("fragile.wait", "await new Promise(() => {});")}
    ${action(
      "fragile.end",
      `switch (input.how) {
        case "exit": process.exit(3);
        case "kill": process.kill(process.pid, "SIGKILL"); await new Promise(() => {});
        case "abort": process.abort();
        case "segfault": process.kill(process.pid, "SIGSEGV"); await new Promise(() => {});
        case "memory": { const hoard = []; for (;;) hoard.push(new Array(1_000_000).fill(Math.random())); }
        case "spin": for (;;);
        case "frames": for (;;) { for (let n = 0; n < 1_000; n += 1) ctx.events.publish({ kind: "x", type: "flood", summary: "x" }); await new Promise((resolve) => setTimeout(resolve, 50)); }
        case "output": for (;;) writeSync(1, "x".repeat(65_536) + "\\n");
        case "garbage": raw("this is no frame\\n"); await new Promise(() => {});
        case "shapeless": raw('{"is":"call","id":"one"}\\n'); await new Promise(() => {});
        case "long": raw("x".repeat(9 * 1_048_576)); await new Promise(() => {});
        case "half": raw('{"is":"done","id":'); process.exit(0);
      }`,
    )}`,
};

const pidOf = (run: IsolatedRun) => run.status("feature-fragile").isolation?.pid as number;

/** It is back, in another process than before. */
const back = (run: IsolatedRun, before: number, ends = 0) =>
  vi.waitFor(async () => {
    expect(run.status("feature-fragile").isolation).toMatchObject({ state: "up", ends: ends + 1, starts: ends + 2 });
    expect(await run.act("fragile.echo", { back: true })).toEqual({ back: true });
    expect(pidOf(run)).not.toBe(before);
  }, PATIENCE);

describe("an isolated plugin whose process ends in one way after the other", () => {
  let shared: IsolatedRun;
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-fragile-"));
    shared = await runIsolated([FRAGILE], { folder, lasts: true, isolation: { heapMb: 32, ends: 1_000 } });
  });
  afterAll(async () => {
    await shared?.kernel.stop({ drainSeconds: 0 });
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ["exits", "exit", /ended with code 3/],
    ["is killed", "kill", /SIGKILL/],
    ["aborts", "abort", /SIGABRT/],
    ["breaks in native code", "segfault", /SIGSEGV/],
    ["fills its heap", "memory", /SIGABRT: FATAL ERROR: .*heap/],
    ["spins", "spin", /did not answer for 0.5 s/],
    ["sends a line that is no frame", "garbage", /broke the rules of the wire/],
    ["sends a frame of no known shape", "shapeless", /broke the rules of the wire with a line that is no frame/],
    ["sends a line without end", "long", /a frame of more than 8388608 bytes/],
    ["leaves half a frame behind", "half", /ended with code 0/],
    ["floods its output", "output", /bytes of output/],
  ])("FAULT-69 %s: what is under way fails at once, the others go on, and it is started again", async (_what, how, reason) => {
    // Short of an answer for half a second is a busy machine, too: only the one that spins is ended for that.
    const run = how === "spin" ? await runIsolated([FRAGILE], { isolation: { missedPings: 5 } }) : shared;
    await vi.waitFor(() => expect(run.status("feature-fragile").isolation?.state).toBe("up"), PATIENCE);
    run.events.splice(0);
    const { failures, isolation } = run.status("feature-fragile");
    const before = pidOf(run);
    const waiting = run.act("fragile.wait").catch((error: Error) => error.message);
    const asked = run.act("fragile.end", { how }).catch((error: Error) => error.message);
    expect(await asked).toMatch(reason);
    expect(await waiting).toMatch(reason);
    expect(await run.kernel.tasks.run(run.message("still here"))).toMatchObject({ ok: true, reply: "still here" });
    await back(run, before, isolation?.ends);
    expect(alive(before)).toBe(false);
    expect(run.status("feature-fragile")).toMatchObject({ state: "running", failures: failures + 1, isolation: { lastEnd: expect.stringMatching(reason) } });
    for (const type of ["plugin:down", "plugin:up"]) expect(run.events).toContainEqual(expect.objectContaining({ type, data: { plugin: "feature-fragile" } }));
  });
});

describe("an isolated plugin whose process ends", () => {
  it("FAULT-69 floods the wire with frames: it is held back, then ended; meanwhile messages are answered", async () => {
    const run = await runIsolated([FRAGILE], { isolation: { pauses: 4, pauseMs: 50, frameBurst: 2_000, framesPerSecond: 500 } });
    const before = pidOf(run);
    const flood = run.act("fragile.end", { how: "frames" }).catch((error: Error) => error.message);
    for (; alive(before); await new Promise((resolve) => setTimeout(resolve, 50)))
      expect(await run.kernel.tasks.run(run.message("meanwhile"))).toMatchObject({ ok: true });
    expect(await flood).toMatch(/more than 500 frames a second without end/);
    await back(run, before);
  });

  it("FAULT-69 calls fail fast while it is away, and say when it is back", async () => {
    const run = await runIsolated([FRAGILE], { isolation: { firstPauseMs: 60_000 } });
    await run.act("fragile.end", { how: "exit" }).catch(() => {});
    const envelope = await run.actions.run("fragile.echo", {}, { door: "cli" });
    expect(envelope).toMatchObject({
      status: "error",
      error: expect.stringMatching(/^The process of plugin feature-fragile is not there .*started again in \d+ s/),
    });
    expect(run.kernel.health().problems.join()).toContain("feature-fragile: its process ended with code 3; it is started again");
    expect(run.status("feature-fragile")).toMatchObject({ state: "running", provides: expect.arrayContaining(["action fragile.echo"]), failures: 1 });
  });

  it("FAULT-69 pauses grow with each end in a row, and after too many it is held back until svc plugin retry", async () => {
    const run = await runIsolated([FRAGILE], { isolation: { ends: 4, firstPauseMs: 200, longestPauseMs: 5_000 }, dataFolder: ".svc" });
    for (let n = 0; n < 4; n += 1) {
      await vi.waitFor(() => expect(run.status("feature-fragile").isolation?.state).toBe("up"), PATIENCE);
      await run.act("fragile.end", { how: "exit" }).catch(() => {});
    }
    const pauses = run.events.filter(({ type }) => type === "plugin:down").map(({ summary }) => Number(/again in ([\d.]+) s/.exec(summary)?.[1]));
    expect(pauses).toHaveLength(3);
    expect(pauses).toEqual([...new Set(pauses)].sort((left, right) => left - right));
    await vi.waitFor(
      () =>
        expect(run.status("feature-fragile")).toMatchObject({
          state: "quarantined",
          provides: [],
          reason: expect.stringContaining("svc plugin retry feature-fragile"),
        }),
      PATIENCE,
    );
    expect(run.events).toContainEqual(expect.objectContaining({ type: "plugin:quarantined", data: { plugin: "feature-fragile" } }));
    const held = join(run.folder, ".svc/quarantine.json");
    expect(JSON.parse(readFileSync(held, "utf8"))["feature-fragile"]).toMatchObject({
      phase: "run",
      reason: expect.stringContaining("that was end 4 within 60 minutes"),
    });
    await expect(run.act("fragile.echo")).rejects.toThrow("no action");
    // What `svc plugin retry` does.
    writeFileSync(held, "{}");
    await run.kernel.reload();
    expect(await run.act("fragile.echo", { mended: true })).toEqual({ mended: true });
  });

  it("FAULT-69 one that registers other things when it is started again is given up", async () => {
    const run = await runIsolated([
      {
        name: "fickle",
        setup: `${action("fickle.end", "process.exit(1);")}
          ctx.provide.tool({ name: "tool" + Math.random(), description: "d", input: { type: "object" }, run: async () => "" });`,
      },
    ]);
    await run.act("fickle.end").catch(() => {});
    await vi.waitFor(
      () => expect(run.status("feature-fickle")).toMatchObject({ state: "failed", reason: expect.stringContaining("registered other things"), provides: [] }),
      PATIENCE,
    );
    expect(run.events).toContainEqual(expect.objectContaining({ type: "plugin:failed", data: { plugin: "feature-fickle" } }));
  });

  it("FAULT-69 a required tap fails the message while its process is away, and is asked again when it is back; another is passed over", async () => {
    const policy: Laid = {
      name: "policy",
      setup: `ctx.hooks.inbound.tap((message) => { if (message.text === "die") process.exit(1); }, { required: true });`,
    };
    const run = await runIsolated([policy, { ...FRAGILE, setup: `${FRAGILE.setup} ctx.hooks.inbound.tap(() => { throw new Error("never well"); });` }], {
      isolation: { firstPauseMs: 300 },
    });
    expect(await run.kernel.tasks.run(run.message("hello"))).toMatchObject({ ok: true });
    expect(await run.kernel.tasks.run(run.message("die"))).toMatchObject({ ok: false });
    for (let n = 0; n < 20; n += 1) {
      const { ok, error } = await run.kernel.tasks.run(run.message("not now", { chat: `c${n}` }));
      if (run.status("feature-policy").isolation?.state === "up") break;
      expect({ ok, error }).toEqual({ ok: false, error: expect.stringContaining("is not there") });
    }
    await vi.waitFor(async () => expect(await run.kernel.tasks.run(run.message("again"))).toMatchObject({ ok: true }), PATIENCE);
    // Its end is one failure, however many messages met it: no breaker has opened for good.
    expect(run.status("feature-policy").failures).toBeLessThanOrEqual(2);
  });

  it("FAULT-69 a cron job's minute and a timer of a life that is over do not run in the next one twice", async () => {
    const run = await runIsolated([
      {
        name: "ticker",
        capabilities: ["jobs"],
        setup: `let ticks = 0; ctx.jobs.every(20, () => { ticks += 1; }); ctx.jobs.cron("c", "0 0 1 1 *", undefined, async () => {});
          ${action("ticker.count", "return { ticks, up: process.uptime() };")} ${action("ticker.end", "process.exit(1);")}`,
      },
    ]);
    await vi.waitFor(async () => expect(((await run.act("ticker.count")) as { ticks: number }).ticks).toBeGreaterThan(2), PATIENCE);
    for (let n = 0; n < 3; n += 1) {
      await run.act("ticker.end").catch(() => {});
      await vi.waitFor(() => run.act("ticker.count"), PATIENCE);
    }
    const one = (await run.act("ticker.count")) as { ticks: number; up: number };
    expect(one.ticks).toBeLessThanOrEqual((one.up * 1000) / 20 + 1);
  });
});

describe("an isolated plugin that breaks or shouts and lives on", () => {
  it("FAULT-69 what its code throws where nobody catches is counted against it, and it goes on", async () => {
    const run = await runIsolated([
      {
        name: "stray",
        capabilities: ["events", "jobs"],
        setup: `${action("stray.alive", "return true;")}
          setTimeout(() => { throw new Error("late: timer"); }, 5);
          void Promise.resolve().then(() => { throw new Error("late: promise"); });
          ctx.events.subscribe(() => { throw new Error("late: listener"); }, "stray:now");
          ctx.jobs.after(5, () => { throw new Error("late: job"); });`,
      },
    ]);
    run.kernel.bus.publish({ kind: "x", type: "stray:now", summary: "x" });
    await vi.waitFor(
      () => expect(run.status("feature-stray")).toMatchObject({ state: "running", failures: 4, isolation: { state: "up", starts: 1 } }),
      PATIENCE,
    );
    expect(await run.act("stray.alive")).toBe(true);
  });

  it("FAULT-69 its lines reach the log cut and counted, and no more of them than a log bears", async () => {
    const lines: string[] = [];
    const log: RootLog = {
      debug: () => {},
      warn: () => {},
      error: () => {},
      reopen: () => {},
      child: () => log,
      info: (_facts: object | string, text?: string) => void lines.push(String(text)),
    };
    const run = await runIsolated(
      [
        {
          name: "loud",
          setup: `${action("loud.say", `for (let n = 0; n < 500; n += 1) { console.log("printed " + "x".repeat(10_000)); ctx.log.info({}, "logged " + "y".repeat(10_000)); }`)}`,
        },
      ],
      { log },
    );
    await run.act("loud.say");
    const ours = () => lines.filter((line) => /^(printed|logged) /.test(line));
    await vi.waitFor(() => expect(run.status("feature-loud").isolation?.dropped).toBe(600), PATIENCE);
    expect(ours()).toHaveLength(400);
    expect(Math.max(...ours().map((line) => line.length))).toBeLessThanOrEqual(4_096);
  });

  it("FAULT-69 a section that comes while it is away is what the next life is set up with", async () => {
    const folder = await temporaryFolder();
    const write = (word: string) =>
      writeFileSync(join(folder, "svc.json"), JSON.stringify({ node: { id: "n1", name: "N" }, agents: {}, plugins: [entry], supple: { word } }));
    const entry = lay(folder, {
      name: "supple",
      capabilities: ["events"],
      manifest: { section: "supple", activate: "section" },
      plugin: `config: { at: "supple", schema: { type: "object", properties: { word: { type: "string" } } } },`,
      setup: `const tell = (word) => ctx.events.publish({ kind: "x", type: "supple:word", summary: word });
        return { start: async () => tell(ctx.config.word), reload: async (config) => tell("reloaded " + config.word) };`,
    });
    write("one");
    const kernel = await createTestKernel({ config: join(folder, "svc.json"), limits: { isolation: { ...QUICK, firstPauseMs: 500 } } });
    const words: string[] = [];
    kernel.bus.subscribe(({ summary }) => void words.push(summary), "supple:word");
    await kernel.start();
    try {
      process.kill(statusOf(kernel, "feature-supple").isolation?.pid as number, "SIGKILL");
      await vi.waitFor(() => expect(statusOf(kernel, "feature-supple").isolation?.state).toBe("waiting"), PATIENCE);
      write("two");
      expect(await kernel.reload()).toMatchObject({ failed: [] });
      await vi.waitFor(() => expect(words).toEqual(["one", "two"]), PATIENCE);
    } finally {
      await kernel.stop({ drainSeconds: 0 });
    }
  });
});

describe("an isolated plugin that cannot be brought up", () => {
  it.each<[string, Laid, RegExp]>([
    ["exits when it is imported", { name: "bad", top: "process.exit(4);", setup: "" }, /ended with code 4/],
    ["throws when it is imported", { name: "bad", top: `throw new Error("broken at load");`, setup: "" }, /broken at load/],
    ["never loads", { name: "bad", top: "await new Promise(() => setInterval(() => {}, 1000));", setup: "" }, /took longer than|its load took/],
    ["throws in setup", { name: "bad", setup: `throw new Error("broken in setup");` }, /setup: broken in setup/],
    ["spins in setup", { name: "bad", setup: HOLD }, /setup: .*(did not answer|took longer)/],
    ["dies in start", { name: "bad", setup: `return { start: async () => process.kill(process.pid, "SIGSEGV") };` }, /start: .*SIGSEGV/],
    ["never starts", { name: "bad", setup: "return { start: () => new Promise(() => {}) };" }, /start: .*did not answer within/],
  ])("FAULT-69 %s: it is listed as failed with the reason, and no process is left", async (_what, laid, reason) => {
    const run = await runIsolated([laid], { limits: { loadMs: 1_500, setupMs: 1_500, startMs: 1_500 } });
    expect(run.status("feature-bad")).toMatchObject({ state: "failed", provides: [], reason: expect.stringMatching(reason) });
    await vi.waitFor(() => expect(isolatedChildren()).toEqual([]), PATIENCE);
    expect(await run.kernel.tasks.run(run.message("others"))).toMatchObject({ ok: true });
  });

  it.each<[string, Laid, RegExp]>([
    ["declares spawn", { name: "bad", capabilities: ["spawn"], setup: "" }, /the capability 'spawn'.*take 'process:' off/],
    ["declares every variable", { name: "bad", capabilities: ["env:*"], setup: "" }, /the capability 'env:\*'/],
    ["declares one of the daemon's variables", { name: "bad", capabilities: ["env:SVC_SECRET"], setup: "" }, /env:SVC_SECRET/],
    ["provides a server", { name: "bad", capabilities: ["routes"], setup: `ctx.provide.server({ name: "s", host: "127.0.0.1", port: 0 });` }, /a server/],
    ["judges bearers", { name: "bad", setup: `ctx.provide.authority({ name: "a", verify: async () => undefined });` }, /an authority/],
    ["keeps the state", { name: "bad", setup: `ctx.provide.store({ name: "s", open: () => ({}) });` }, /a store/],
    ["is a board", { name: "bad", setup: `ctx.provide.board({ name: "b", list: async () => [], get: async () => undefined });` }, /a board/],
    ["serves other plugins", { name: "bad", setup: `ctx.provide.service("acme.notes", {});` }, /a service/],
    ["asks other plugins", { name: "bad", capabilities: ["services"], setup: "" }, /the capability 'services'/],
    ["serves files", { name: "bad", capabilities: ["routes"], setup: `ctx.provide.files({ prefix: "/x", folder: "ui", guard: "open" });` }, /files/],
    ["shows a panel", { name: "bad", setup: `ctx.provide.panel({ id: "p", title: "P", place: "card", guard: "open", module: "/p.js" });` }, /a panel/],
  ])("one that %s is refused, in words that say what to do", async (_what, laid, reason) => {
    const run = await runIsolated([laid]);
    const id = `${laid.kind ?? "feature"}-bad`;
    expect(run.status(id)).toMatchObject({ state: "failed", reason: expect.stringMatching(reason) });
  });

  it("runs no code of it in the daemon", async () => {
    const run = await runIsolated([{ name: "where", top: "globalThis.isolatedCodeRan = true;", setup: action("where.pid", "return process.pid;") }]);
    expect((globalThis as { isolatedCodeRan?: boolean }).isolatedCodeRan).toBeUndefined();
    expect(await run.act("where.pid")).not.toBe(process.pid);
  });
});

describe("the plugins that torture a host, isolated", () => {
  it("FAULT-69 those that cannot be brought up are failed, those that end their process come back; none is held back, and messages are answered", async () => {
    // The one that comes and goes as long as it lives comes last, so that it lives beside as little as possible of what only waits.
    const cases = tortureCases
      .filter(({ name, ends }) => ends !== "running" || ["exits-later", "answers-with-traps", "answers-in-circles", "answers-hugely"].includes(name))
      .toSorted((left, right) => Number(left.name === "exits-later") - Number(right.name === "exits-later"))
      .map(holding);
    const folder = await temporaryFolder();
    for (const one of cases) writeTorture(join(folder, one.name), one);
    const run = await runIsolated([], {
      folder,
      config: { plugins: cases.map(({ name }) => `process:./${name}`) },
      limits: { loadMs: 8_000, setupMs: 3_000, startMs: 3_000, stopMs: 1_000 },
      isolation: { ends: 1_000, pingMs: 1_000, firstPauseMs: 500, longestPauseMs: 4_000 },
    });
    const state = ({ name }: { readonly name: string }) => run.status(`feature-torture-${name}`).state;
    // What would have taken the daemon along: it could not be set up or started, or it comes and goes.
    const wanted = ({ name, ends }: (typeof cases)[number]) => (ends === "running" || name === "spins-later" ? "running" : "failed");
    expect(cases.map((one) => [one.name, state(one)])).toEqual(cases.map((one) => [one.name, wanted(one)]));
    for (let n = 0; n < 10; n += 1)
      expect(await run.kernel.tasks.run(run.message(`message ${n}`, { chat: `c${n}` }))).toMatchObject({ ok: true, reply: `message ${n}` });
    for (const name of ["torture.ring", "torture.huge"]) await expect(run.act(name), name).rejects.toThrow(/circular|more than goes/);
    await run.kernel.stop({ drainSeconds: 0 });
    await vi.waitFor(() => expect(isolatedChildren()).toEqual([]), PATIENCE);
  }, 120_000);
});

describe("the end of an isolated plugin", () => {
  it("FAULT-69 no process is left after a stop, also of one that does not end its stop or ignores every signal", async () => {
    const run = await runIsolated(
      [
        { name: "polite", capabilities: ["files"], setup: `return { stop: async () => { await ctx.files.own.write("stopped", "yes"); } };` },
        {
          name: "deaf",
          setup: `for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {}); return { stop: () => new Promise(() => {}) };`,
        },
        { name: "busy", setup: `return { stop: async () => { ${HOLD} } };` },
      ],
      { dataFolder: ".svc" },
    );
    const pids = ["polite", "deaf", "busy"].map((name) => run.status(`feature-${name}`).isolation?.pid as number);
    expect(pids.filter(alive)).toHaveLength(3);
    await run.kernel.stop({ drainSeconds: 0 });
    await vi.waitFor(() => expect(pids.filter(alive)).toEqual([]), PATIENCE);
    expect(existsSync(join(run.folder, ".svc/plugins/feature-polite/stopped"))).toBe(true);
    expect(run.status("feature-polite")).toMatchObject({ state: "stopped", provides: [] });
  });

  it(`FAULT-69 ${OFTEN} loads and unloads leave neither a process nor a handle`, async () => {
    const count = () => process.getActiveResourcesInfo().filter((kind) => /Process|Pipe/.test(kind)).length;
    const before = count();
    for (let n = 0; n < OFTEN; n += 1) {
      const run = await runIsolated([{ name: "short", setup: action("short.pid", "return process.pid;") }]);
      expect(isolatedChildren()).toEqual([run.status("feature-short").isolation?.pid]);
      await run.kernel.stop({ drainSeconds: 0 });
    }
    expect(isolatedChildren()).toEqual([]);
    await vi.waitFor(() => expect(count()).toBeLessThanOrEqual(before), PATIENCE);
  });

  it("a plugin in the daemon beside it is called as ever while the other is killed again and again", async () => {
    let heard = 0;
    const listener = {
      kind: "feature",
      name: "listener",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx: PluginContext) => ctx.hooks.inbound.tap(() => void (heard += 1)),
    } as unknown as Plugin<never>;
    const run = await runIsolated([FRAGILE], { inline: [listener] });
    for (let n = 0; n < OFTEN; n += 1) {
      await vi.waitFor(() => expect(run.status("feature-fragile").isolation?.state).toBe("up"), PATIENCE);
      process.kill(pidOf(run), "SIGKILL");
      expect(await run.kernel.tasks.run(run.message(`message ${n}`))).toMatchObject({ ok: true, reply: `message ${n}` });
      await vi.waitFor(() => expect(run.status("feature-fragile").isolation?.ends).toBe(n + 1), PATIENCE);
    }
    expect(heard).toBe(OFTEN);
  });
});
