import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Plugin, type Tasks } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import mesh from "../../plugins/features/mesh/index.ts";
import webhooks from "../../plugins/features/webhooks/index.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const SECRET = "the-secret-of-the-builds";
const TOKEN = "the-token-that-both-nodes-hold";
const env = { ...process.env, CI_SECRET: SECRET };
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });
const inline = [mesh, webhooks] as unknown as Plugin<never>[];

/** The node that has the agent `far`. */
const startFar = (options: object = {}) =>
  runKernel({
    inline: [mesh as unknown as Plugin<never>],
    listen: true,
    config: {
      agents: { far: { name: "Far", workspace: "./w", tier: "scripted" } },
      node: { id: "n2", name: "Two", bind: "127.0.0.1:0" },
      mesh: { enabled: true, feed: { enabled: false }, peers: [{ name: "n1", url: "http://127.0.0.1:1", token: TOKEN }] },
    },
    ...options,
  });

/** The node that other systems post to. */
const startNear = (url: string, options: object = {}, entry: object = {}, token = TOKEN) =>
  runKernel({
    inline,
    listen: true,
    env,
    config: {
      mesh: { enabled: true, feed: { enabled: false }, peers: [{ name: "n2", url, token }] },
      webhooks: [{ id: "builds", source: "ci", agentId: "far", secretEnv: "CI_SECRET", node: "n2", triggers: { build: "a-workflow" }, ...entry }],
    },
    ...options,
  });

async function send(kernel: Kernel, body: string, delivery = "d1", agent = "far") {
  const response = await fetch(`${baseOf(kernel)}/webhook/${agent}/ci`, {
    method: "POST",
    body,
    headers: { "x-delivery-id": delivery, "x-forge-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}` },
  });
  return { status: response.status, ...((await response.json()) as { taskId: string; code?: string; error?: string; duplicate?: true }) };
}

/** Stands between the nodes and can cut what goes through; a token of another machine is asked for, as for every caller from outside. */
async function wire(target: () => string) {
  const seen: { readonly path: string; readonly key: string | undefined }[] = [];
  let cut: "before" | "after" | undefined;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    seen.push({ path: request.url ?? "", key: request.headers["idempotency-key"] as string | undefined });
    if (cut === "before") return void request.socket.destroy();
    const { authorization = "", "idempotency-key": key = "" } = request.headers as Record<string, string>;
    const answer = await fetch(target() + request.url, {
      method: request.method ?? "POST",
      body,
      headers: { authorization, "idempotency-key": key, accept: "application/json", "content-type": "application/json", "x-forwarded-for": "203.0.113.7" },
    });
    const text = await answer.text();
    if (cut === "after") {
      cut = undefined;
      request.socket.destroy();
    } else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    cut: (how: typeof cut) => {
      cut = how;
    },
    close: () => void server.close().closeAllConnections(),
  };
}

it("HOOK-05 a delivery of an entry with node is worked on by that node's agent, before any workflow, and its answer is the task's", async () => {
  const far = await startFar();
  const { kernel, tier } = await startNear(baseOf(far.kernel));
  const { status, taskId } = await send(kernel, '{"type":"build"}');
  expect(status).toBe(202);
  expect(await kernel.tasks.result(taskId)).toMatchObject({
    ok: true,
    agent: "far",
    reply: expect.stringContaining("A webhook of 'ci' came in, event 'build'."),
  });
  expect(far.tier.prompts).toHaveLength(1);
  expect(tier.prompts).toEqual([]);
  expect(await kernel.traces.get(taskId)).toMatchObject({ node: "n2", agent: "far", status: "ok" });
  expect(await send(kernel, '{"type":"build"}')).toMatchObject({ status: 200, duplicate: true, taskId });
  expect(far.tier.prompts).toHaveLength(1);
});

it("a node that no plugin reaches is refused by name, and one that refuses us fails the task with its reason", async () => {
  const far = await startFar();
  const { kernel } = await startNear(baseOf(far.kernel), {}, { node: "n3" });
  expect(await send(kernel, "x")).toMatchObject({ status: 501, code: "SVC_WEBHOOK_NODE", error: expect.stringMatching(/'n3'.*mesh\.peers/) });
  const alone = await runKernel({
    inline: [webhooks as unknown as Plugin<never>],
    listen: true,
    env,
    config: { webhooks: [{ id: "builds", source: "ci", agentId: "far", secretEnv: "CI_SECRET", node: "n2" }] },
  });
  expect(await send(alone.kernel, "x")).toMatchObject({ status: 501, code: "SVC_WEBHOOK_NODE" });
  const between = await wire(() => baseOf(far.kernel));
  const wrong = await startNear(between.url, {}, {}, "another-token");
  const { taskId } = await send(wrong.kernel, "x");
  expect(await wrong.kernel.tasks.result(taskId)).toMatchObject({
    ok: false,
    error: expect.stringContaining("Node n2 does not know the token of this daemon (401)"),
  });
  const unknown = await startNear(baseOf(far.kernel), {}, { agentId: "nobody" });
  expect(await unknown.kernel.tasks.result((await send(unknown.kernel, "x", "d1", "nobody")).taskId)).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^Node n2 refused it with 404: There is no agent 'nobody'/),
  });
  between.close();
});

it("FAULT-38 a cut wire, a lost answer and a restart here have the node work once", { timeout: 90_000 }, async () => {
  const far = await startFar();
  const between = await wire(() => baseOf(far.kernel));
  const folder = await temporaryFolder();
  const options = { file: join(folder, "svc.json"), dataFolder: join(folder, ".svc") };
  const near = await startNear(between.url, options);
  between.cut("after");
  const first = await send(near.kernel, "lost answer", "d1");
  expect(await near.kernel.tasks.result(first.taskId)).toMatchObject({ ok: true, reply: expect.stringContaining("lost answer") });
  between.cut("before");
  const second = await send(near.kernel, "over a restart", "d2");
  await until(() => expect(between.seen.filter(({ key }) => key === second.taskId).length).toBeGreaterThan(0));
  await near.kernel.stop({ drainSeconds: 0 });
  between.cut(undefined);
  const next = await startNear(between.url, options);
  expect(await next.kernel.tasks.result(second.taskId)).toMatchObject({ ok: true, reply: expect.stringContaining("over a restart") });
  expect(far.tier.prompts.map((prompt) => prompt.split("\n").at(-1))).toEqual(["lost answer", "over a restart"]);
  expect(new Set(between.seen.map(({ path, key }) => `${path} ${key}`))).toEqual(new Set([`/mesh/task ${first.taskId}`, `/mesh/task ${second.taskId}`]));
  between.close();
});

it("the agent on another node is told of the files that came with a message, also where there are no words", async () => {
  const far = await startFar();
  let tasks: Tasks | undefined;
  const photos = definePlugin({
    kind: "feature",
    name: "photos",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      tasks = ctx.tasks;
      ctx.hooks.route.tap(({ channel, chat }) =>
        channel === "photos" ? { agent: "far", node: "n2", conversation: `photos/${chat}`, reply: { channel: "http", chat } } : undefined,
      );
    },
  }) as Plugin<never>;
  await startNear(baseOf(far.kernel), { inline: [...inline, photos] });
  const say = (text: string, ...names: readonly string[]) => {
    const media = names.map((name) => ({ kind: "image" as const, name, data: new Uint8Array([1]) }));
    return (tasks as Tasks).run({ entry: "task", channel: "photos", chat: "c", text, media });
  };
  expect(await say("Which bird is it?", "a\nbird.jpg", "nest.jpg")).toMatchObject({ ok: true });
  expect(await say("", "cat.jpg")).toMatchObject({ ok: true });
  const told = (name: string) => `(${name} (image) came with this; it stays on node n1.)`;
  expect(far.tier.prompts).toEqual([`Which bird is it?\n\n${told("a bird.jpg")}\n\n${told("nest.jpg")}`, told("cat.jpg")]);
});

it("a turn on another node holds no slot: others are worked on meanwhile, and it can be cancelled", async () => {
  const far = await startFar();
  const between = await wire(() => baseOf(far.kernel));
  between.cut("before");
  const { kernel, tier, message } = await startNear(between.url, { agent: { maxConcurrent: 1 } });
  const { taskId } = await send(kernel, "x");
  await until(() => expect(kernel.tasks.running()).toMatchObject([{ id: taskId, step: "waiting", node: "n2" }]));
  expect((await kernel.tasks.run(message("here"))).reply).toBe("here");
  expect(tier.prompts).toEqual(["here"]);
  expect((await fetch(`${baseOf(kernel)}/api/tasks/${taskId}/cancel`, { method: "POST" })).status).toBe(200);
  expect(await kernel.tasks.result(taskId)).toMatchObject({ errorKind: "cancelled" });
  between.close();
});
