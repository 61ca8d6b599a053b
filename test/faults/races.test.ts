import { existsSync } from "node:fs";
import { join } from "node:path";
import { blame } from "@svc/kernel";
import { definePlugin, type Plugin, type PluginContext, type Route, type TierEvent } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { hasten } from "../kit/time.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

function feature(name: string, setup: (ctx: PluginContext) => unknown, extra: Partial<Plugin> = {}): Plugin<never> {
  return definePlugin({
    kind: "feature",
    name,
    version: "1.0.0",
    svc: "*",
    capabilities: ["tasks", "events", "jobs", "store", "files", "data-folder", "actions"],
    setup: setup as Plugin["setup"],
    ...extra,
  }) as unknown as Plugin<never>;
}

/** A channel that keeps what it was told to send. */
function keeping(name: string): { plugin: Plugin<never>; sent: string[]; ctx(): PluginContext } {
  const sent: string[] = [];
  let own: PluginContext | undefined;
  const plugin = feature(name, (ctx) => {
    own = ctx;
    const handle = ctx.provide.channel({
      name,
      traits: { maxChars: 4000, unit: "codepoint", dialect: "plain" },
      async send({ text }) {
        sent.push(text);
        return { platformId: `${sent.length}` };
      },
    });
    return { start: async () => handle.ready() };
  });
  return { plugin, sent, ctx: () => own as PluginContext };
}

const startOn = (folder: string, options: RunOptions = {}) => runKernel({ ...options, folder, dataFolder: join(folder, ".svc") });

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

describe("one turn for several", () => {
  it("is not ended because one of its callers went away", async () => {
    const { kernel, tier, message } = await runKernel();
    void kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const leaves = new AbortController();
    const [kept, left] = [kernel.tasks.run(message("hold on")), kernel.tasks.run(message("and on"), undefined, leaves.signal)];
    await until(() => kernel.tasks.queued().length === 2);
    tier.release();
    await until(() => tier.prompts.length === 2 && tier.held === 1);
    leaves.abort();
    tier.release("both");
    expect(await kept).toMatchObject({ ok: true, reply: "begun both" });
    await left;
  });

  it("is not made of messages whose answers go to different places", async () => {
    const channel = keeping("mail");
    const { kernel, tier } = await runKernel({ inline: [channel.plugin] });
    const base = { channel: "mail", chat: "c", agent: "a" };
    void kernel.tasks.run({ ...base, entry: "task", text: "hold" });
    await until(() => tier.held === 1);
    const asked = kernel.tasks.run({ ...base, entry: "task", text: "over http" });
    const accepted = await channel.ctx().tasks.accept({ ...base, entry: "channel", text: "by mail" });
    await until(() => kernel.tasks.queued().length === 2);
    tier.release();
    expect(await asked).toMatchObject({ reply: "over http" });
    await until(() => channel.sent.length === 1);
    expect(channel.sent).toEqual(["by mail"]);
    expect((await kernel.traces.get(accepted.taskId))?.tasks).toBeUndefined();
  });

  it("CRON-08 is not made of a restricted message and a free one", async () => {
    const tier = scriptedTier("scripted", { enforcesAutonomy: true });
    const { kernel, message } = await runKernel({ tier });
    void kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const runs = [kernel.tasks.run(message("free")), kernel.tasks.run(message("restricted", { options: { autonomy: "report" } }))];
    await until(() => kernel.tasks.queued().length === 2);
    tier.release();
    await Promise.all(runs);
    expect(tier.turns.map(({ turn }) => turn.messages.map(({ options }) => options?.autonomy))).toEqual([[undefined], [undefined], ["report"]]);
  });
});

describe("a conversation of two agents", () => {
  it("lets each answer its own, one after the other", async () => {
    const shared = feature("shared", (ctx) => {
      ctx.hooks.route.tap(({ agent, chat, channel }): Route => ({ agent: agent as string, conversation: "one", reply: { channel, chat } }));
    });
    const agents = { a: { name: "A", workspace: "./w", tier: "scripted" }, b: { name: "B", workspace: "./w", tier: "scripted" } };
    const { kernel, tier, message } = await runKernel({ inline: [shared], config: { agents } });
    const other = kernel.tasks.run(message("hold", { agent: "a", chat: "x" }));
    await until(() => tier.held === 1);
    const runs = ["a", "b", "a"].map((agent, n) => kernel.tasks.run(message(`${n}`, { agent })));
    await until(() => kernel.tasks.queued().length === 3);
    tier.release();
    await other;
    expect((await Promise.all(runs)).map(({ agent, reply }) => `${agent} ${reply}`)).toEqual(["a 0", "b 1", "a 2"]);
    expect(kernel.tasks.running()).toEqual([]);
  });
});

describe("a preparation that was given up", () => {
  it("asks nobody any more to take the turn over", async () => {
    let asked = 0;
    let assembled: (() => void) | undefined;
    const slow = feature("slow", (ctx) => {
      ctx.hooks.assembleContext.tap((context) => new Promise((resolve) => (assembled = () => resolve(context))), { step: "slow" });
      ctx.hooks.dispatch.tap(() => {
        asked += 1;
      });
    });
    const { kernel, message } = await runKernel({ inline: [slow] });
    const run = kernel.tasks.run(message("hello"));
    await until(() => assembled !== undefined);
    await kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    expect(await run).toMatchObject({ errorKind: "cancelled" });
    assembled?.();
    // The next message goes the whole way behind it.
    assembled = undefined;
    const next = kernel.tasks.run(message("again"));
    await until(() => assembled !== undefined);
    assembled?.();
    expect(await next).toMatchObject({ ok: true });
    expect(asked).toBe(1);
  });
});

describe("an engine that is not what it should be", () => {
  const engine = (run: (signal: AbortSignal) => AsyncIterable<unknown>) =>
    definePlugin({
      kind: "tier",
      name: "odd",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) => ctx.provide.tier({ name: "odd", run: (_turn, _context, signal) => run(signal) as AsyncIterable<TierEvent> }),
    }) as unknown as Plugin<never>;
  const ring: Record<string, unknown> = {};
  ring.ring = ring;

  it.each<[string, unknown]>([
    ["no event", null],
    ["a text that is none", { type: "text", text: ring }],
    ["a result that is no text", { type: "done", text: 42 }],
    ["numbers that are none", { type: "usage", usage: { input: ring, output: 1n } }],
    ["a step without a name", { type: "step", step: { id: "1", phase: "end" } }],
    ["an error that is no text", { type: "error", kind: ring, message: ring }],
  ])("FAULT-66 %s ends the run with an error, and the task for good", async (_what, event) => {
    async function* run() {
      yield { type: "text", text: "so far" };
      yield event;
      yield { type: "done" };
    }
    const { kernel, message } = await runKernel({ inline: [engine(run)], agent: { tier: "odd" } });
    const result = await kernel.tasks.run(message("hello"));
    expect(result).toMatchObject({ ok: false, errorKind: "SVC_TIER_EVENT", reply: "so far" });
    expect(await kernel.traces.get(result.taskId)).toMatchObject({ status: "error", errorKind: "SVC_TIER_EVENT" });
    expect(kernel.health().plugins.find(({ id }) => id === "tier-odd")?.failures).toBe(1);
  });

  it("RUN-01 is read no further once its slot was taken from it", async () => {
    let said = 0;
    let ended = false;
    async function* run() {
      try {
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          said += 1;
          yield { type: "step", step: { id: `${said}`, name: "more", phase: "end" } };
        }
      } finally {
        ended = true;
      }
    }
    const { kernel, message, events } = await runKernel({ inline: [engine(run)], agent: { tier: "odd" } });
    const done = kernel.tasks.run(message("hello"));
    await until(() => said > 0);
    await kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    expect(await done).toMatchObject({ errorKind: "cancelled" });
    await until(() => ended);
    expect(events.map(({ type }) => type).lastIndexOf("task:step")).toBeLessThan(events.map(({ type }) => type).indexOf("task:completed"));
  }, 20_000);
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
