import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import type { EventStream, HttpRoute } from "@svc/sdk";
import { fastify } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { bearer, collect, deferred, frames, json, peer, REMOTE, rawExchange, type Serving, serve, tableAuthority, token } from "./http.harness.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const echo: HttpRoute = { method: "POST", path: "/echo", guard: "mesh", handle: ({ body }) => ({ body: body ?? null }) };
const post = async (path: string, init: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("admission", () => {
  const host = () => `Host: 127.0.0.1:${server.port}`;

  it("FAULT-48 two lengths, two Hosts, absolute-form and //host are 400", async () => {
    server = await serve([echo, { ...echo, method: "GET" }]);
    const get = (line: string, headers: string) => rawExchange(server.port, `${line} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);
    expect((await get("GET /echo", host())).status).toBe(200);
    const cases = [
      get("GET http://evil.example/echo", host()),
      get(`GET http://127.0.0.1:${server.port}/echo`, host()),
      get("GET //evil.example/echo", host()),
      get("GET /\\evil.example/echo", host()),
      get("OPTIONS *", host()),
      get("GET /echo", `${host()}\r\n${host()}`),
      get("GET /echo", `${host()}\r\nhOST: evil.example`),
      get("GET /echo", "X-Other: 1"),
      get("POST /echo", `${host()}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked`),
      get("POST /echo", `${host()}\r\nContent-Length: 2\r\nContent-Length: 3`),
      get("GET /%zz", host()),
    ];
    for (const { status, head, body } of await Promise.all(cases)) {
      expect(status, head).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: expect.any(String), code: expect.stringMatching(/^SVC_HTTP_|^FST_/) });
    }
  });

  it("lets loopback names, its own addresses and configured hosts in, and no other name", async () => {
    server = await serve([{ ...echo, method: "GET", guard: "open" }], { hosts: () => ["", "0.0.0.0", "Svc.Example"] });
    const status = async (name: string) => (await rawExchange(server.port, `GET /echo HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)).status;
    for (const good of ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:80", "svc.example", "SVC.example:443"]) expect(await status(good), good).toBe(200);
    for (const bad of ["evil.example", "0.0.0.0", "localhost.evil.example", "127.0.0.1.nip.example", "svc.example.", "10.9.8.7", "a@localhost", "localhost:x"])
      expect(await status(bad), bad).toBe(403);
  });

  it("refuses pages of other origins, by Origin and by Sec-Fetch-Site, and lets its own and the listed ones in", async () => {
    server = await serve([echo, { ...echo, method: "GET" }], { origins: () => ["", "https://panel.example"] });
    const status = async (headers: Record<string, string>, method = "POST") =>
      (await post("/echo", { ...json({}, headers), method, ...(method === "GET" ? { body: null } : {}) })).status;
    expect(await status({ origin: server.url })).toBe(200);
    expect(await status({ origin: "https://panel.example" })).toBe(200);
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1", `http://localhost:${server.port}`, `${server.url}.evil.example`]) {
      expect(await status({ origin }), origin).toBe(403);
      expect(await status({ origin }, "GET"), origin).toBe(403);
    }
    const site = (method: string) =>
      rawExchange(server.port, `${method} /echo HTTP/1.1\r\n${host()}\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n\r\n`);
    expect((await site("POST")).status).toBe(403);
    expect((await site("GET")).status).toBe(200);
  });
});

describe("bodies", () => {
  it("API-11 every refusal is JSON with an error text: no page, no stack", async () => {
    const fails: HttpRoute = {
      method: "GET",
      path: "/fails/:how",
      guard: "mesh",
      handle({ params }) {
        if (params.how === "known") throw Object.assign(new Error("taken"), { status: 409, code: "SVC_X", path: "a.b", field: "b", secret: "canary" });
        if (params.how === "later") throw Object.assign(new Error("busy"), { status: 503, retryAfterMs: 2500 });
        if (params.how === "nothing") throw undefined;
        if (params.how === "loop") {
          const loop: Record<string, unknown> = {};
          loop.loop = loop;
          return loop;
        }
        throw new Error("canary");
      },
    };
    server = await serve([fails, echo]);
    expect(await post("/fails/known", {})).toMatchObject({ status: 409, body: { error: "taken", code: "SVC_X", path: "a.b", field: "b" } });
    const later = await post("/fails/later", {});
    expect([later.status, later.headers.get("retry-after")]).toEqual([503, "3"]);
    for (const how of ["unknown", "nothing", "loop"]) {
      const { status, body } = await post(`/fails/${how}`, {});
      expect(status).toBe(500);
      expect(JSON.stringify(body)).not.toMatch(/canary|at .*\.ts|\n/);
      const reference = /under (\w+)\./.exec(body.error as string)?.[1] as string;
      expect(server.log.lines.filter((line) => line.includes(reference))).toHaveLength(1);
    }
    for (const [path, init, status] of [
      ["/nowhere", {}, 404],
      ["/echo", {}, 405],
      ["/echo", { method: "OPTIONS" }, 405],
      ["/echo", { method: "PROPFIND" }, 404],
      ["/echo", json("{"), 400],
      ["/echo", { method: "POST", body: "x" }, 415],
    ] as const) {
      const answer = await post(path, init);
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.headers.get("content-type")).toContain("application/json");
      expect(answer.body).toMatchObject({ error: expect.any(String), code: expect.stringMatching(/^SVC_/) });
    }
    expect((await post("/echo", { method: "PUT" })).headers.get("allow")).toBe("POST");
  });

  it("API-12 bodies are JSON, but a raw route takes any type and keeps every byte", async () => {
    const hook: HttpRoute = {
      method: "POST",
      path: "/webhook/:agentId",
      guard: "signed",
      raw: true,
      handle: ({ raw, body }) => ({ hex: Buffer.from(raw ?? []).toString("hex"), body: body ?? null }),
    };
    server = await serve([hook, echo]);
    const bytes = Buffer.from([0, 255, 123, 10, 13]);
    for (const type of ["application/x-www-form-urlencoded", "application/json", "text/plain", "application/octet-stream; x=1"]) {
      expect(await post("/webhook/a", { method: "POST", headers: { "content-type": type }, body: bytes }), type).toMatchObject({
        status: 200,
        body: { hex: "00ff7b0a0d", body: null },
      });
    }
    const bare = await rawExchange(server.port, `POST /webhook/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi`);
    expect(JSON.parse(bare.body)).toEqual({ hex: "6869", body: null });
    expect((await post("/webhook/a", { method: "POST" })).body).toEqual({ hex: "", body: null });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/json; charset=latin1"]) {
      expect((await post("/echo", { method: "POST", headers: { "content-type": type }, body: "{}" })).status, type).toBe(415);
    }
    expect((await post("/echo", json({ a: 1 }, { "content-encoding": "gzip" }))).status).toBe(415);
    expect((await post("/echo", json({ a: "é" }, { "content-type": "application/json; charset=UTF-8" }))).body).toEqual({ body: { a: "é" } });
  });

  it("FAULT-45 broken JSON, wrong types and extra keys are 400 with the path", async () => {
    const strict: HttpRoute = {
      method: "POST",
      path: "/strict",
      guard: "mesh",
      body: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", minLength: 1 },
          deep: { type: "object", properties: { list: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } } } },
          kind: { enum: ["a", "b"] },
        },
      },
      query: { type: "object", properties: { limit: { type: "integer", minimum: 1 }, on: { type: "boolean" } } },
      handle: ({ query }) => query,
    };
    server = await serve([strict, echo]);
    for (const [body, path] of [
      [{}, "name"],
      [{ name: 1 }, "name"],
      [{ name: "" }, "name"],
      [{ name: "x", more: 1 }, "more"],
      [{ name: "x", kind: "c" }, "kind"],
      [{ name: "x", deep: { list: [{ n: 1 }, { n: "1" }] } }, "deep.list.1.n"],
      [{ name: "x", deep: { list: [{ m: 1 }] } }, "deep.list.0.m"],
    ] as const) {
      expect(await post("/strict", json(body))).toMatchObject({ status: 400, body: { code: "SVC_HTTP_INVALID", path, field: path.split(".").at(-1) } });
    }
    expect((await post("/strict", { method: "POST" })).body.field).toBe("name");
    for (const broken of ["{", "[1,]", "", " ", "\u0000", '{"__proto__":{"x":1}}', '{"a":{"constructor":{"prototype":{}}}}', "[]", '"text"', "null"]) {
      expect((await post("/strict", json(broken))).status, broken).toBe(400);
    }
    expect((await post("/echo", { ...json(""), body: Buffer.from([0x22, 0xff, 0x22]) })).status).toBe(400);
    expect(await post("/strict?limit=0", json({ name: "x" }))).toMatchObject({ status: 400, body: { path: "limit" } });
    expect((await post("/strict?limit=ten", json({ name: "x" }))).status).toBe(400);
    expect((await post("/strict?limit=10&on=true&_=1&limit=2", json({ name: "x" }))).body).toEqual({ limit: "10", on: "true", _: "1" });
  });

  it("FAULT-46 a body that is too large is 413 before it is read, and the connection ends", async () => {
    let called = 0;
    server = await serve(
      [{ ...echo, guard: "signed", raw: true, path: "/hook", handle: () => ({ called: ++called }) }, echo, { ...echo, path: "/closed", guard: "loopback" }],
      { authorities: () => [tableAuthority({ mesh: peer("b") })] },
    );
    const declared = (path: string, size: number, headers = "") =>
      rawExchange(server.port, `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n${headers}\r\n{`);
    expect(await declared("/hook", 65_537, "X-Real-IP: 1.2.3.4\r\n")).toMatchObject({ status: 413, closed: true });
    expect(await declared("/echo", 1_048_577)).toMatchObject({ status: 413, closed: true });
    expect(await declared("/echo", 104_857_600, "Via: proxy\r\n")).toMatchObject({ status: 401, closed: true });
    expect(await declared("/echo", 104_857_600, "Via: proxy\r\nAuthorization: Bearer mesh\r\n")).toMatchObject({ status: 413, closed: true });
    expect(await declared("/closed", 104_857_600, "Via: proxy\r\n")).toMatchObject({ status: 403, closed: true });
    expect((await post("/echo", json({ text: "x".repeat(1_000_000) }))).status).toBe(200);

    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    expect(
      (await rawExchange(server.port, `POST /hook HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 1.2.3.4\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}1\r\nx\r\n`))
        .status,
    ).toBe(413);
    expect(called).toBe(0);
    expect(
      (await rawExchange(server.port, `POST /hook HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 1.2.3.4\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`))
        .status,
    ).toBe(200);
  });

  it("FAULT-47 JSON nested deeper than 64 is 400, however deep, and brackets inside strings do not count", async () => {
    server = await serve([echo]);
    const nested = (depth: number) => json(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect((await post("/echo", nested(64))).status).toBe(200);
    for (const depth of [65, 200_000]) expect(await post("/echo", nested(depth))).toMatchObject({ status: 400, body: { code: "SVC_HTTP_BODY_DEPTH" } });
    expect((await post("/echo", json(`${'{"a":'.repeat(65)}1${"}".repeat(65)}`))).status).toBe(400);
    expect((await post("/echo", json({ a: '\\"'.repeat(50) + "[{".repeat(500), b: "\\" }))).status).toBe(200);
  });

  it("FAULT-50 climbing, NUL and broken encodings in ids are 400, and long encoded ids arrive whole", async () => {
    server = await serve([
      { ...echo, method: "GET", path: "/items/:id/move", handle: ({ params }) => params },
      { ...echo, method: "GET", path: "/pages/*", handle: ({ params }) => params },
    ]);
    const get = async (path: string) => {
      const { status, body } = await rawExchange(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      return { status, body: JSON.parse(body) as Record<string, string> };
    };
    for (const id of ["..", "%2e%2e", ".%2e", "..%2f..%2fetc", "a%2f..%2fb", "..%5cx", "a%00", "%0a", "%c0%af", "%", "%zz", "x".repeat(1001)]) {
      expect((await get(`/items/${id}/move`)).status, id).toBe(400);
    }
    expect((await get("/items/../items/a/move")).status).toBe(400);
    expect((await get("/pages/a/%2e%2e/%2e%2e/etc")).status).toBe(400);
    const id = `${"group/".repeat(160)}project#17`;
    expect((await get(`/items/${encodeURIComponent(id)}/move`)).body).toEqual({ id });
    expect((await get("/items/...a..b%20%c3%a9/move")).body).toEqual({ id: "...a..b é" });
    expect((await get("/pages/a/b%2Fc")).body).toEqual({ "*": "a/b/c" });
    expect((await get("/items//move")).status).toBe(404);
  });
});

describe("slow and broken clients", () => {
  it("FAULT-49 headers or a body that do not come are 408, and the others are served meanwhile", async () => {
    server = await serve([echo], { timeouts: { headers: 200, request: 400, check: 50 } });
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
    await once(server.fastify.server, "request");
    socket.destroy();
    expect((await post("/echo", json({}))).status).toBe(200);
    expect(server.log.lines.filter((line) => line.includes("a request failed"))).toEqual([]);
  });
});

describe("streams", () => {
  const live: EventStream[] = [];
  const listen: HttpRoute = {
    method: "GET",
    path: "/listen",
    guard: "mesh",
    handle(_, reply) {
      live.push(reply.stream());
    },
  };
  afterEach(() => void live.splice(0));
  const opened = async (count: number) => {
    while (live.length < count) await new Promise((resolve) => setImmediate(resolve));
  };

  it("API-02 headers and first frame are there before the handler has ended", async () => {
    const gate = deferred<void>();
    server = await serve([
      {
        ...listen,
        async handle(_, reply) {
          const stream = reply.header("x-own", "1").stream();
          await gate.promise;
          stream.event("one", { n: 1 });
          stream.comment("still here");
          stream.event("two\nevent: forged", "line\nbreak");
          stream.end();
          stream.event("late", 0);
        },
      },
    ]);
    const response = await fetch(`${server.url}/listen`);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("x-own")).toBe("1");
    gate.resolve();
    expect(await collect(frames(response))).toEqual([
      ["one", { n: 1 }],
      [":", "still here"],
      ["two event: forged", "line\nbreak"],
    ]);
  });

  it("a deferred stream can still fail with a status until its first frame, and says so in a frame after it", async () => {
    server = await serve([
      {
        ...listen,
        async handle({ query }, reply) {
          const stream = reply.stream({ deferred: true });
          await Promise.resolve();
          if (query.frame === "1") stream.event("one", 1);
          throw Object.assign(new Error("no room"), { status: 507, code: "SVC_FULL" });
        },
      },
    ]);
    expect(await post("/listen", {})).toMatchObject({ status: 507, body: { code: "SVC_FULL" } });
    const response = await fetch(`${server.url}/listen?frame=1`);
    expect([response.status, await collect(frames(response))]).toEqual([
      200,
      [
        ["one", 1],
        ["error", { error: "no room", code: "SVC_FULL" }],
      ],
    ]);
  });

  it("FAULT-29 a client that does not read is dropped at the limit, the others get everything", async () => {
    server = await serve([listen], { streamLimits: { perBearer: 4, total: 4, maxWaiting: 100_000 } });
    const slow = connect(server.port, "127.0.0.1", () => slow.write("GET /listen HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    slow.pause().on("error", () => {});
    await opened(1);
    const reading = collect(frames(await fetch(`${server.url}/listen`)));
    await opened(2);
    const [stalled, good] = live as [EventStream, EventStream];
    const text = "x".repeat(10_000);
    let sent = 0;
    for (; !stalled.closed && sent < 5_000; sent += 1) {
      stalled.event("tick", text);
      good.event("tick", sent);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(stalled.closed).toBe(true);
    expect(stalled.event("more", 1)).toBe(false);
    expect(good.closed).toBe(false);
    good.end();
    expect((await reading).map(([, data]) => data)).toEqual(Array.from({ length: sent }, (_, index) => index));
    slow.destroy();
  });

  it("FAULT-30 more streams than allowed are 503, per token and in all, and a place freed is a place again", async () => {
    const table = { one: token("dashboard:read"), two: token("dashboard:read") };
    server = await serve([listen, { ...listen, path: "/scoped", guard: "scope:dashboard:read" }], {
      authorities: () => [tableAuthority(table)],
      streamLimits: { perBearer: 2, total: 5, maxWaiting: 1_000_000 },
    });
    const open = (path: string, headers = {}) => fetch(`${server.url}${path}`, { headers });
    for (const status of [200, 200, 503]) expect((await open("/scoped", bearer("one"))).status).toBe(status);
    expect((await open("/scoped", bearer("two"))).status).toBe(200);
    for (const status of [200, 200, 503]) expect((await open("/listen")).status).toBe(status);
    const refused = await open("/listen");
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await refused.json()).toMatchObject({ code: "SVC_HTTP_STREAMS" });
    live[0]?.end();
    expect((await open("/scoped", bearer("one"))).status).toBe(200);
  });

  it("FAULT-30 a thousand clients at once leave the server answering", async () => {
    server = await serve([listen, echo], { streamLimits: { perBearer: 64, total: 100, maxWaiting: 1_000_000 } });
    const clients = Array.from({ length: 1000 }, () => {
      const socket = connect(server.port, "127.0.0.1", () => socket.write("GET /listen HTTP/1.1\r\nHost: localhost\r\n\r\n"));
      socket.on("error", () => {});
      return socket;
    });
    const lines = await Promise.all(clients.map(async (socket) => String((await once(socket, "data"))[0]).split("\r\n")[0]));
    expect(lines.filter((line) => line === "HTTP/1.1 200 OK")).toHaveLength(100);
    expect(lines.filter((line) => line?.includes("503"))).toHaveLength(900);
    expect((await post("/echo", json({}))).status).toBe(200);
    for (const socket of clients) socket.destroy();
  });
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
      { method: "POST", path: "/echo", guard: "mesh", owner: "kernel" },
      { method: "POST", path: "/good", guard: "mesh", owner: "feature-good" },
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
    app.register(server.mount, { prefix: "/svc" });
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
