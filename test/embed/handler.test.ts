import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createKernel, type Kernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import express from "express";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";

const parrot = definePlugin({
  kind: "tier",
  name: "parrot",
  version: "1.0.0",
  svc: ">=0.1.0",
  capabilities: ["routes"],
  setup(ctx) {
    ctx.provide.tier({
      name: "parrot",
      async *run(_turn, context) {
        for (const word of context.prompt.split(/(?<= )/)) yield { type: "text", text: word };
        yield { type: "done" };
      },
    });
    ctx.provide.route({ method: "POST", path: "/echo", guard: "loopback", handle: async ({ body }) => ({ body }) });
    ctx.provide.route({
      method: "GET",
      path: "/broken",
      guard: "loopback",
      async handle() {
        throw new Error("it went wrong");
      },
    });
  },
});
const config = { node: { id: "host-app", name: "Host app" }, agents: { polly: { name: "Polly", workspace: "./nowhere", tier: "parrot" } } };

const open: { kernel: Kernel; server: Server }[] = [];
afterEach(async () => {
  for (const { kernel, server } of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await kernel.stop();
  }
});

type Host = (handler: Awaited<ReturnType<Kernel["handler"]>>) => Parameters<typeof createServer>[1];
const HOSTS: Readonly<Record<string, Host>> = {
  "node:http": (handler) => (request, response) => {
    if (request.url === "/own") return void response.end("mine");
    request.url = request.url?.replace(/^\/svc/, "") ?? "/";
    handler(request, response);
  },
  Express(handler) {
    const app = express();
    app.get("/own", (_request, response) => void response.send("mine"));
    app.use("/svc", handler);
    app.use(express.json());
    return app;
  },
  Koa(handler) {
    const app = new Koa();
    app.use(async (ctx, next) => {
      if (!ctx.path.startsWith("/svc/")) return next();
      ctx.url = ctx.url.slice("/svc".length);
      ctx.respond = false;
      handler(ctx.req, ctx.res);
    });
    app.use((ctx) => {
      ctx.body = "mine";
    });
    return app.callback();
  },
};

async function serve(name: string, host: Host = HOSTS[name] as Host): Promise<string> {
  const kernel = await createKernel({ config, plugins: [parrot] });
  await kernel.start();
  const server = createServer(host(await kernel.handler()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ kernel, server });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const json = (body: unknown, headers = {}) => ({ method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });

describe.each(Object.keys(HOSTS))("AUT-4 the kernel's handler in %s", (name) => {
  it("AUT-4 serves routes with their own status, beside the application's own", async () => {
    const base = await serve(name);
    expect(await (await fetch(`${base}/own`)).text()).toBe("mine");
    const health = await fetch(`${base}/svc/health`);
    expect([health.status, await health.json()]).toMatchObject([200, { ok: true }]);
    const echoed = await fetch(`${base}/svc/echo`, json({ a: [1] }));
    expect([echoed.status, await echoed.json()]).toEqual([200, { body: { a: [1] } }]);
    expect((await fetch(`${base}/svc/nowhere`)).status).toBe(404);
    const broken = await fetch(`${base}/svc/broken`);
    expect([broken.status, await broken.json()]).toMatchObject([500, { code: "SVC_HTTP_INTERNAL" }]);
  });

  it("AUT-4 streams events", async () => {
    const base = await serve(name);
    const answer = await fetch(`${base}/svc/task`, json({ agent: "polly", message: "pieces of eight" }, { accept: "text/event-stream" }));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const text = await answer.text();
    expect(text).toContain("event: text");
    expect(text).toMatch(/event: done[\s\S]*pieces of eight/);
  });

  it("AUT-4 keeps the rules of admission", async () => {
    const base = await serve(name);
    const asked = await fetch(`${base}/svc/health`, { headers: { origin: "https://evil.example" } });
    expect([asked.status, await asked.json()]).toMatchObject([403, { code: "SVC_HTTP_ORIGIN" }]);
    const passedOn = await fetch(`${base}/svc/echo`, json({}, { "x-forwarded-for": "203.0.113.9" }));
    expect(passedOn.status).toBe(403);
  });
});

it("AUT-4 says so when the application's own parser has read the body already", async () => {
  const base = await serve("Express", (handler) => {
    const app = express();
    app.use(express.json());
    app.use("/svc", handler);
    return app;
  });
  const answer = await fetch(`${base}/svc/echo`, json({ a: 1 }));
  expect([answer.status, await answer.json()]).toMatchObject([500, { code: "SVC_HTTP_BODY_READ" }]);
});

it("AUT-4 names a server that nobody provides", async () => {
  const kernel = await createKernel({ config, plugins: [parrot] });
  await expect(kernel.handler("nowhere")).rejects.toMatchObject({ code: "SVC_SERVER_UNKNOWN" });
});
