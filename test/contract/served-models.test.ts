import { join } from "node:path";
import { definePlugin, type ModelEvent, type Plugin, type PluginContext } from "@svc/sdk";
import { expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";

const MODELS = join(ROOT, "plugins/features/models");

/** A plugin that uses `ctx.models`, and its context. */
function user(): { readonly plugin: Plugin<never>; readonly ctx: () => PluginContext } {
  let kept: PluginContext | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "user",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["models"],
    setup(ctx) {
      kept = ctx;
    },
  });
  return { plugin: plugin as unknown as Plugin<never>, ctx: () => kept as PluginContext };
}

const heard = async (ctx: PluginContext): Promise<ModelEvent[]> => {
  const events: ModelEvent[] = [];
  for await (const event of ctx.models.stream({ agent: "a", messages: [{ role: "user", text: "x" }] })) events.push(event);
  return events;
};

const stateOf = (kernel: { health(): { plugins: readonly { id: string; state: string }[] } }, id: string) =>
  kernel.health().plugins.find((plugin) => plugin.id === id)?.state;

it("loads who serves the models when a plugin that runs declares them, and only then", async () => {
  const idle = await runKernel({ known: [MODELS], folder: await temporaryFolder() });
  expect(stateOf(idle.kernel, "feature-models")).toBe("known");
  const { plugin, ctx } = user();
  const used = await runKernel({ known: [MODELS], inline: [plugin], folder: await temporaryFolder() });
  expect(stateOf(used.kernel, "feature-models")).toBe("running");
  expect(await ctx().models.usable("a")).toEqual({ ok: false, detail: "No API key for provider; set providers.anthropic.apiKey" });
});

it("says who asks, and what to do, where nobody serves them", async () => {
  for (const [options, next] of [
    [{}, "add a plugin that does"],
    [{ known: [MODELS], config: { plugins: ["!feature-models"] } }, 'feature-models would: take "!feature-models" out of plugins'],
  ] as const) {
    const { plugin, ctx } = user();
    await runKernel({ ...options, inline: [plugin], folder: await temporaryFolder() });
    const message = `The plugin feature-user uses 'models', which no running plugin serves; ${next}.`;
    expect(await ctx().models.usable("a")).toEqual({ ok: false, detail: message });
    expect(await heard(ctx())).toEqual([{ type: "error", kind: "request", message }]);
    await expect(ctx().models.extract({ prompt: "x", schema: { type: "object" } })).rejects.toMatchObject({ code: "SVC_SERVICE_MISSING", message });
  }
});

it("asks whichever plugin serves them", async () => {
  const server = definePlugin({
    kind: "feature",
    name: "server",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      ctx.provide.service("models", {
        extract: async ({ prompt }) => ({ prompt }),
        async *stream() {
          yield { type: "text", text: "hello" };
        },
        usable: async (agent) => ({ ok: true, detail: agent }),
      });
    },
  });
  const { plugin, ctx } = user();
  await runKernel({ inline: [plugin, server as unknown as Plugin<never>] });
  expect(await ctx().models.usable("a")).toEqual({ ok: true, detail: "a" });
  expect(await ctx().models.extract({ prompt: "x", schema: {} })).toEqual({ prompt: "x" });
  expect(await heard(ctx())).toEqual([{ type: "text", text: "hello" }]);
});
