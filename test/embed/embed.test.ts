import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import { fastify } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const parrot = definePlugin({
  kind: "tier",
  name: "parrot",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "parrot",
      async *run(_turn, context) {
        for (const word of context.prompt.split(/(?<= )/)) yield { type: "text", text: word };
        yield { type: "done" };
      },
    });
  },
});

const config = { node: { id: "host-app", name: "Host app" }, agents: { polly: { name: "Polly", workspace: "./nowhere", tier: "parrot" } } };
let folder: string;
let before: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-embed-"));
  before = process.cwd();
  process.chdir(folder);
});
afterEach(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true });
});

describe("embedding the kernel", () => {
  it("serves its routes inside a foreign fastify app beside the app's own, and leaves no file, port or signal handler behind", async () => {
    const signals = ["SIGINT", "SIGTERM", "SIGHUP", "uncaughtException", "unhandledRejection", "exit"];
    const handlers = () => signals.map((signal) => process.listenerCount(signal));
    const handlersBefore = handlers();
    // Those of other files in this process, if any, may close meanwhile.
    const servers = () => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap" || name === "TCPSERVERWRAP").length;
    const serversBefore = servers();

    const kernel = await createKernel({ config, plugins: [parrot] });
    await kernel.start();
    expect(kernel.address).toBeUndefined();
    expect(servers()).toBeLessThanOrEqual(serversBefore);

    const app = fastify();
    app.get("/own", async () => ({ mine: true }));
    await app.register(await kernel.routesPlugin(), { prefix: "/svc" });
    const base = await app.listen({ host: "127.0.0.1", port: 0 });

    expect(await (await fetch(`${base}/own`)).json()).toEqual({ mine: true });
    const answer = await fetch(`${base}/svc/task`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ agent: "polly", message: "pieces of eight" }),
    });
    expect(await answer.json()).toMatchObject({ ok: true, reply: "pieces of eight", agent: "polly" });
    expect((await fetch(`${base}/svc/nowhere`)).status).toBe(404);

    await app.close();
    await kernel.stop();
    expect(handlers()).toEqual(handlersBefore);
    expect(await readdir(folder)).toEqual([]);
  });

  it("runs a message without any HTTP at all, and tells its listener what happens", async () => {
    const kernel = await createKernel({ config, plugins: [parrot] });
    await kernel.start();
    const heard: string[] = [];
    const result = await kernel.tasks.run({ entry: "task", channel: "host", chat: "1", text: "hello there", agent: "polly" }, (event) =>
      heard.push(event.type),
    );
    expect(result).toMatchObject({ ok: true, reply: "hello there" });
    expect(heard).toEqual(["accepted", "started", "text", "text"]);
    expect(await kernel.traces.get(result.taskId)).toMatchObject({ status: "ok", message: "hello there", response: "hello there" });
    await kernel.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("can be started again after a stop, in memory without what was before", async () => {
    const kernel = await createKernel({ config, plugins: [parrot] });
    await kernel.start();
    await kernel.tasks.run({ entry: "task", channel: "host", chat: "1", text: "hello", agent: "polly" });
    await kernel.stop();
    await kernel.start();
    expect(await kernel.traces.list()).toEqual([]);
    expect((await kernel.tasks.run({ entry: "task", channel: "host", chat: "1", text: "again", agent: "polly" })).reply).toBe("again");
    await kernel.stop();
  });
});
