import { definePlugin, type Plugin, type Route, type TierEvent } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { runKernel } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { feature, keeping, until } from "./races.harness.ts";

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
    const assembled: (() => void)[] = [];
    const slow = feature("slow", (ctx) => {
      ctx.hooks.assembleContext.tap((context) => new Promise((resolve) => assembled.push(() => resolve(context))), { step: "slow" });
      ctx.hooks.dispatch.tap(() => {
        asked += 1;
      });
    });
    const { kernel, message } = await runKernel({ inline: [slow] });
    const run = kernel.tasks.run(message("hello"));
    await until(() => assembled.length === 1);
    await kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    expect(await run).toMatchObject({ errorKind: "cancelled" });
    assembled.pop()?.();
    // The next message goes the whole way behind it.
    const next = kernel.tasks.run(message("again"));
    await until(() => assembled.length === 1);
    assembled.pop()?.();
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
