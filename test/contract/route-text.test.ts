import { definePlugin, type Plugin, type Route } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { runIsolated } from "../faults/isolation.harness.ts";
import { runKernel } from "../kit/kernel.ts";

const router = (text: unknown) =>
  definePlugin({
    kind: "feature",
    name: "router",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      ctx.hooks.route.tap(({ channel, chat }) => ({ agent: "a", conversation: "c", reply: { channel, chat }, text }) as Route);
    },
  }) as unknown as Plugin<never>;

describe("a route with a text", () => {
  it("is what the agent is asked; the stored task keeps the message", async () => {
    const { kernel, tier, message } = await runKernel({ inline: [router("the fixed words")] });
    const { taskId } = await kernel.tasks.run(message("what was written"));
    expect(tier.prompts).toEqual(["the fixed words"]);
    expect(tier.turns[0]?.turn.messages).toMatchObject([{ id: taskId, text: "the fixed words" }]);
    expect(await kernel.traces.get(taskId)).toMatchObject({ message: "what was written", response: "the fixed words" });
  });

  it.each(["", 7, null])("is passed over when it is no text: %j", async (text) => {
    const { kernel, tier, message } = await runKernel({ inline: [router(text)] });
    expect(await kernel.tasks.run(message("what was written"))).toMatchObject({ ok: true });
    expect(tier.prompts).toEqual(["what was written"]);
  });

  it("comes from an isolated plugin, too", async () => {
    const { kernel, tier, message } = await runIsolated([
      {
        name: "router",
        setup: `ctx.hooks.route.tap(({ channel, chat }) => ({ agent: "a", conversation: "c", reply: { channel, chat }, text: "the fixed words" }));`,
      },
    ]);
    expect(await kernel.tasks.run(message("what was written"))).toMatchObject({ ok: true, reply: "the fixed words" });
    expect(tier.prompts).toEqual(["the fixed words"]);
  });
});
