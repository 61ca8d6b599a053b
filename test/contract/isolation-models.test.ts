import type { Plugin, TaskEvent } from "@svc/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import models from "../../plugins/features/models/index.ts";
import { runIsolated } from "../faults/isolation.harness.ts";
import { type ModelServer, startModelServer } from "../peers/model-server.ts";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  expect(server.refusals).toEqual([]);
  await server.close();
});

/** A tier of somebody else's: it has the model of its agent answer, and sees neither address nor key. */
const tier = {
  name: "third",
  kind: "tier",
  capabilities: ["models"],
  setup: `ctx.provide.tier({
    name: "third",
    async *run(turn, context, signal) {
      yield { type: "thinking", text: JSON.stringify(turn.agent.settings) + JSON.stringify(ctx.config) };
      for await (const event of ctx.models.stream({ agent: turn.agent.id, messages: [{ role: "user", text: context.prompt }], signal }))
        yield event.type === "end" ? { type: "done" } : event;
    },
    probe: (agent) => ctx.models.usable(agent.id),
  });`,
};
const run = () =>
  runIsolated([tier], {
    inline: [models as unknown as Plugin<never>],
    agent: { tier: "third", provider: "mine", model: "fake-1" },
    config: { providers: { mine: { api: "anthropic", endpoint: server.url, apiKey: "sk-not-to-be-seen" } } },
  });

it("AUT-A5 a third-party tier in a process of its own streams through ctx.models, and sees no key", async () => {
  const { kernel, message } = await run();
  const heard: TaskEvent[] = [];
  const result = await kernel.tasks.run(message("one two three four"), (event) => heard.push(event));
  expect(result).toMatchObject({ ok: true, reply: "ECHO: one two three four", model: "fake-1" });
  expect(result.usage?.input).toBeGreaterThan(0);
  expect(heard.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
  expect(JSON.stringify(heard)).not.toContain("sk-not-to-be-seen");
  expect(server.requests[0]?.key).toBe("sk-not-to-be-seen");
  expect(await kernel.tasks.run(message("FAIL:400"))).toMatchObject({ ok: false, errorKind: "request" });
});

it("AUT-A5 a cancel reaches the vendor through the process of the plugin", async () => {
  const { kernel, message } = await run();
  for (const prompt of ["HANG", "MUTE", "SLOW:100 one two three four five six seven"]) {
    let timer: NodeJS.Timeout | undefined;
    const result = await kernel.tasks.run(message(prompt), (event) => {
      if (event.type === (prompt.startsWith("SLOW") ? "text" : "started"))
        timer ??= setTimeout(() => void kernel.tasks.cancel(kernel.tasks.running()[0]?.id ?? ""), 300);
    });
    clearTimeout(timer);
    expect(result).toMatchObject({ ok: false, errorKind: "cancelled" });
    await expect.poll(() => server.open).toBe(0);
  }
});
