import type { HttpRoute } from "@svc/sdk";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { bearerOf, ruleOf } from "./guard.ts";
import { bearer, frames, json, ownAddress, peer, REMOTE, rawExchange, SCOPES, type Serving, serve, tableAuthority, token } from "./http.harness.ts";
import { createThrottle } from "./throttle.ts";

const route = (guard: HttpRoute["guard"], path = "/x", more: Partial<HttpRoute> = {}): HttpRoute => ({
  method: "GET",
  path,
  guard,
  handle: ({ caller, query }) => ({ caller, query }),
  ...more,
});
const publicRoute: HttpRoute = { method: "POST", path: "/agents/:agentId/messages", guard: "scope:agent::agentId", handle: () => ({ ran: true }) };

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));
const ask = async (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) => {
  const response = await fetch(`${server.url}${path}`, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("scoped routes", () => {
  it("AUTH-01 a missing, unknown or revoked token is 401, a valid one without the scope 403", async () => {
    const table = { good: token("dashboard:read"), poor: token("agent:*"), gone: token("agent:*") };
    server = await serve([route("scope:dashboard:read")], { authorities: () => [tableAuthority(table)] });
    expect((await ask("/x")).status).toBe(401);
    expect((await ask("/x")).headers.get("www-authenticate")).toBe("Bearer");
    expect((await ask("/x", bearer("never"))).status).toBe(401);
    expect((await ask("/x", { authorization: "Basic Z29vZDo=" })).status).toBe(401);
    expect((await ask("/x", bearer("poor"))).body).toMatchObject({ code: "SVC_HTTP_FORBIDDEN", error: expect.stringContaining("dashboard:read") });
    expect((await ask("/x", bearer("good"))).status).toBe(200);
    delete (table as Partial<typeof table>).gone;
    expect((await ask("/x", bearer("gone"))).status).toBe(401);
  });

  it("AUTH-02 the order is 401, 403 scope, the route's own 404 and 403, then 400 for the body", async () => {
    const before: HttpRoute["before"] = ({ params }) => {
      if (params.agentId === "bar") throw Object.assign(new Error("no such agent"), { status: 404 });
      if (params.agentId === "shy") throw Object.assign(new Error("private"), { status: 403, code: "SVC_PRIVATE" });
    };
    server = await serve([{ ...publicRoute, before }], { authorities: () => [tableAuthority({ foo: token("agent:foo"), all: token("agent:*") })] });
    const broken = json("{");
    expect((await ask("/agents/bar/messages", bearer("wrong"), broken)).status).toBe(401);
    expect((await ask("/agents/bar/messages", bearer("foo"), broken)).body.code).toBe("SVC_HTTP_FORBIDDEN");
    expect((await ask("/agents/bar/messages", bearer("all"), broken)).status).toBe(404);
    expect((await ask("/agents/shy/messages", bearer("all"), broken)).body.code).toBe("SVC_PRIVATE");
    expect((await ask("/agents/foo/messages", bearer("foo"), broken)).status).toBe(400);
    expect((await ask("/agents/foo/messages", bearer("foo"), json({}))).status).toBe(200);
  });

  it("AUTH-03 without a token a broken body or an unknown content type is 401, not 400 or 415", async () => {
    server = await serve([publicRoute]);
    expect((await ask("/agents/a/messages", {}, json("{"))).status).toBe(401);
    expect((await ask("/agents/a/messages", { "content-type": "text/csv" }, { method: "POST", body: "a;b" })).status).toBe(401);
  });

  it("AUTH-08 scopes match exactly: agent:foo is no prefix, and neither family gives the other", () => {
    expect(SCOPES.grants(["agent:foo"], "agent:foo")).toBe(true);
    expect(SCOPES.grants(["agent:foo"], "agent:foobar")).toBe(false);
    expect(SCOPES.grants(["agent:*"], "agent:foo")).toBe(true);
    expect(SCOPES.grants(["agent:*"], "agent:")).toBe(false);
    expect(SCOPES.grants(["agent:*"], "dashboard:read")).toBe(false);
    expect(SCOPES.grants(["dashboard:write"], "dashboard:read")).toBe(true);
    expect(SCOPES.grants(["dashboard:read"], "dashboard:write")).toBe(false);
    expect(SCOPES.grants(["dashboard:write"], "agent:foo")).toBe(false);
    expect(SCOPES.grants(["*", "dashboard:*", ""], "dashboard:read")).toBe(false);
  });

  it("AUTH-20 undefined and reserved scopes open nothing", async () => {
    const table = { odd: token("dashboard:admin", "task:write", "mesh:peer") };
    server = await serve([route("scope:dashboard:read"), route("peer", "/m")], { authorities: () => [tableAuthority(table)] });
    expect((await ask("/x", bearer("odd"))).status).toBe(403);
    expect((await ask("/m", { ...bearer("odd"), ...REMOTE })).status).toBe(403);
    for (const guard of ["scope:dashboard:admin", "scope:task:write", "scope:mesh:peer", "scope:agent::other", "scope:", "none", undefined, ""]) {
      expect(() => ruleOf(route(guard as HttpRoute["guard"]), SCOPES)).toThrow(expect.objectContaining({ code: "SVC_HTTP_ROUTE" }));
    }
  });

  it("AUTH-15 ?token= works where headers cannot be set, loses against the header, and is in no log, no query and no error", async () => {
    const canary = "svc_live_canary0123456789";
    server = await serve(
      [
        route("scope:dashboard:read"),
        route("scope:dashboard:read", "/fails", { handle: ({ query }) => Promise.reject(new Error(`boom ${JSON.stringify(query)}`)) }),
      ],
      {
        authorities: () => [tableAuthority({ [canary]: token("dashboard:read") })],
      },
    );
    const passed = await ask(`/x?a=1&token=${canary}`);
    expect(passed).toMatchObject({ status: 200, body: { query: { a: "1" } } });
    expect(passed.body.query).toEqual({ a: "1" });
    expect((await ask(`/x?token=${canary}`, bearer("other"))).status).toBe(401);
    expect((await ask("/x?token=other", bearer(canary))).status).toBe(200);
    expect((await ask("/x?token=")).status).toBe(401);
    const failed = await ask(`/fails?token=${canary}`);
    expect(failed.status).toBe(500);
    expect(server.log.lines.some((line) => line.includes("boom"))).toBe(true);
    expect(JSON.stringify([failed.body, server.log.lines])).not.toContain(canary);
  });

  it("AUTH-13 while this machine's own callers have a scope, no token is needed there, and one that is sent is still judged", async () => {
    server = await serve([route("scope:dashboard:write"), publicRoute], {
      localScopes: () => ["dashboard:write"],
      authorities: () => [tableAuthority({ read: token("dashboard:read") })],
    });
    expect((await ask("/x")).status).toBe(200);
    expect((await ask("/x", REMOTE)).status).toBe(401);
    expect((await ask("/x", bearer("wrong"))).status).toBe(401);
    expect((await ask("/x", bearer("read"))).status).toBe(403);
    expect((await ask("/agents/a/messages", {}, json({}))).status).toBe(401);
    const own = ownAddress();
    if (own !== undefined) expect((await fetch(`http://${own}:${server.port}/x`)).status).toBe(401);
  });

  it("AUTH-10 a bearer of one family of scopes is unknown, not insufficient, where another is asked for", async () => {
    const table = { legacy: { ...token("dashboard:write"), family: "dashboard" } as ReturnType<typeof token> };
    server = await serve([route("scope:dashboard:write"), route("peer", "/traces"), publicRoute], { authorities: () => [tableAuthority(table)] });
    expect((await ask("/x", bearer("legacy"))).status).toBe(200);
    expect((await ask("/agents/a/messages", {}, json({}, bearer("legacy")))).status).toBe(401);
    expect((await ask("/traces", { ...bearer("legacy"), ...REMOTE })).status).toBe(401);
  });
});

describe("this machine and others", () => {
  it("AUTH-16 a loopback route opens to the loopback socket alone: no proxy, no foreign Host, no bearer", async () => {
    server = await serve([route("loopback")], { authorities: () => [tableAuthority({ mesh: peer("b") })] });
    expect((await ask("/x")).status).toBe(200);
    for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-host", "via", "x-real-ip", "cf-connecting-ip"]) {
      expect((await ask("/x", { [name]: "127.0.0.1", ...bearer("mesh") })).body.code, name).toBe("SVC_HTTP_LOOPBACK");
    }
    expect((await rawExchange(server.port, `GET /x HTTP/1.1\r\nHost: evil.example:${server.port}\r\n\r\n`)).status).toBe(403);
    const own = ownAddress();
    if (own !== undefined) expect((await fetch(`http://${own}:${server.port}/x`)).status).toBe(403);
  });

  it("AUTH-17 this machine needs no token, by its own addresses too; behind a proxy everybody needs one", async () => {
    server = await serve([route("peer", "/traces")], { authorities: () => [tableAuthority({ mesh: peer("b") })] });
    expect((await ask("/traces")).body).toMatchObject({ caller: { address: "127.0.0.1", local: true } });
    expect((await ask("/traces", REMOTE)).status).toBe(401);
    expect((await ask("/traces", { ...REMOTE, ...bearer("mesh") })).body).toMatchObject({ caller: { local: false, peer: "b" } });
    const own = ownAddress();
    if (own !== undefined) expect((await fetch(`http://${own}:${server.port}/traces`)).status).toBe(200);
  });

  it("AUTH-18 a plugin of generation 1 says mesh and means peer", async () => {
    server = await serve([route("mesh" as never, "/old")], { authorities: () => [tableAuthority({ mesh: peer("b") })] });
    expect((await ask("/old")).status).toBe(200);
    expect((await ask("/old", REMOTE)).status).toBe(401);
    expect((await ask("/old", { ...REMOTE, ...bearer("mesh") })).body).toMatchObject({ caller: { local: false, peer: "b" } });
  });

  it("AUTH-18 a bearer that is sent to a peer route is judged on this machine too", async () => {
    server = await serve([route("peer")], { authorities: () => [tableAuthority({ mesh: peer("b"), scoped: token("dashboard:write") })] });
    expect((await ask("/x", bearer("wrong"))).status).toBe(401);
    expect((await ask("/x", bearer("scoped"))).status).toBe(200);
    expect((await ask("/x", { ...bearer("scoped"), ...REMOTE })).status).toBe(403);
  });
});

describe("authorities", () => {
  it("AUTH-04 are asked for each request, and one that throws knows nobody", async () => {
    const table: Record<string, ReturnType<typeof token>> = { good: token("dashboard:read") };
    const broken = { name: "broken", verify: () => Promise.reject(new Error("disk")) };
    server = await serve([route("scope:dashboard:read")], { authorities: () => [broken, tableAuthority(table)] });
    expect((await ask("/x", bearer("good"))).status).toBe(200);
    delete table.good;
    expect((await ask("/x", bearer("good"))).status).toBe(401);
  });

  it("AUTH-04 end an open stream when its token is revoked, and leave the others", async () => {
    const table: Record<string, ReturnType<typeof token>> = { one: token("dashboard:read"), two: token("dashboard:read") };
    server = await serve([route("scope:dashboard:read", "/s", { handle: (_, reply) => void reply.stream().event("hello", 1) })], {
      authorities: () => [tableAuthority(table)],
    });
    const first = frames(await fetch(`${server.url}/s`, { headers: bearer("one") }));
    const second = frames(await fetch(`${server.url}/s`, { headers: bearer("two") }));
    expect((await first.next()).value).toEqual(["hello", 1]);
    expect((await second.next()).value).toEqual(["hello", 1]);
    delete table.one;
    expect((await first.next()).done).toBe(true);
    const still = second.next();
    expect(await Promise.race([still, new Promise((resolve) => setImmediate(resolve, "open"))])).toBe("open");
    table.two = token("agent:*");
    server.changed();
    expect((await still).done).toBe(true);
  });

  it("AUTH-04 may answer with a ticket, which is asked about once and leaves of the token behind it what it says", async () => {
    const table = { behind: token("dashboard:write"), poor: token("agent:a") };
    const asked: string[] = [];
    const verify = async (given: string) => {
      asked.push(given);
      const [, bearer] = /^ticket-(.*)$/.exec(given) ?? [];
      return bearer === undefined ? undefined : ({ kind: "ticket", bearer, scopes: ["dashboard:read"] } as const);
    };
    server = await serve(
      [
        route("scope:dashboard:read", "/s", { handle: ({ caller }, reply) => void reply.stream().event("hello", caller.token) }),
        route("scope:dashboard:read"),
        route("scope:dashboard:write", "/w"),
      ],
      { authorities: () => [{ name: "tickets", verify }, tableAuthority({ ...table, peer: peer("one") })] },
    );
    const stream = frames(await fetch(`${server.url}/s?token=ticket-behind`));
    expect((await stream.next()).value).toEqual(["hello", { id: "tok_1", name: "one", scopes: ["dashboard:read"] }]);
    expect((await ask("/w", bearer("ticket-behind"))).status).toBe(403);
    expect((await ask("/w", bearer("behind"))).status).not.toBe(403);
    for (const [given, status] of Object.entries({ "ticket-poor": 403, "ticket-peer": 401, "ticket-ticket-behind": 401, "ticket-": 401, "ticket-none": 401 }))
      expect([given, (await ask("/x", bearer(given))).status]).toEqual([given, status]);
    asked.length = 0;
    const next = stream.next();
    server.changed();
    while (!asked.includes("behind")) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).not.toContain("ticket-behind");
    expect(await Promise.race([next, new Promise((resolve) => setImmediate(resolve, "open"))])).toBe("open");
  });
});

describe("guessing", () => {
  it("throttles an address with too many wrong bearers, folds its spellings, and forgets with the window", () => {
    let now = 0;
    const throttle = createThrottle({ perAddress: 3, total: 100, windowMs: 60_000 }, () => now);
    for (let count = 0; count < 3; count += 1) throttle.failed(`2001:db8:1:2::${count}`);
    expect(throttle.wait("2001:db8:1:2:ffff::9")).toBe(60);
    expect(throttle.wait("2001:db8:1:3::1")).toBeUndefined();
    expect(throttle.wait("192.0.2.1")).toBeUndefined();
    now = 59_500;
    expect(throttle.wait("2001:0db8:0001:0002::1")).toBe(1);
    now = 60_000;
    expect(throttle.wait("2001:db8:1:2::1")).toBeUndefined();
  });

  it("lets addresses that have proved themselves in when the rest of the world is guessing", () => {
    const throttle = createThrottle({ perAddress: 5, total: 10, windowMs: 60_000 }, () => 0);
    throttle.succeeded("192.0.2.7");
    for (let count = 0; count < 10; count += 1) throttle.failed(`198.51.100.${count}`);
    expect(throttle.wait("203.0.113.1")).toBe(60);
    expect(throttle.wait("192.0.2.7")).toBeUndefined();
  });

  it("answers 429 with Retry-After from another address and never locks out loopback", async () => {
    server = await serve([route("peer")], {
      authorities: () => [tableAuthority({ mesh: peer("b") })],
      throttle: { perAddress: 2, total: 50, windowMs: 60_000 },
    });
    for (let count = 0; count < 5; count += 1) expect((await ask("/x", bearer("wrong"))).status).toBe(401);
    expect((await ask("/x", bearer("mesh"))).status).toBe(200);
    const own = ownAddress();
    if (own === undefined) return;
    const from = (secret: string) => fetch(`http://${own}:${server.port}/x`, { headers: { ...bearer(secret), ...REMOTE } });
    expect((await from("wrong")).status).toBe(401);
    expect((await from("wrong")).status).toBe(401);
    const refused = await from("mesh");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

it("takes exactly the bearer that was sent", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\x21-\x7e]{1,60}$/), (secret) => {
      expect(bearerOf({ authorization: `Bearer ${secret}` }, "other")).toBe(secret);
      expect(bearerOf({}, secret)).toBe(secret);
    }),
  );
  expect(bearerOf({ authorization: "Bearer " }, "other")).toBe("");
});
