import { definePlugin, type Plugin, type Turn, type TurnContext, type TurnEnd } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { runIsolated } from "../faults/isolation.harness.ts";
import { runKernel } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

/** A feature whose tap of `assembleContext` is given, before the context goes on as it came. */
const tapped = (assemble: (turn: Turn, context: TurnContext) => unknown, hooks: (ctx: Parameters<Plugin<never>["setup"]>[0]) => void = () => {}) =>
  definePlugin({
    kind: "feature",
    name: "watcher",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["traces"],
    setup(ctx) {
      hooks(ctx as never);
      ctx.hooks.assembleContext.tap(async (context, turn) => {
        await assemble(turn, context);
        return context;
      });
    },
  }) as Plugin<never>;

describe("Turn.ended", () => {
  it("resolves after the commit, with the result, the answer as it was delivered, usage and session", async () => {
    let seen: { end: TurnEnd; stored: string | undefined } | undefined;
    const feature = definePlugin({
      kind: "feature",
      name: "watcher",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: ["traces"],
      setup(ctx) {
        ctx.hooks.deliver.tap((delivery) => ({ ...delivery, text: `${delivery.text}!` }));
        ctx.hooks.assembleContext.tap((context, turn) => {
          void turn.ended.then(async (end) => {
            seen = { end, stored: (await ctx.traces.get(turn.id))?.response };
          });
          return context;
        });
      },
    }) as Plugin<never>;
    const { kernel, message } = await runKernel({ inline: [feature] });
    const result = await kernel.tasks.run(message("hello"));
    await vi.waitFor(() => expect(seen?.stored).toBe("hello!"));
    expect(seen?.end).toEqual({ result, answer: "hello!", usage: { input: 3, output: 2 }, session: "native-1", at: expect.any(Number) });
  });

  it("has no answer where the turn failed, was cancelled or is withheld, and says so in its result", async () => {
    const ends: TurnEnd[] = [];
    const feature = tapped(
      (turn) => void turn.ended.then((end) => ends.push(end)),
      (ctx) => ctx.hooks.deliver.tap((delivery) => (delivery.text === "secret" ? { ...delivery, held: "not yet" } : delivery)),
    );
    const { kernel, tier, message } = await runKernel({ inline: [feature] });
    await kernel.tasks.run(message("fail"));
    await kernel.tasks.run(message("secret"));
    const cancelled = kernel.tasks.run(message("hold"));
    await vi.waitFor(() => expect(tier.held).toBe(1));
    await kernel.tasks.cancel(kernel.tasks.running()[0]?.id as string);
    await cancelled;
    expect(ends.map(({ result, answer }) => [result.errorKind, answer])).toEqual([
      ["engine", undefined],
      ["held", undefined],
      ["cancelled", undefined],
    ]);
    expect(ends[2]?.result.reply).toBe("begun ");
  });

  it("RUN-07 what waits on it and needs no I/O has run before the next turn of the conversation is prepared", async () => {
    const order: string[] = [];
    const feature = tapped((turn, { prompt }) => {
      order.push(`prepares ${prompt}`);
      void (async () => {
        await Promise.race([turn.ended, new Promise(() => {})]);
        // However many promises hang on one another.
        for (let hop = 0; hop < 50; hop += 1) await undefined;
        await new Promise<void>((resolve) => queueMicrotask(resolve));
        order.push(`noted ${prompt}`);
      })();
    });
    const { kernel, tier, message } = await runKernel({ inline: [feature], agent: { queueMode: "followup" } });
    const first = kernel.tasks.run(message("hold"));
    await vi.waitFor(() => expect(tier.held).toBe(1));
    const rest = ["one", "two", "three"].map((text) => kernel.tasks.run(message(text)));
    await vi.waitFor(() => expect(kernel.tasks.queued()).toHaveLength(3));
    tier.release();
    await Promise.all([first, ...rest]);
    await vi.waitFor(() => expect(order).toHaveLength(8));
    expect(order).toEqual(["hold", "one", "two", "three"].flatMap((text) => [`prepares ${text}`, `noted ${text}`]));
  });

  it("a preparation that was given up for another one is told that it was replaced", async () => {
    const ends: [boolean, TurnEnd][] = [];
    const feature = tapped((turn) => void turn.ended.then((end) => ends.push([turn.afresh === true, end])));
    const session = definePlugin({
      kind: "feature",
      name: "old-session",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: [],
      setup: (ctx) => ctx.hooks.assembleContext.tap((context, turn) => (turn.afresh ? context : { ...context, session: "lost" }), { stage: 5 }),
    }) as Plugin<never>;
    const tier = scriptedTier("scripted", { nativeSessions: true });
    const { kernel, message } = await runKernel({ inline: [feature, session], tier });
    expect(await kernel.tasks.run(message("overflow"))).toMatchObject({ ok: true });
    expect(ends.map(([afresh, { replaced, result }]) => [afresh, replaced, result.ok]).sort()).toEqual([
      [false, true, true],
      [true, undefined, true],
    ]);
  });

  it("resolves for a turn that a stop interrupts", async () => {
    let end: TurnEnd | undefined;
    const feature = tapped((turn) => void turn.ended.then((given) => (end = given)));
    const { kernel, tier, message } = await runKernel({ inline: [feature] });
    const result = kernel.tasks.run(message("hold"));
    await vi.waitFor(() => expect(tier.held).toBe(1));
    await kernel.stop({ drainSeconds: 0 });
    expect(end?.result).toEqual(await result);
    expect(end?.result.errorKind).toBe("interrupted");
  });

  it("crosses to an isolated plugin, whose reactions run before it prepares the next turn", async () => {
    const { kernel, message, act } = await runIsolated([
      {
        name: "far",
        setup: `const order = [];
          ctx.hooks.assembleContext.tap((context, turn) => {
            order.push("prepares " + context.prompt);
            void (async () => {
              const { answer, session, result } = await turn.ended;
              for (let hop = 0; hop < 20; hop += 1) await undefined;
              order.push("noted " + answer + " " + session + " " + result.taskId.startsWith("task_"));
            })();
            return context;
          });
          ctx.provide.action({ name: "far.order", description: "x", input: { type: "object" }, output: {}, timeoutMs: 5000, run: async () => ({ order }) });`,
      },
    ]);
    await Promise.all(["one", "two", "three"].map((text) => kernel.tasks.run(message(text, { chat: "same", options: { intent: text } }))));
    await vi.waitFor(async () => expect(((await act("far.order")) as { order: string[] }).order).toHaveLength(6));
    const { order } = (await act("far.order")) as { order: string[] };
    expect(order).toEqual(["one", "two", "three"].flatMap((text) => [`prepares ${text}`, `noted ${text} native-1 true`]));
  });
});
