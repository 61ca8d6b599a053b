import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import type { HttpRoute } from "@svc/sdk";
import { fastify } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { deferred, frames, json, REMOTE, rawExchange, type Serving, serve } from "./http.harness.ts";
import { routesPlugin } from "./routes-plugin.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const echo: HttpRoute = { method: "POST", path: "/echo", guard: "peer", handle: ({ body }) => ({ body: body ?? null }) };
const post = async (path: string, init: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("slow and broken clients", () => {
  it("FAULT-49 headers or a body that do not come are 408, and the others are served meanwhile", async () => {
    server = await serve([echo], { timeouts: { headers: 700, request: 1_400, check: 50 } });
    const stuck = [
      "GET /echo HTTP/1.1\r\nHost: local",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
    ].map((text) => rawExchange(server.port, text));
    expect((await post("/echo", json({}))).status).toBe(200);
    for (const { status, body, closed } of await Promise.all(stuck)) {
      expect([status, closed]).toEqual([408, true]);
      expect(JSON.parse(body)).toMatchObject({ code: "SVC_HTTP_SLOW" });
    }
    expect((await post("/echo", json({}))).status).toBe(200);
  });

  it("answers 431 in JSON to headers that are too large", async () => {
    server = await serve([echo]);
    const { status, body } = await rawExchange(server.port, `GET /echo HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
    expect([status, JSON.parse(body).code]).toEqual([431, "SVC_HTTP_HEADERS"]);
  });

  it("outlives a client that leaves in the middle of its body", async () => {
    server = await serve([echo]);
    const socket = connect(server.port, "127.0.0.1", () =>
      socket.write("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"),
    );
    await once(socket, "connect");
    await once(server.server, "request");
    socket.destroy();
    expect((await post("/echo", json({}))).status).toBe(200);
    expect(server.log.lines.filter((line) => line.includes("a request failed"))).toEqual([]);
  });
});

it("closes at once although a connection is open on which nothing was asked yet", async () => {
  server = await serve([echo]);
  const ahead = connect(server.port, "127.0.0.1");
  await once(server.server, "connection");
  await server.close({ graceMs: 3_600_000 });
  await once(ahead, "close");
});

describe("routes that come and go", () => {
  it("are served from the moment they change, without a new listener", async () => {
    let routes: HttpRoute[] = [echo];
    server = await serve(() => routes);
    expect((await post("/late", json({}))).status).toBe(404);
    routes = [echo, { ...echo, path: "/late" }];
    server.changed();
    expect((await post("/late", json({}))).status).toBe(200);
    routes = [];
    server.changed();
    expect((await post("/late", json({}))).status).toBe(404);
    expect((await post("/echo", json({}))).status).toBe(404);
  });

  it("without a known guard, malformed, or taken are logged with their owner and not served", async () => {
    const first = { ...echo, owner: "kernel", handle: () => ({ first: true }) };
    const bad = [
      { ...echo, path: "/unguarded", guard: undefined as never },
      { ...echo, path: "/typo", guard: "mess" as never },
      { ...echo, path: "no-slash" },
      { ...echo, path: "/twice/:a/:a" },
      { ...echo, method: "TRACE" as never },
      echo,
    ].map((route) => ({ ...route, owner: "feature-bad" }));
    server = await serve([first, ...bad, { ...echo, path: "/good", owner: "feature-good" }]);
    expect(server.routes()).toEqual([
      { method: "POST", path: "/echo", guard: "peer", owner: "kernel" },
      { method: "POST", path: "/good", guard: "peer", owner: "feature-good" },
    ]);
    expect((await post("/echo", json({}))).body).toEqual({ first: true });
    expect((await post("/unguarded", json({}))).status).toBe(404);
    expect(server.log.lines.filter((line) => line.includes("feature-bad") && line.includes("a route is not served"))).toHaveLength(bad.length);
  });

  it("of the other server are not served here", async () => {
    server = await serve([echo, { ...echo, path: "/panel", server: "dashboard" }]);
    expect((await post("/panel", json({}))).status).toBe(404);
    const panel = await serve([echo, { ...echo, path: "/panel", server: "dashboard" }], { name: "dashboard" });
    expect(panel.routes().map(({ path }) => path)).toEqual(["/panel"]);
    await panel.close({ graceMs: 0 });
  });
});

describe("answers", () => {
  it("carry what the handler asked for, and headers that keep them private", async () => {
    server = await serve([
      { ...echo, method: "GET", path: "/text", handle: (_, reply) => reply.status(202).header("x-a", "b").send("<p>", "text/html; charset=utf-8") },
      { ...echo, method: "GET", path: "/bytes", handle: (_, reply) => reply.send(new Uint8Array([1, 2]), "image/png") },
      { ...echo, method: "GET", path: "/none", handle: () => undefined },
      { ...echo, method: "GET", path: "/null", handle: () => null },
    ]);
    const text = await fetch(`${server.url}/text`);
    expect([text.status, text.headers.get("x-a"), text.headers.get("content-type"), await text.text()]).toEqual([202, "b", "text/html; charset=utf-8", "<p>"]);
    expect(text.headers.get("cache-control")).toBe("no-store");
    expect(text.headers.get("x-content-type-options")).toBe("nosniff");
    expect(text.headers.get("access-control-allow-origin")).toBeNull();
    expect(new Uint8Array(await (await fetch(`${server.url}/bytes`)).arrayBuffer())).toEqual(new Uint8Array([1, 2]));
    expect((await fetch(`${server.url}/none`)).status).toBe(204);
    expect(await (await fetch(`${server.url}/null`)).text()).toBe("null");
  });

  it("of a handler that fails after it, or answers twice, is the first one, and the log has the failure", async () => {
    server = await serve([
      {
        ...echo,
        method: "GET",
        path: "/twice",
        handle(_, reply) {
          reply.send("first", "text/plain");
          reply.status(500).send("second", "text/plain");
        },
      },
      {
        ...echo,
        method: "GET",
        path: "/then",
        handle(_, reply) {
          reply.send("first", "text/plain");
          throw new Error("afterwards");
        },
      },
    ]);
    for (const path of ["/twice", "/then"]) {
      const answer = await fetch(`${server.url}${path}`);
      expect([answer.status, await answer.text()]).toEqual([200, "first"]);
    }
    expect(server.log.lines.filter((line) => line.includes("a request failed"))).toHaveLength(2);
  });

  it("of a handler that fails are neither cached nor decoded as what it was about to send", async () => {
    server = await serve([
      {
        ...echo,
        method: "GET",
        path: "/half",
        handle(_, reply) {
          reply.header("cache-control", "public, max-age=31536000, immutable").header("content-encoding", "br").header("etag", '"a"').header("x-kept", "1");
          throw new Error("no file");
        },
      },
    ]);
    const { status, headers, text } = await fetch(`${server.url}/half`).then(async (answer) => ({
      status: answer.status,
      headers: answer.headers,
      text: await answer.text(),
    }));
    expect([status, JSON.parse(text).code]).toEqual([500, expect.any(String)]);
    expect(["cache-control", "content-encoding", "etag", "x-kept"].map((name) => headers.get(name))).toEqual(["no-store", null, null, "1"]);
  });

  it("abort the request's signal when the client goes away, and only then", async () => {
    const { promise: gone, resolve } = deferred<boolean>();
    const started = deferred<void>();
    server = await serve([
      {
        ...echo,
        method: "GET",
        handle: ({ signal }) => {
          signal.addEventListener("abort", () => resolve(true));
          started.resolve();
          return new Promise(() => {});
        },
      },
      { ...echo, method: "GET", path: "/calm", handle: ({ signal }) => ({ aborted: signal.aborted }) },
    ]);
    const leaving = request(`${server.url}/echo`);
    leaving.on("error", () => {});
    leaving.end();
    await started.promise;
    leaving.destroy();
    expect(await gone).toBe(true);
    expect((await post("/calm", {})).body).toEqual({ aborted: false });
  });
});

describe("closing", () => {
  it("ends idle streams at once, lets a running answer finish, and frees the port", async () => {
    const gate = deferred<void>();
    const entered = deferred<void>();
    server = await serve([
      { ...echo, method: "GET", path: "/idle", handle: (_, reply) => void reply.stream().event("hello", 1) },
      {
        ...echo,
        async handle() {
          entered.resolve();
          await gate.promise;
          return { finished: true };
        },
      },
    ]);
    const idle = frames(await fetch(`${server.url}/idle`));
    expect((await idle.next()).value).toEqual(["hello", 1]);
    const running = post("/echo", json({}));
    await entered.promise;
    const closing = server.close({ graceMs: 30_000 });
    expect((await idle.next()).done).toBe(true);
    gate.resolve();
    expect((await running).body).toEqual({ finished: true });
    await closing;
    expect(server.address).toBeUndefined();
    await expect(fetch(`${server.url}/idle`)).rejects.toThrow();
  });

  it("cuts off what outlasts the grace", async () => {
    const entered = deferred<void>();
    server = await serve([
      {
        ...echo,
        handle() {
          entered.resolve();
          return new Promise(() => {});
        },
      },
    ]);
    const running = post("/echo", json({})).catch(() => "cut");
    await entered.promise;
    await server.close({ graceMs: 10 });
    expect(await running).toBe("cut");
  });
});

describe("mounted in an application of somebody else", () => {
  it("serves beside the application's own routes, below a prefix too, and guards only its own", async () => {
    server = await serve([echo, { ...echo, method: "GET", path: "/s", handle: (_, reply) => void reply.stream().event("hello", 1) }]);
    const app = fastify();
    app.post("/theirs", (request) => ({ theirs: request.body }));
    app.register(routesPlugin(server), { prefix: "/svc" });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const call = async (path: string, init?: RequestInit) => {
      const response = await fetch(`${url}${path}`, init);
      return [response.status, await response.json()];
    };
    expect(await call("/theirs", json({ a: 1 }, { origin: "https://evil.example" }))).toEqual([200, { theirs: { a: 1 } }]);
    expect(await call("/svc/echo", json({ a: 1 }))).toEqual([200, { body: { a: 1 } }]);
    expect((await call("/svc/echo", json({ a: 1 }, REMOTE)))[0]).toBe(401);
    expect((await call("/svc/echo", json({ a: 1 }, { origin: "https://evil.example" })))[0]).toBe(403);
    expect((await call("/svc/none", {}))[0]).toBe(404);
    const stream = frames(await fetch(`${url}/svc/s`));
    expect((await stream.next()).value).toEqual(["hello", 1]);
    await app.close();
    expect((await stream.next()).done).toBe(true);
  });
});
