import { once } from "node:events";
import { connect } from "node:net";
import type { EventStream, HttpRoute } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { bearer, collect, deferred, frames, json, type Serving, serve, tableAuthority, token } from "./http.harness.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const echo: HttpRoute = { method: "POST", path: "/echo", guard: "peer", handle: ({ body }) => ({ body: body ?? null }) };
const post = async (path: string, init: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("streams", () => {
  const live: EventStream[] = [];
  const listen: HttpRoute = {
    method: "GET",
    path: "/listen",
    guard: "peer",
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

  it("FLT-9 streams that watch take no place of those that work", async () => {
    const work: HttpRoute = { ...listen, method: "POST", path: "/work" };
    server = await serve([listen, work], { streamLimits: { perBearer: 2, total: 2, maxWaiting: 1_000_000 } });
    const status = async (init: RequestInit, path: string) => (await fetch(`${server.url}${path}`, init)).status;
    for (const expected of [200, 200, 503]) expect(await status({}, "/listen")).toBe(expected);
    for (const expected of [200, 200, 503]) expect(await status(json({}), "/work")).toBe(expected);
  });

  it("ENG-17 who reads the stream of its work too slowly misses events, hears how many, and gets the last one", async () => {
    const begin = deferred<EventStream>();
    const work: HttpRoute = { ...listen, method: "POST", path: "/work", handle: async (_, reply) => begin.resolve(reply.stream()) };
    server = await serve([work], { streamLimits: { perBearer: 2, total: 2, maxWaiting: 100_000 } });
    const slow = connect(server.port, "127.0.0.1", () =>
      slow.write("POST /work HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    );
    slow.pause();
    const stream = await begin.promise;
    // One event alone may be larger than what may wait.
    stream.event("text", "x".repeat(7_000_000));
    for (let n = 0; n < 100_000; n += 1) stream.event("text", n);
    for (let n = 0; n < 20; n += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      stream.event("text", "y".repeat(1_000_000));
    }
    stream.event("done", { reply: "z".repeat(2_000_000) });
    stream.end();
    expect(stream.closed).toBe(true);
    let said = "";
    slow.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    slow.resume();
    await once(slow, "close");
    const events = [...said.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
    expect(events[0]).toBe("text");
    expect(events.slice(-2)).toEqual(["omitted", "done"]);
    const omitted = [...said.matchAll(/^event: omitted\ndata: \{"events":(\d+)\}$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    expect(events.filter((name) => name === "text").length + omitted).toBe(100_021);
    expect(said).toContain("z".repeat(2_000_000));
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
