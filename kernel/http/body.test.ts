import { once } from "node:events";
import { connect } from "node:net";
import type { HttpRoute } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { json, peer, rawExchange, type Serving, serve, tableAuthority } from "./http.harness.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const echo: HttpRoute = { method: "POST", path: "/echo", guard: "peer", handle: ({ body }) => ({ body: body ?? null }) };
const post = async (path: string, init: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("bodies", () => {
  it("AUT-A7 larger ones than usual share what there is room for, and give it back", async () => {
    const large: HttpRoute = { method: "POST", path: "/large", guard: "open", raw: true, maxBytes: 80, handle: ({ raw }) => ({ bytes: raw?.length }) };
    server = await serve([large], { bodyLimits: { unknown: 10, known: 10, large: 100 } });
    const head = `POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 80\r\n\r\n`;
    for (let round = 0; round < 2; round += 1) {
      const slow = connect(server.port, "127.0.0.1");
      slow.write(`${head}${"y".repeat(30)}`);
      // What was promised keeps nobody out, what has arrived does.
      await expect.poll(async () => (await post("/large", { method: "POST", body: "x".repeat(80) })).body.code).toBe("SVC_HTTP_BODIES");
      expect((await post("/large", { method: "POST", body: "x".repeat(20) })).body).toEqual({ bytes: 20 });
      if (round === 0) slow.destroy();
      else slow.write("x".repeat(50));
      await once(slow, round === 0 ? "close" : "data");
      await expect.poll(async () => (await post("/large", { method: "POST", body: "x".repeat(80) })).status).toBe(200);
      slow.destroy();
    }
  });

  it("CON-D1 an object that lists no properties takes any, one that lists some takes no other", async () => {
    const free: HttpRoute = {
      ...echo,
      path: "/free",
      body: { type: "object", properties: { input: { type: "object" }, list: { type: "array", items: { type: "object" } } } },
    };
    server = await serve([free]);
    const body = { input: { command: "git push", deep: { more: 1 } }, list: [{ a: 1 }] };
    expect(await post("/free", json(body))).toMatchObject({ status: 200, body: { body } });
    expect((await post("/free", json({ ...body, other: 1 }))).status).toBe(400);
    expect((await post("/free", json({ input: "text" }))).body.field).toBe("input");
  });

  it("API-11 every refusal is JSON with an error text: no page, no stack", async () => {
    const fails: HttpRoute = {
      method: "GET",
      path: "/fails/:how",
      guard: "peer",
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
      ["/echo", { method: "PROPFIND" }, 405],
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
      guard: "peer",
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
      expect(await post("/strict", json(body)), path).toMatchObject({ status: 400, body: { code: "SVC_HTTP_INVALID", path, field: path.split(".").at(-1) } });
    }
    expect((await post("/strict", { method: "POST" })).body.field).toBe("name");
    expect((await post("/strict", json({ nmae: "x", extra: 1 }))).body.error).toBe("'name' is missing, 'nmae', 'extra' are not known fields.");
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
