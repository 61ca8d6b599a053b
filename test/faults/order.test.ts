import { join } from "node:path";
import { blame, createKernel } from "@svc/kernel";
import { definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { testStore } from "../kit/test-store.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

const feature = (name: string, setup: (ctx: PluginContext) => unknown) =>
  definePlugin({
    kind: "feature",
    name,
    version: "1.0.0",
    svc: "*",
    capabilities: ["tasks", "events"],
    setup: setup as never,
  }) as Plugin<never>;

/** A tap that needs its time for every second message. */
const slowInbound = feature("slow", (ctx) => {
  ctx.hooks.inbound.tap(({ text }) => (Number(text.split(" ").at(-1)) % 2 === 0 ? new Promise((resolve) => setTimeout(resolve, 60)) : undefined));
});
const slowRoute = feature("slow", (ctx) => {
  ctx.hooks.route.tap(({ text }) => (Number(text.split(" ").at(-1)) % 2 === 0 ? new Promise((resolve) => setTimeout(resolve, 60)) : undefined));
});

describe("taps that take their time", () => {
  it.each([
    ["inbound", slowInbound],
    ["route", slowRoute],
  ])("FLT-3 %s: a conversation is worked on in the order of acknowledgement, and others do not wait for it", async (_hook, slow) => {
    const { kernel, tier, message } = await runKernel({ inline: [slow], agent: { queueMode: "followup", maxConcurrent: 4 } });
    const runs = Array.from({ length: 10 }, (_, n) => kernel.tasks.run(message(`m ${n}`)));
    await kernel.tasks.run(message("other 1", { chat: "c2" }));
    expect(tier.prompts).toEqual(["other 1"]);
    await Promise.all(runs);
    expect(tier.prompts.slice(1)).toEqual(Array.from({ length: 10 }, (_, n) => `m ${n}`));
  });

  it("FLT-3 a message that waits behind one of them is cancelled at once, and a follow-up in its place comes first", async () => {
    let go = (): void => {};
    const gate = feature("gate", (ctx) => {
      ctx.hooks.inbound.tap(({ text }) => (text === "slow" ? new Promise<undefined>((resolve) => (go = () => resolve(undefined))) : undefined));
    });
    const { kernel, tier, message } = await runKernel({ inline: [gate], agent: { queueMode: "followup" } });
    const slow = kernel.tasks.run(message("slow"));
    const [cancelled, kept] = [kernel.tasks.run(message("cancelled")), kernel.tasks.run(message("kept"))];
    await until(() => kernel.tasks.queued().length === 3);
    const waiting = kernel.tasks.queued();
    expect(await kernel.tasks.cancel(waiting[1]!.id)).toBe(true);
    expect(await cancelled).toMatchObject({ errorKind: "cancelled" });
    expect(tier.prompts).toEqual([]);
    go();
    await Promise.all([slow, kept]);
    expect(tier.prompts).toEqual(["slow", "kept"]);
  });
});

describe("a restart", () => {
  it("FLT-2 FLT-3 what waited comes before what plugins and callers hand over while it starts, whatever the taps take", async () => {
    const folder = await temporaryFolder();
    const first = await runKernel({ folder, dataFolder: join(folder, ".svc"), agent: { queueMode: "followup" } });
    for (const text of ["hold 1", "2", "3", "4"]) void first.kernel.tasks.run(first.message(text));
    await until(() => first.tier.held === 1 && first.kernel.tasks.queued().length === 3);
    await first.kernel.stop({ drainSeconds: 0 });

    const tier = scriptedTier();
    const base = { entry: "task", channel: "http", chat: "c1", agent: "a" };
    const eager = feature("eager", (ctx) => ({
      async start() {
        await ctx.tasks.accept({ ...base, text: "5" });
        await new Promise((resolve) => setTimeout(resolve, 100));
        await ctx.tasks.accept({ ...base, text: "7" });
        expect(tier.prompts).toEqual([]);
      },
    }));
    const { section, known = [] } = testStore(join(folder, ".svc"));
    const kernel = await createKernel({
      known,
      config: { ...section, node: { id: "n1", name: "N" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted", queueMode: "followup" } } },
      folder,
      dataFolder: join(folder, ".svc"),
      plugins: [tier.plugin as Plugin<never>, eager, slowInbound],
    });
    const started = kernel.start();
    // The state is `starting`: the port of a daemon is open now.
    await until(() => kernel.health().state === "starting" && kernel.health().tasks.queued >= 5);
    void kernel.tasks.accept({ ...base, text: "6" });
    await started;
    await until(() => tier.held === 1);
    tier.release();
    await until(() => tier.prompts.length === 7 && kernel.tasks.running().length === 0);
    expect(tier.prompts.map((prompt) => prompt.split(" ").at(-1))).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    await kernel.stop();
  });
});

describe("what an engine says", () => {
  it("FLT-1 while others hear of it, its plugin is not to blame if that takes long", async () => {
    const blamed: Record<string, string | undefined> = {};
    const listener = feature("listener", (ctx) => {
      ctx.events.subscribe(() => {
        blamed.subscriber = blame();
      }, "task:step");
      return {
        start: async () => {
          await ctx.tasks.accept({ entry: "task", channel: "http", chat: "x", text: "early", agent: "a" });
        },
      };
    });
    const { kernel, message } = await runKernel({ inline: [listener] });
    kernel.bus.subscribe(() => {
      blamed.kernel = blame() ?? "nobody";
    }, "task:step");
    await kernel.tasks.run(message("tool read"), ({ type }) => {
      blamed[type] = blame() ?? "nobody";
    });
    expect(blamed).toMatchObject({ kernel: "nobody", text: "nobody", step: "nobody", usage: "nobody", subscriber: expect.stringContaining("listener") });
  });
});
