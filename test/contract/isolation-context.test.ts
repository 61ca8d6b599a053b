import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKernel } from "@svc/kernel";
import type { Actions, Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { action, type Laid, lay, runIsolated, statusOf } from "../faults/isolation.harness.ts";
import { ROOT } from "../house/house.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };

describe("what of the context an isolated plugin has", () => {
  it("limits of Infinity read all there is, as in the daemon", async () => {
    const { act } = await runIsolated([
      {
        name: "reader",
        capabilities: ["store", "files"],
        setup: action(
          "reader.read",
          `const things = ctx.store.collection("things"); await things.put("a", 1); const journal = ctx.store.journal("log"); await journal.append("x");
           await ctx.files.own.write("f", "text");
           return { list: (await things.list({ limit: Infinity })).length, read: (await journal.read(0, Infinity)).length, tail: (await journal.tail(Infinity)).length,
             file: new TextDecoder().decode(await ctx.files.own.read("f", Infinity)) };`,
        ),
      },
    ]);
    expect(await act("reader.read")).toEqual({ list: 1, read: 1, tail: 1, file: "text" });
  });

  it("deliveries that wait for their channel do not use up the calls that are served at once", async () => {
    const { act } = await runIsolated(
      [
        {
          name: "sender",
          kind: "channel",
          capabilities: ["tasks", "store"],
          setup: `const channel = ctx.provide.channel({ name: "sender", traits: { maxChars: 1000, unit: "utf16", dialect: "plain" },
              async send({ text }) { if (text === "4") throw Object.assign(new Error("no such chat"), { failure: "permanent" }); return { platformId: "at-" + text }; } });
            const sent = [];
            ${action(
              "sender.send",
              `for (let n = 0; n < 20; n += 1) sent.push((await ctx.tasks.deliver({ kind: "proactive", target: { channel: "sender", chat: String(n) }, text: String(n) })).sent);
               await ctx.store.collection("things").put("a", 1); return sent.length;`,
            )}
            ${action("sender.end", "channel.ready(); return Promise.all(sent.map((one) => one.then(({ platformId }) => platformId, (error) => error.code)));")}`,
        },
      ],
      { isolation: { serving: 8 } },
    );
    expect(await act("sender.send")).toBe(20);
    expect(await act("sender.end")).toEqual(Array.from({ length: 20 }, (_, n) => (n === 4 ? "SVC_CHANNEL_REFUSED" : `at-${n}`)));
  });

  it("a timer that falls due while its process has as many calls as it may have runs once there is room", async () => {
    const { act } = await runIsolated(
      [
        {
          name: "timer",
          capabilities: ["jobs"],
          setup: `let fired = 0; let free = () => {}; const room = new Promise((resolve) => { free = resolve; });
            ${action("timer.arm", "ctx.jobs.after(200, () => { fired += 1; }); ctx.jobs.at(Date.now() + 200, () => { fired += 1; });")}
            ${action("timer.hold", "setTimeout(free, 1_000); await room;")}
            ${action("timer.fired", "return fired;")}`,
        },
      ],
      { isolation: { pending: 4 } },
    );
    await act("timer.arm");
    await Promise.all(Array.from({ length: 4 }, () => act("timer.hold")));
    await vi.waitFor(async () => expect(await act("timer.fired")).toBe(2), PATIENCE);
  });

  it("its section, state that stays, its own folder, the agents, events, timers, tasks and rendering", async () => {
    const { act, events, kernel } = await runIsolated(
      [
        {
          name: "user",
          capabilities: ["store", "files", "agents", "events", "jobs", "tasks", "render", "actions", "traces"],
          manifest: { section: "user", activate: "section" },
          plugin: `config: { at: "user", schema: { type: "object", properties: { word: { type: "string", default: "none" } } } },`,
          setup: `const heard = []; let ticks = 0;
            ctx.events.subscribe((envelope) => heard.push(envelope.data.n), "user:told");
            ctx.jobs.after(10, () => { ticks += 1; });
            ctx.jobs.at(Date.now() + 5, () => { ticks += 1; }); ctx.jobs.at(new Date(0), () => { ticks += 1; }); ctx.jobs.at(Date.now() + 5, () => { ticks += 1; })();
            let badTime; try { ctx.jobs.at(new Date("never"), () => {}); } catch (error) { badTime = error.code; }
            let badCron; try { ctx.jobs.cron("x", "not a cron", undefined, async () => {}); } catch (error) { badCron = error.code; }
            ${action("user.config", "return { ...ctx.config, id: ctx.id, node: ctx.node.id, badCron, badTime };")}
            ${action(
              "user.store",
              `const things = ctx.store.collection("things", { indexes: ["rank"] });
               await things.put("a", { rank: 2, none: null }); await things.put("b", { rank: 1 });
               const conflict = await things.put("a", { rank: 3 }, "absent").catch((error) => error.code);
               const queue = ctx.store.queue("work"); await queue.push({ n: 1 }); const [claimed] = await queue.claim(1, 1000); await queue.complete(claimed.id);
               await ctx.store.commit([{ op: "put", collection: "things", key: "c", value: { rank: 9 } }]);
               const journal = ctx.store.journal("log"); await journal.append("x");
               return { list: (await things.list({ by: "rank" })).map(({ key }) => key), doc: await things.get("a"), none: await things.get("z"), conflict, left: await queue.size(), tail: (await journal.tail(5)).map(({ value }) => value) };`,
            )}
            ${action(
              "user.files",
              `await ctx.files.own.write("a/b.bin", new Uint8Array([0, 255])); await ctx.files.own.change("n", 100, (before) => String(Number(before ? new TextDecoder().decode(before) : 0) + 1));
               await ctx.files.own.change("n", 100, async (before) => String(Number(new TextDecoder().decode(before)) + 1));
               const outside = await ctx.files.under("/etc").read("passwd", 10_000).catch((error) => error.code);
               let data; try { ctx.files.data; } catch (error) { data = error.code; }
               return { bytes: [...await ctx.files.own.read("a/b.bin", 10)], n: new TextDecoder().decode(await ctx.files.own.read("n", 10)), outside, data };`,
            )}
            ${action("user.others", `return { agents: ctx.agents.list().map(({ id }) => id), one: ctx.agents.get("a").name, actions: ctx.actions.list().length > 3, html: ctx.render.to("html-telegram", "**b**"), ticks, again: await ctx.actions.run("user.config", {}, { door: "agent" }).then(({ status }) => status) };`)}
            ${action("user.tell", `const envelope = ctx.events.publish({ kind: "x", type: "user:told", summary: "told", data: { n: input.n } }); let id; try { id = envelope.id; } catch (error) { id = error.code; } return { type: envelope.type, id };`)}
            ${action("user.heard", "return heard;")}
            ${action(
              "user.roots",
              `const codes = []; for (const call of [() => ctx.events.current(), () => ctx.events.inject({})]) try { call(); } catch (error) { codes.push(error.code); }
               return { codes, within: ctx.events.within({ rootId: "r", parentId: "p" }, () => ctx.events.current()) };`,
            )}
            ${action("user.task", `const types = []; const result = await ctx.tasks.run({ entry: "task", channel: "user", chat: "1", text: "hello", agent: "a" }, (event) => types.push(event.type)); const trace = await ctx.traces.get(result.taskId); let running; try { ctx.tasks.running(); } catch (error) { running = error.code; } return { reply: result.reply, types, status: trace.status, running };`)}`,
        },
      ],
      { config: { user: { word: "given" } } },
    );
    expect(await act("user.config")).toEqual({ word: "given", id: "feature-user", node: "n1", badCron: "SVC_CRON_INVALID", badTime: "SVC_TIME_INVALID" });
    expect(await act("user.store")).toEqual({
      list: ["b", "a", "c"],
      doc: { key: "a", value: { rank: 2, none: null }, version: 1 },
      conflict: "SVC_STORE_CONFLICT",
      left: 0,
      tail: ["x"],
    });
    expect(await act("user.files")).toEqual({ bytes: [0, 255], n: "2", outside: "SVC_ISOLATION_REFUSED", data: "SVC_ISOLATION_REFUSED" });
    await vi.waitFor(
      async () => expect(await act("user.others")).toEqual({ agents: ["a"], one: "A", actions: true, html: "<b>b</b>", ticks: 3, again: "ok" }),
      PATIENCE,
    );
    expect(await act("user.roots")).toEqual({ codes: ["SVC_ISOLATION_REFUSED", "SVC_ISOLATION_REFUSED"], within: { rootId: "r", parentId: "p" } });
    expect(await act("user.tell", { n: 7 })).toEqual({ type: "user:told", id: "SVC_ISOLATION_REFUSED" });
    await vi.waitFor(async () => expect(await act("user.heard")).toEqual([7]), PATIENCE);
    expect(events).toContainEqual(expect.objectContaining({ type: "user:told", node: "n1" }));
    expect(await act("user.task")).toMatchObject({
      reply: "hello",
      status: "ok",
      types: expect.arrayContaining(["accepted", "text"]),
      running: "SVC_ISOLATION_REFUSED",
    });
    expect(await kernel.traces.list({ channel: "user" })).toHaveLength(1);
  });

  it("it works on a queue and holds leases, and both end with its process", async () => {
    const { act, status } = await runIsolated([
      {
        name: "worker",
        capabilities: ["store"],
        setup: `const queue = ctx.store.queue("work"); const done = ctx.store.journal("done"); const lost = []; const held = [];
          queue.work(async ({ id, value, attempt }, signal) => {
            if (value === "hold") { held.push(attempt); await new Promise((resolve) => signal.addEventListener("abort", resolve)); throw signal.reason; }
            if (value === "fail" && attempt === 1) throw new Error("not yet");
            await ctx.store.commit([{ op: "append", journal: "done", value: value + attempt }, { op: "complete", queue: "work", id, attempt }]);
          }, { parallel: 2, retryMs: 10 });
          ${action("worker.push", `await queue.push(input.value, input.options); return await queue.nextDue();`)}
          ${action("worker.done", `return { done: (await done.read(0)).map(({ value }) => value), left: (await queue.list()).map(({ value }) => value), held, lost };`)}
          ${action("worker.lease", `const lease = await ctx.store.lease("leader", 5000); lease.signal.addEventListener("abort", () => lost.push(lease.signal.reason.message)); if (input.release) await lease.release(); return lease.held;`)}
          ${action("worker.extend", `return await queue.extend("nobody", 1, 1000);`)}
          ${action("worker.end", `process.exit(1);`)}`,
      },
    ]);
    const done = () => act("worker.done") as Promise<{ done: string[]; left: string[]; held: number[]; lost: string[] }>;
    await act("worker.push", { value: "one" });
    await act("worker.push", { value: "fail" });
    await vi.waitFor(async () => expect((await done()).done).toEqual(["one1", "fail2"]), PATIENCE);
    expect(await act("worker.extend")).toBe(false);
    expect(await act("worker.lease", { release: true })).toBe(true);
    expect(await act("worker.lease", { release: false })).toBe(true);
    await act("worker.push", { value: "hold" });
    await vi.waitFor(async () => expect(await done()).toMatchObject({ held: [1], left: ["hold"], lost: ["the lease was given back"] }), PATIENCE);
    await act("worker.end").catch(() => {});
    // A plugin that ends without a stop has its items until their lease runs out.
    await vi.waitFor(async () => expect(await act("worker.push", { value: "after" })).toBeGreaterThanOrEqual(0), PATIENCE);
    await vi.waitFor(async () => expect((await done()).done).toContain("after1"), PATIENCE);
    expect((await done()).left).toEqual(["hold"]);
    expect(status("feature-worker").state).toBe("running");
  });

  it("what it publishes while it serves a turn belongs to that turn's root", async () => {
    const { kernel, message, events } = await runIsolated([
      {
        name: "rooted",
        capabilities: ["events"],
        setup: `ctx.hooks.inbound.tap(async () => { await 0; ctx.events.publish({ kind: "x", type: "rooted:inside", summary: "x" }); });`,
      },
    ]);
    const result = await kernel.tasks.run(message("hello"));
    const inside = await vi.waitFor(() => {
      const found = events.find(({ type }) => type === "rooted:inside");
      expect(found).toBeDefined();
      return found!;
    }, PATIENCE);
    expect(inside.rootId).toBe((await kernel.traces.get(result.taskId))?.rootId);
  });

  it("of the environment it sees what every program needs and what it declared; of the disk its own files; and it starts nothing", async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: "/home/nobody",
      CANARY_TOKEN: "canary",
      SVC_HUB_TOKEN: "hub",
      NODE_OPTIONS: "--no-warnings",
      ACME_KEY: "declared",
    };
    const { act } = await runIsolated(
      [
        {
          name: "curious",
          capabilities: ["env:ACME_KEY", "env:UNSET"],
          top: `import { readFileSync, writeFileSync } from "node:fs"; import { spawnSync } from "node:child_process"; import { Worker } from "node:worker_threads";
            const told = (work) => { try { work(); return "allowed"; } catch (error) { return error.code; } };`,
          setup: `${action("curious.env", `let undeclared; try { ctx.env("CANARY_TOKEN"); } catch (error) { undeclared = error.code; } return { names: Object.keys(process.env).sort(), all: JSON.stringify(process.env), key: ctx.env("ACME_KEY"), unset: ctx.env("UNSET") ?? "unset", undeclared };`)}
            ${action("curious.disk", `return { own: told(() => readFileSync(new URL("./package.json", import.meta.url))), other: told(() => readFileSync("/etc/passwd")), write: told(() => writeFileSync(new URL("./x", import.meta.url), "x")), program: told(() => spawnSync("true").error && (() => { throw spawnSync("true").error; })()), thread: told(() => new Worker("1", { eval: true })) };`)}
            ${action("curious.undeclared", "return ctx.store;")}`,
        },
      ],
      { env },
    );
    const seen = (await act("curious.env")) as { names: string[]; all: string };
    expect(seen).toMatchObject({ key: "declared", unset: "unset", undeclared: "SVC_CAPABILITY_UNDECLARED" });
    // Bubblewrap adds where it is.
    expect(seen.names.filter((name) => name !== "PWD")).toEqual(["ACME_KEY", "HOME", "JITI_FS_CACHE", "PATH", "SVC_RUN"]);
    expect(seen.all).not.toMatch(/canary|hub/);
    expect(await act("curious.disk")).toEqual({
      own: "allowed",
      other: "ERR_ACCESS_DENIED",
      write: expect.stringMatching(/^(ERR_ACCESS_DENIED|EROFS)$/),
      program: "ERR_ACCESS_DENIED",
      thread: "ERR_ACCESS_DENIED",
    });
    await expect(act("curious.undeclared")).rejects.toThrow(/'store' without declaring it/);
  });

  it("a reload gives it its new section: in place where it can, else in a new process", async () => {
    const section = (name: string) => ({
      manifest: { section: name, activate: "section" },
      plugin: `config: { at: "${name}", schema: { type: "object", properties: { word: { type: "string" } } } },`,
    });
    const folder = await temporaryFolder();
    const write = (word: string) =>
      writeFileSync(
        join(folder, "svc.json"),
        JSON.stringify({
          node: { id: "n1", name: "N" },
          agents: { a: { name: "A", workspace: "./w", tier: "scripted" } },
          plugins: ["process:./supple", "process:./stiff"],
          supple: { word },
          stiff: { word },
        }),
      );
    const laid: Laid[] = [
      {
        name: "supple",
        ...section("supple"),
        capabilities: ["fetch"],
        setup: `let { word } = ctx.config; ${action("supple.word", "return word;")}
          ${action("supple.ask", 'return ctx.fetch("http://[::2]:9/", { trustedOrigins: ["http://[::2]:9"], timeoutMs: 50 }).catch(({ code }) => code);')} return { reload: async (config) => { word = config.word; } };`,
      },
      { name: "stiff", ...section("stiff"), setup: action("stiff.word", "return ctx.config.word;") },
    ];
    for (const one of laid) lay(folder, one);
    write("one");
    let actions: Actions | undefined;
    const caller = {
      kind: "feature",
      name: "caller",
      version: "1.0.0",
      svc: "*",
      capabilities: ["actions"],
      setup: (ctx: { actions: typeof actions }) => void (actions = ctx.actions),
    };
    const kernel = await createKernel({
      config: join(folder, "svc.json"),
      plugins: [scriptedTier().plugin as Plugin<never>, caller as unknown as Plugin<never>],
    });
    await kernel.start();
    try {
      const word = async (name: string) => (await actions!.run(`${name}.word`, {}, { door: "cli" })).output;
      const pid = (name: string) => statusOf(kernel, `feature-${name}`).isolation?.pid;
      const before = { supple: pid("supple"), stiff: pid("stiff") };
      expect([await word("supple"), await word("stiff")]).toEqual(["one", "one"]);
      // No route leads there: whether it is tried is what counts.
      const asked = async () => (await actions!.run("supple.ask", {}, { door: "cli" })).output;
      expect(await asked()).toBe("SVC_FETCH_BLOCKED");
      const two = "http://[::2]:9";
      write(two);
      expect(await kernel.reload()).toMatchObject({ failed: [] });
      expect([await word("supple"), await word("stiff")]).toEqual([two, two]);
      expect(await asked()).toMatch(/^SVC_FETCH_(?!BLOCKED)/);
      expect(pid("supple")).toBe(before.supple);
      expect(pid("stiff")).not.toBe(before.stiff);
    } finally {
      await kernel.stop({ drainSeconds: 0 });
    }
  });

  it("a plugin in TypeScript runs as it is, from a folder or from a single file", async () => {
    const folder = await temporaryFolder();
    const source = (name: string) => `import { definePlugin } from "@svc/sdk";
      interface Answer { readonly language: string }
      export default definePlugin({ kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: [], setup(ctx) {
        ctx.provide.action({ name: "${name}.ask", description: "d", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async (): Promise<Answer> => ({ language: "TypeScript" }) });
      } });`;
    mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
    symlinkSync(join(ROOT, "sdk"), join(folder, "node_modules/@svc/sdk"));
    mkdirSync(join(folder, "typed"));
    writeFileSync(join(folder, "typed/index.ts"), source("typed"));
    writeFileSync(
      join(folder, "typed/package.json"),
      JSON.stringify({
        name: "svc-plugin-typed",
        version: "1.0.0",
        type: "module",
        svc: { api: 1, kind: "feature", name: "typed", entry: "./index.ts", activate: "always", capabilities: [] },
      }),
    );
    writeFileSync(join(folder, "single.ts"), source("single"));
    const { kernel } = await runKernel({ folder, config: { plugins: ["process:./typed", "process:./single.ts"] } });
    const shown = kernel.health().plugins.filter(({ source: from }) => from === "path");
    expect(shown.map(({ id, state, provides }) => ({ id, state, provides }))).toEqual([
      { id: "feature-typed", state: "running", provides: ["action typed.ask"] },
      { id: "feature-single", state: "running", provides: ["action single.ask"] },
    ]);
  });
});
