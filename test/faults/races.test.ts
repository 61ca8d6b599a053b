import { existsSync } from "node:fs";
import { join } from "node:path";
import { blame } from "@svc/kernel";
import type { Plugin, PluginContext } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { hasten } from "../kit/time.ts";
import { feature, keeping, startOn, until } from "./races.harness.ts";

describe("a start", () => {
  it("does not run again what a plugin handed over while it started", async () => {
    const eager = feature("eager", (ctx) => ({
      async start() {
        await ctx.tasks.accept({ entry: "channel", channel: "eager", chat: "c", text: "hold early", agent: "a" });
      },
    }));
    const { kernel, tier } = await runKernel({ inline: [eager], agent: { queueMode: "followup" } });
    await until(() => tier.held === 1);
    expect(kernel.tasks.queued()).toEqual([]);
    tier.release();
    await until(() => kernel.tasks.running().length === 0);
    expect(tier.prompts).toEqual(["hold early"]);
  });

  it("is over before a stop that was asked for meanwhile begins", async () => {
    let started: (() => void) | undefined;
    const slow = feature("slow", () => ({ start: () => new Promise<void>((resolve) => (started = resolve)) }));
    const kernel = await createTestKernel({ config: { node: { id: "n", name: "N" }, agents: {} }, plugins: [slow] });
    const starting = kernel.start();
    await until(() => started !== undefined);
    const stopped = kernel.stop();
    started?.();
    await starting;
    await stopped;
    const { state, plugins } = kernel.health();
    expect(state).toBe("stopped");
    // The daemon's store is a plugin, too.
    expect(plugins.map((plugin) => plugin.state)).toEqual(plugins.map(() => "stopped"));
    expect(plugins).toContainEqual(expect.objectContaining({ id: "feature-slow", state: "stopped" }));
  });

  it("tries a plugin again that failed at the start before", async () => {
    let failures = 1;
    const shaky = feature("shaky", () => ({
      async start() {
        if (failures-- > 0) throw new Error("not yet");
      },
    }));
    const { kernel } = await runKernel({ inline: [shaky] });
    expect(kernel.health().problems).toEqual(["feature-shaky: start: not yet"]);
    await kernel.stop();
    await kernel.start();
    expect(kernel.health().problems).toEqual([]);
  });
});

describe("a reload", () => {
  it("asked for during a start or a stop leaves no plugin running behind", async () => {
    let running = 0;
    let begun: (() => void) | undefined;
    const counted = feature("counted", () => ({
      start: () =>
        new Promise<void>((resolve) => {
          running += 1;
          begun = resolve;
          setTimeout(resolve, 30);
        }),
      async stop() {
        running -= 1;
      },
    }));
    const kernel = await createTestKernel({ config: { node: { id: "n", name: "N" }, agents: {} }, plugins: [counted] });
    const starting = kernel.start();
    await until(() => begun !== undefined);
    const reloaded = kernel.reload();
    await starting;
    await reloaded;
    expect(running).toBe(1);
    const last = kernel.reload();
    await kernel.stop();
    await last.catch(() => {});
    expect(running).toBe(0);
    expect(kernel.health().state).toBe("stopped");
  });

  it("lets what waits start at once when an agent may run more side by side", async () => {
    const config = { node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted", maxConcurrent: 1 } } };
    const tier = scriptedTier();
    const kernel = await createTestKernel({ config, plugins: [tier.plugin as Plugin<never>] });
    await kernel.start();
    for (const chat of ["1", "2"]) void kernel.tasks.run({ entry: "task", channel: "http", chat, text: "hold", agent: "a" });
    await until(() => tier.held === 1 && kernel.tasks.queued().length === 1);
    config.agents.a.maxConcurrent = 2;
    await kernel.reload();
    await until(() => tier.held === 2);
    await kernel.stop({ drainSeconds: 0 });
  });

  it("that takes an agent away ends what waits for it with an error", async () => {
    const config: { node: object; agents: Record<string, object> } = {
      node: { id: "n", name: "N" },
      agents: { a: { name: "A", workspace: "./w", tier: "scripted" } },
    };
    const tier = scriptedTier();
    const kernel = await createTestKernel({ config, plugins: [tier.plugin as Plugin<never>] });
    await kernel.start();
    const [first, second] = ["hold", "later"].map((text) => kernel.tasks.run({ entry: "task", channel: "http", chat: "1", text, agent: "a" }));
    await until(() => tier.held === 1 && kernel.tasks.queued().length === 1);
    config.agents = { b: { name: "B", workspace: "./w", tier: "scripted" } };
    await hasten(async () => {
      await kernel.reload();
      tier.release();
      expect(await first).toMatchObject({ ok: true });
      expect(await second).toMatchObject({ ok: false, error: expect.stringContaining("no agent 'a'") });
    });
    await kernel.stop();
  });

  it("FLT-12 that takes an agent away costs nothing of what waits for it when the next one brings it back", async () => {
    const a = { a: { name: "A", workspace: "./w", tier: "scripted", queueMode: "followup" } };
    const config: { node: object; agents: Record<string, object> } = { node: { id: "n", name: "N" }, agents: a };
    const tier = scriptedTier();
    const kernel = await createTestKernel({ config, plugins: [tier.plugin as Plugin<never>] });
    await kernel.start();
    const runs = ["hold", "2", "3"].map((text) => kernel.tasks.run({ entry: "task", channel: "http", chat: "1", text, agent: "a" }));
    await until(() => tier.held === 1 && kernel.tasks.queued().filter(({ step }) => step === "queued").length === 2);
    config.agents = {};
    await kernel.reload();
    tier.release();
    await runs[0];
    expect(kernel.tasks.queued()).toHaveLength(2);
    config.agents = a;
    await kernel.reload();
    expect((await Promise.all(runs)).map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(tier.prompts).toEqual(["hold", "2", "3"]);
    await kernel.stop();
  });
});

describe("a stop", () => {
  it("waits for a task that was cancelled before, so that it is not run again at the next start", async () => {
    const folder = await temporaryFolder();
    const { kernel, tier, message } = await startOn(folder);
    const run = kernel.tasks.run(message("deaf"));
    await until(() => tier.turns.length === 1);
    const { taskId } = { taskId: kernel.tasks.running()[0]!.id };
    void kernel.tasks.cancel(taskId);
    await kernel.stop({ drainSeconds: 0 });
    expect(await run).toMatchObject({ errorKind: "cancelled" });
    const again = await startOn(folder);
    expect(await again.kernel.traces.get(taskId)).toMatchObject({ status: "error", errorKind: "cancelled" });
    expect(again.tier.prompts).toEqual([]);
  }, 20_000);

  it("answers the caller of work whose acceptance it overtook, and keeps the work", async () => {
    const folder = await temporaryFolder();
    const { kernel, message } = await startOn(folder);
    const runs = Array.from({ length: 20 }, (_, n) => kernel.tasks.run(message(`late ${n}`, { chat: `${n}` })));
    const stopped = kernel.stop({ drainSeconds: 0 });
    const ends = await Promise.all(
      runs.map((run) =>
        run.then(
          ({ errorKind, ok }) => (ok ? "ok" : errorKind),
          (error) => error.code,
        ),
      ),
    );
    await stopped;
    expect(ends.every((end) => ["ok", "interrupted", "SVC_STORE_CLOSED"].includes(end as string))).toBe(true);
  });
});

describe("what a plugin registers", () => {
  it("after its end is gone at once", async () => {
    let heard = 0;
    let late: PluginContext | undefined;
    const slow = feature("slow", (ctx) => {
      late = ctx;
      return { start: () => new Promise(() => {}) };
    });
    const { kernel } = await runKernel({ inline: [slow], limits: { startMs: 30 } });
    late?.events.subscribe(() => (heard += 1));
    late?.jobs.every(10, () => {
      heard += 1;
    });
    kernel.bus.publish({ kind: "status", type: "status", summary: "x" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(heard).toBe(0);
  });

  it("FAULT-65 an event listener that rejects is counted against it", async () => {
    const rejects = feature("rejects", (ctx) => {
      ctx.events.subscribe(
        (async () => {
          throw new Error("late");
        }) as () => void,
        "probe",
      );
    });
    const { kernel } = await runKernel({ inline: [rejects] });
    kernel.bus.publish({ kind: "status", type: "probe", summary: "x" });
    await until(() => kernel.health().plugins.find(({ id }) => id === "feature-rejects")?.failures === 1);
  });

  it.each<[string, (ctx: PluginContext) => void]>([
    ["a channel without send", (ctx) => void ctx.provide.channel({ name: "x", traits: { maxChars: 1, unit: "utf8", dialect: "plain" } } as never)],
    ["a channel without traits", (ctx) => void ctx.provide.channel({ name: "x", send: async () => ({ platformId: "1" }) } as never)],
    [
      "a channel whose markup is no text",
      (ctx) =>
        void ctx.provide.channel({ name: "x", traits: { maxChars: 1, unit: "utf8", markup: { bold: 1 } }, send: async () => ({ platformId: "1" }) } as never),
    ],
    ["a tier without run", (ctx) => ctx.provide.tier({ name: "x" } as never)],
    ["an action without a handler", (ctx) => void ctx.provide.action({ name: "x", input: { type: "object" }, output: {}, timeoutMs: 1 } as never)],
    ["nothing", (ctx) => ctx.provide.tool(undefined as never)],
    ["a tap that is no function", (ctx) => ctx.hooks.inbound.tap("x" as never)],
  ])("FAULT-61 is refused where it is %s: the plugin fails, the rest is up", async (_what, provide) => {
    const { kernel, message } = await runKernel({ inline: [feature("wrong", provide)] });
    expect(kernel.health().plugins.find(({ id }) => id === "feature-wrong")).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("feature-wrong"),
    });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true });
  });

  it("FAULT-66 a tap that throws what cannot be put in words is passed over", async () => {
    const wordless = feature("wordless", (ctx) => {
      ctx.hooks.inbound.tap(() => {
        throw Object.create(null);
      });
      ctx.hooks.route.tap(async () => {
        throw Object.create(null);
      });
    });
    const { kernel, message } = await runKernel({ inline: [wordless] });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true });
  });
});

describe("the kernel's own work", () => {
  it("is nobody's: what goes wrong in it is not blamed on the plugin that handed the message over", async () => {
    const channel = keeping("mail");
    const { kernel, tier } = await runKernel({ inline: [channel.plugin] });
    const blamed: (string | undefined)[] = [];
    for (const type of ["message:matched", "task:started", "task:completed"]) kernel.bus.subscribe(() => blamed.push(blame()), type);
    await new Promise<void>((resolve) => {
      kernel.bus.subscribe(() => resolve(), "task:completed");
      channel.ctx().events.subscribe(() => void channel.ctx().tasks.accept({ entry: "channel", channel: "mail", chat: "c", text: "hello", agent: "a" }), "go");
      kernel.bus.publish({ kind: "status", type: "go", summary: "go" });
    });
    expect(tier.prompts).toEqual(["hello"]);
    expect(blamed).toEqual([undefined, undefined, undefined]);
  });
});

describe("a kernel in memory", () => {
  it("lends a plugin a folder that goes when it stops, and leaves none in the current one", async () => {
    let ctx: PluginContext | undefined;
    const folder = await temporaryFolder();
    const writes = feature("writes", (given) => {
      ctx = given;
    });
    const { kernel } = await runKernel({ inline: [writes], folder });
    await ctx?.files.own.write("note.txt", "kept while it runs");
    expect(Buffer.from((await ctx?.files.own.read("note.txt", 100)) as Uint8Array).toString()).toBe("kept while it runs");
    const root = ctx?.files.data.roots[0] as string;
    expect(existsSync(root)).toBe(true);
    await kernel.stop();
    expect(existsSync(root)).toBe(false);
    expect(existsSync(join(folder, ".svc"))).toBe(false);
  });
});

describe("configuration of plugins", () => {
  it("a section that was wrong and is taken out leaves no trouble behind", async () => {
    const picky = feature("picky", () => {}, {
      config: { at: "picky", schema: { type: "object", properties: { size: { type: "number" } }, additionalProperties: false } },
    });
    const config: Record<string, unknown> = { node: { id: "n", name: "N" }, agents: {}, picky: { size: "x" } };
    const kernel = await createTestKernel({ config, plugins: [picky] });
    await kernel.start();
    expect(kernel.health().problems).toHaveLength(1);
    delete config.picky;
    expect((await kernel.reload()).failed).toEqual([]);
    expect(kernel.health().problems).toEqual([]);
    await kernel.stop();
  });
});
