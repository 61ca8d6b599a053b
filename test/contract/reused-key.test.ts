import { definePlugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";

const agents = Object.fromEntries(["a", "b"].map((id) => [id, { name: "Agent", workspace: "./w", tier: "scripted" }]));
const start = (dataFolder: string) => runKernel({ dataFolder, listen: true, config: { agents } });

it("FAULT-38 a key with another request is refused, waiting or streaming and over a restart, and a retry gets its answer", async () => {
  const folder = await temporaryFolder();
  const before = await start(folder);
  const keyed = { "idempotency-key": "k1" };
  const first = { agent: "b", message: "once", timeoutMinutes: 5 };
  const others = [
    { ...first, message: "different" },
    { ...first, agent: "a" },
    { ...first, timeoutMinutes: 6 },
    { ...first, freshSession: true },
    { ...first, context: { chatId: "another" } },
    { ...first, context: { sender: "ann" } },
  ];
  const { taskId } = (await post(baseOf(before.kernel), "/task", first, keyed)).body;
  const check = async ({ kernel, tier }: typeof before, prompts: readonly string[]) => {
    for (const other of others)
      for (const accept of ["application/json", "text/event-stream"]) {
        const refused = await post(baseOf(kernel), "/task", other, { ...keyed, accept });
        expect(refused).toMatchObject({ status: 422, body: { code: "SVC_TASK_KEY_REUSED", error: expect.stringContaining(`as task ${taskId};`) } });
      }
    const again = { context: { chatId: "default", channel: "http" }, timeoutMinutes: 5, message: "once", agent: "b" };
    expect((await post(baseOf(kernel), "/task", again, keyed)).body).toMatchObject({ ok: true, taskId, reply: "once", duplicate: true });
    expect(tier.prompts).toEqual(prompts);
  };
  await check(before, ["once"]);
  await before.kernel.stop({ drainSeconds: 0 });
  await check(await start(folder), []);
});

it("FAULT-38 a retry of a message that was dropped is not told that it was done", async () => {
  const gate = definePlugin({
    kind: "feature",
    name: "gate",
    version: "0.0.1",
    svc: "^0.1.0",
    capabilities: [],
    setup: (ctx) => ctx.hooks.inbound.tap(() => ({ reject: "closed" })),
  });
  const { kernel } = await runKernel({ listen: true, config: { agents }, inline: [gate] });
  const asked = () => post(baseOf(kernel), "/task", { agent: "b", message: "once" }, { "idempotency-key": "k1" });
  const first = (await asked()).body;
  expect(first).toMatchObject({ ok: false, status: "error", errorKind: "dropped" });
  expect((await asked()).body).toMatchObject({ ok: false, status: "error", taskId: first["taskId"], duplicate: true });
});
