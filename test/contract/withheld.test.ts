import { definePlugin, type Plugin, type Tasks } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";

/** A policy that withholds secrets, and what it does about them. */
function policy(judge: (text: string) => string | undefined, required = true): { readonly plugin: Plugin<never>; tasks(): Tasks } {
  let tasks: Tasks | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "policy",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks", "withheld"],
    setup(ctx) {
      tasks = ctx.tasks;
      ctx.hooks.deliver.tap(
        (delivery) => {
          const held = judge(delivery.text);
          return held === undefined ? delivery : { ...delivery, held };
        },
        { required },
      );
    },
  }) as Plugin<never>;
  return { plugin, tasks: () => tasks as Tasks };
}

const secret = (text: string) => (text.includes("secret") ? "needs approval" : undefined);

it("a withheld answer stands in the trace and in no result, over HTTP or inside, and a release makes it the answer", async () => {
  const { plugin, tasks } = policy(secret);
  const { kernel, message } = await runKernel({ inline: [plugin], listen: true });
  const heard: string[] = [];
  const result = await kernel.tasks.run(message("a secret answer"), (event) => heard.push(JSON.stringify(event)));
  expect(result).toMatchObject({ ok: false, status: "error", reply: "", errorKind: "held", error: "needs approval", withheld: expect.any(String) });
  expect(JSON.stringify(result)).not.toContain("secret answer");
  expect(heard.join()).not.toContain("secret answer");
  expect(await kernel.traces.get(result.taskId)).toMatchObject({ status: "error", response: "a secret answer", withheld: result.withheld });
  const asked = await post(baseOf(kernel), "/task", { agent: "a", message: "another secret" }, { "idempotency-key": "k1" });
  expect(asked.body).toMatchObject({ ok: false, reply: "", errorKind: "held", withheld: expect.any(String) });
  expect(JSON.stringify(asked.body)).not.toContain("another secret");
  expect((await tasks().withheld()).map(({ delivery, reason }) => [delivery.text, delivery.kind, reason]).sort()).toEqual([
    ["a secret answer", "reply", "needs approval"],
    ["another secret", "reply", "needs approval"],
  ]);
  expect(await tasks().release(asked.body.withheld as string)).toBe(true);
  const again = await post(baseOf(kernel), "/task", { agent: "a", message: "another secret" }, { "idempotency-key": "k1" });
  expect(again.body).toMatchObject({ ok: true, status: "ok", reply: "another secret", duplicate: true });
  expect(await tasks().refuse(result.withheld as string, "never")).toBe(true);
  const trace = await kernel.traces.get(result.taskId);
  expect(trace).toMatchObject({ status: "error", errorKind: "held", error: "The answer was refused: never" });
  expect(trace).not.toHaveProperty("withheld");
});

it("it is there after a restart, and so is the choice", async () => {
  const dataFolder = await temporaryFolder();
  const first = policy(secret);
  const { kernel, message } = await runKernel({ inline: [first.plugin], dataFolder });
  const { taskId, withheld } = await kernel.tasks.run(message("a secret"));
  await kernel.stop();
  const second = policy(secret);
  const again = await runKernel({ inline: [second.plugin], dataFolder });
  expect((await second.tasks().withheld()).map(({ delivery }) => delivery.text)).toEqual(["a secret"]);
  expect(await second.tasks().release(withheld as string)).toBe(true);
  const trace = await again.kernel.traces.get(taskId);
  expect(trace).toMatchObject({ status: "ok", response: "a secret" });
  expect(trace).not.toHaveProperty("errorKind");
});

it("what a failing required tap has not judged goes only once it has let it pass", async () => {
  let away = true;
  let found: string | undefined = "still no";
  const { plugin, tasks } = policy(() => {
    if (away) throw new Error("list away");
    return found;
  });
  const { kernel, message } = await runKernel({ inline: [plugin] });
  const { taskId, withheld } = await kernel.tasks.run(message("words"));
  const id = withheld as string;
  await expect(tasks().release(id)).rejects.toMatchObject({ code: "SVC_HOOK_REQUIRED" });
  away = false;
  await expect(tasks().release(id)).rejects.toMatchObject({ code: "SVC_DELIVERY_HELD" });
  expect((await tasks().withheld()).map(({ reason }) => reason)).toEqual(["still no"]);
  found = undefined;
  // It has been judged now: the decision is the plugin's.
  expect(await tasks().release(id)).toBe(true);
  expect(await kernel.traces.get(taskId)).toMatchObject({ status: "ok", response: "words" });
});

it("collected messages are answered by one release", async () => {
  const { plugin, tasks } = policy(secret);
  const { kernel, tier, message } = await runKernel({ inline: [plugin], agent: { queueMode: "collect" } });
  const first = kernel.tasks.run(message("hold"));
  await vi.waitFor(() => expect(tier.held).toBe(1));
  const both = ["one secret", "two"].map((text) => kernel.tasks.run(message(text)));
  await vi.waitFor(() => expect(kernel.tasks.queued()).toHaveLength(2));
  tier.release();
  await first;
  const [lead, merged] = await Promise.all(both);
  expect(merged).toMatchObject({ errorKind: "held", withheld: lead?.withheld });
  await tasks().release(lead?.withheld as string);
  for (const result of [lead, merged])
    expect(await kernel.traces.get(result?.taskId as string)).toMatchObject({ status: "ok", response: expect.stringContaining("one secret") });
});

it("a plugin that does not declare the permission `withheld` neither sees nor decides what is withheld, over no way", async () => {
  const { plugin, tasks } = policy(secret);
  let other: Tasks | undefined;
  const curious = definePlugin({
    kind: "feature",
    name: "curious",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      other = ctx.tasks;
    },
  }) as Plugin<never>;
  const { kernel, message } = await runKernel({ inline: [plugin, curious] });
  const { withheld } = await kernel.tasks.run(message("a secret"));
  const id = withheld as string;
  const { withheld: list, release, refuse } = other as Tasks;
  for (const ask of [() => list(), () => release(id), () => refuse(id, "never")])
    await expect(ask()).rejects.toMatchObject({
      code: "SVC_CAPABILITY_UNDECLARED",
      message: expect.stringMatching(/feature-curious uses 'withheld'.*manifest/),
    });
  expect((await tasks().withheld()).map(({ delivery }) => delivery.id)).toEqual([id]);
  expect(await tasks().release(id)).toBe(true);
  expect((await (other as Tasks).run(message("hello"))).reply).toBe("hello");
});
