import { createHmac } from "node:crypto";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Plugin, svcError, type WorkflowStart } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import type { DeliveryRow } from "../../plugins/features/webhooks/delivery-log.ts";
import webhooks from "../../plugins/features/webhooks/index.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const SECRET = "the-secret-of-the-shop";
const env = { ...process.env, SHOP_SECRET: SECRET };
const ENTRY = {
  id: "shop",
  source: "shop",
  agentId: "a",
  secretEnv: "SHOP_SECRET",
  triggers: { order: "on-order", broken: "broken" },
  defaultWorkflow: "other",
};
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

/** What runs workflows, as far as a start goes: one run a workflow and start key, kept while the test lives. */
function workflows() {
  const started: ({ readonly id: string; readonly runId: string } & WorkflowStart)[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "flows",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      ctx.provide.service("workflows", {
        async start(id: string, start: WorkflowStart) {
          if (id === "broken") throw svcError("SVC_WORKFLOW_BROKEN", "The workflow 'broken' has no trigger.", { status: 422 });
          if ((start.input?.["count"] ?? 1) !== 1) throw svcError("SVC_WORKFLOW_INPUT", "count must be 1", { status: 400, field: "count" });
          const before = started.find((one) => one.id === id && one.startKey === start.startKey);
          if (before === undefined) started.push({ ...start, id, runId: `run_${started.length + 1}` });
          const { runId } = before ?? (started.at(-1) as { runId: string });
          return { runId, workflowId: id, status: "running", hash: "h", ...(before === undefined ? {} : { duplicate: true }) };
        },
      } as never);
    },
  }) as unknown as Plugin<never>;
  return { plugin, started };
}

const run = (inline: readonly Plugin<never>[], entry: object = {}, options: object = {}) =>
  runKernel({ inline: [webhooks as unknown as Plugin<never>, ...inline], listen: true, env, config: { webhooks: [{ ...ENTRY, ...entry }] }, ...options });

async function send(kernel: Kernel, body: string | Buffer<ArrayBuffer>, headers: Record<string, string> = {}) {
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  const response = await fetch(`${baseOf(kernel)}/webhook/a/shop`, { method: "POST", body, headers: { "x-forge-signature-256": signature, ...headers } });
  return { status: response.status, ...((await response.json()) as { taskId?: string; runId?: string; duplicate?: true; code?: string; error?: string }) };
}
const json = { "content-type": "application/json" };

async function replay(kernel: Kernel, delivery: string, webhook?: string) {
  const response = await fetch(`${baseOf(kernel)}/webhooks/replay`, { method: "POST", headers: json, body: JSON.stringify({ delivery, webhook }) });
  return { status: response.status, ...((await response.json()) as { taskId?: string; runId?: string; code?: string }) };
}
const rows = async (kernel: Kernel) => ((await (await fetch(`${baseOf(kernel)}/webhooks/shop/deliveries`)).json()) as { deliveries: DeliveryRow[] }).deliveries;

describe("webhooks that start workflows", () => {
  it("HOOK-05 the event's trigger first, then the default workflow, each once a delivery, and the agent where there is neither", async () => {
    const { plugin, started } = workflows();
    const { kernel, tier } = await run([plugin]);
    expect(await send(kernel, '{"type":"order","items":[1]}', { ...json, "x-delivery-id": "d1" })).toMatchObject({ status: 202, runId: "run_1" });
    expect(await send(kernel, '{"type":"order","items":[1]}', { ...json, "x-delivery-id": "d1" })).toMatchObject({
      status: 200,
      runId: "run_1",
      duplicate: true,
    });
    expect(await send(kernel, '{"type":"constructor"}', { ...json, "x-delivery-id": "d2" })).toMatchObject({ status: 202, runId: "run_2" });
    expect(await send(kernel, "[1,2]", { ...json, "x-delivery-id": "d3", "x-event-type": "order" })).toMatchObject({ status: 202, runId: "run_3" });
    expect(await send(kernel, "a=1&webhook=mine", { "content-type": "application/x-www-form-urlencoded", "x-delivery-id": "d4" })).toMatchObject({
      runId: "run_4",
    });
    expect(started).toEqual([
      {
        id: "on-order",
        runId: "run_1",
        input: { type: "order", items: [1], webhook: { id: "shop", source: "shop", delivery: "id:d1", event: "order" } },
        startKey: "shop:id:d1",
        entry: { kind: "webhook", ref: "shop shop:id:d1" },
      },
      expect.objectContaining({ id: "other", input: { type: "constructor", webhook: expect.anything() } }),
      expect.objectContaining({ id: "on-order", input: { body: [1, 2], webhook: expect.objectContaining({ event: "order" }) } }),
      // What the sender calls `webhook` does not stand for what is known.
      expect.objectContaining({ id: "other", input: { a: "1", webhook: { id: "shop", source: "shop", delivery: "id:d4" } } }),
    ]);
    expect(tier.prompts).toEqual([]);
    expect((await rows(kernel)).map(({ state, workflow, runId }) => `${state} ${workflow} ${runId}`)).toContain("duplicate on-order run_1");
    const plain = await run([plugin], { triggers: { order: "on-order" }, defaultWorkflow: undefined });
    expect((await send(plain.kernel, '{"type":"else"}', json)).taskId).toMatch(/^task_/);
    await until(() => expect(plain.tier.prompts.join()).toContain('"else"'));
  });

  it("HOOK-05 a workflow that is broken or wants another input is refused by name, and its delivery can be replayed once that is mended", async () => {
    const { plugin, started } = workflows();
    const folder = await temporaryFolder();
    const options = { file: `${folder}/svc.json`, dataFolder: `${folder}/.svc` };
    const { kernel } = await run([plugin], {}, options);
    const refused = await send(kernel, '{"type":"broken", "n": 1}', { ...json, "x-delivery-id": "b1" });
    expect(refused).toMatchObject({
      status: 422,
      code: "SVC_WEBHOOK_WORKFLOW",
      error: expect.stringMatching(/'broken' has no trigger.*svc webhook replay id:b1/),
    });
    expect(await send(kernel, '{"type":"order","count":2}', json)).toMatchObject({ status: 400, code: "SVC_WORKFLOW_INPUT" });
    expect(await send(kernel, "{", { ...json, "x-delivery-id": "b2" })).toMatchObject({ status: 400, code: "SVC_WEBHOOK_BODY" });
    await kernel.stop({ drainSeconds: 0 });
    // The next daemon, with another trigger: the body is still there.
    const mended = await run([plugin], { triggers: { broken: "on-order" } }, options);
    expect(await replay(mended.kernel, "id:b1")).toMatchObject({ status: 202, runId: "run_1" });
    expect(started[0]?.input).toEqual({
      type: "broken",
      n: 1,
      webhook: { id: "shop", source: "shop", delivery: expect.stringMatching(/^id:replay-/), event: "broken", replayOf: "id:b1" },
    });
    expect(await replay(mended.kernel, "id:b2")).toMatchObject({ status: 400, code: "SVC_WEBHOOK_BODY" });
    expect((await rows(mended.kernel))[1]).toMatchObject({ state: "accepted", replayOf: "id:b1", workflow: "on-order" });
  });
});

describe("svc webhook replay", () => {
  const BODIES: readonly (readonly [name: string, body: string | Buffer<ArrayBuffer>, type: string])[] = [
    ["JSON, to the character", '{ "a":1,  "a":2, "n" : "é" }', "application/json"],
    ["a form", "name=a+b&note=%C3%A9", "application/x-www-form-urlencoded"],
    ["longer than an agent is shown", "😀".repeat(40_000), "text/plain"],
    ["bytes", Buffer.from([0, 255, 1]), "application/octet-stream"],
    ["nothing", "", "text/plain"],
  ];

  it.each(BODIES)("a delivery of %s is worked on again as it came, as a new one that says so", async (_, body, type) => {
    const { kernel, tier } = await run([], { triggers: undefined, defaultWorkflow: undefined, description: "Look at it." });
    const headers = { "content-type": type, "x-event-type": "note", "x-delivery-id": "r1" };
    expect((await send(kernel, body, headers)).status).toBe(202);
    const again = await replay(kernel, "id:r1", "shop");
    expect(again.status).toBe(202);
    await until(() => expect(tier.prompts).toHaveLength(2));
    const [first = "", second = ""] = tier.prompts;
    expect(second).toMatch(/^A webhook of 'shop' came in, event 'note'\. The operator has it worked on again: it first came in at \d{4}-/);
    const rest = (prompt: string) => prompt.slice(prompt.indexOf("Look at it."));
    // Without its header the type of bytes and of an empty body is not told.
    expect(rest(second)).toBe(rest(first));
    expect((await rows(kernel))[0]).toMatchObject({ state: "accepted", replayOf: "id:r1", taskId: again.taskId, event: "note" });
  });

  it("names a delivery that is not there, and one whose entry is gone or off; strangers cannot replay", async () => {
    const { kernel } = await run([], { triggers: undefined, defaultWorkflow: undefined });
    await send(kernel, "x", { "x-delivery-id": "r1" });
    expect(await replay(kernel, "id:none")).toMatchObject({ status: 404, code: "SVC_WEBHOOK_DELIVERY" });
    expect(await replay(kernel, "id:r1", "other")).toMatchObject({ status: 404, code: "SVC_WEBHOOK_DELIVERY" });
    const far = await fetch(`${baseOf(kernel)}/webhooks/replay`, {
      method: "POST",
      body: '{"delivery":"id:r1"}',
      headers: { ...json, "x-forwarded-for": "203.0.113.9" },
    });
    expect(far.status).toBe(403);
  });

  it("keeps 200 bodies that stand nowhere else, the newest ones", async () => {
    const { kernel } = await run([], { triggers: undefined, defaultWorkflow: undefined });
    for (let at = 0; at < 205; at += 1) expect((await send(kernel, "{", { ...json, "x-delivery-id": `k${at}` })).status).toBe(400);
    expect(await replay(kernel, "id:k4")).toMatchObject({ status: 410, code: "SVC_WEBHOOK_GONE" });
    expect(await replay(kernel, "id:k204")).toMatchObject({ status: 400, code: "SVC_WEBHOOK_BODY" });
  });
});
