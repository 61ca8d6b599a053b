import { definePlugin, type Inbound, type Plugin, type PluginContext } from "@svc/sdk";
import { expect, it } from "vitest";
import { runKernel } from "../kit/kernel.ts";

/** Runs a kernel with a plugin that has tapped `inbound`, and hands its context out. */
async function withPlugin(tap: (message: Inbound) => void = () => {}) {
  let ctx: PluginContext | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "writer",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions", "agents", "events"],
    setup(given) {
      ctx = given as unknown as PluginContext;
      given.hooks.inbound.tap((message) => tap(message) as undefined);
      given.provide.action({
        name: "writer.note",
        description: "Notes something.",
        input: { type: "object", properties: { text: { type: "string" } } },
        output: { type: "object" },
        timeoutMs: 1_000,
        run: async () => ({}),
      });
    },
  }) as unknown as Plugin<never>;
  const running = await runKernel({ inline: [plugin] });
  return { ...running, ctx: ctx as unknown as PluginContext };
}

it("TRC-01 a tap that writes to the message and fails has changed neither the run nor the record", async () => {
  const { kernel, tier, message } = await withPlugin((given) => {
    Object.assign(given, { text: "something else" });
  });
  const { taskId } = await kernel.tasks.run(message("as it was written"));
  expect(tier.prompts.at(-1)).toContain("as it was written");
  expect((await kernel.traces.get(taskId))?.message).toBe("as it was written");
});

it("EVT-01 agents, schemas of actions and events are the same for everybody, and nobody can change them", async () => {
  const { kernel, ctx } = await withPlugin();
  const data = { deep: { a: 1 } };
  ctx.events.publish({ kind: "signal", type: "test", summary: "a test", data });
  const [agent] = ctx.agents.list();
  const action = ctx.actions.list().find(({ name }) => name === "writer.note");
  const event = ctx.events.recent().events.at(-1);
  const writes: (() => void)[] = [
    () => Object.assign(agent as object, { tier: "another" }),
    () => (ctx.agents.list() as unknown[]).pop(),
    () => Object.assign(action?.input as object, { properties: {} }),
    () => Reflect.deleteProperty(action?.input["properties"] as object, "text") || expect.fail("deleted"),
    () => Object.assign(event as object, { id: "mine" }),
    () => Object.assign(event?.data?.["deep"] as object, { a: 2 }),
  ];
  for (const write of writes) expect(write).toThrow();
  expect(kernel.agents.list()).toMatchObject([{ id: "a", tier: "scripted" }]);
  expect(kernel.bus.recent().events.at(-1)).toMatchObject({ summary: "a test", data: { deep: { a: 1 } } });
});
