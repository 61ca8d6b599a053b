import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rawExchange, SCOPES } from "../../kernel/http/http.harness.ts";
import { checkRoute } from "../../kernel/http/index.ts";
import { bearer, type Guarded, get, guarded, REMOTE, send } from "./auth.harness.ts";

const portOf = (base: string) => Number(new URL(base).port);
const PEER = { name: "b", url: "http://192.0.2.1:18800", token: "the-token-of-peer-b" };

/** Every plugin of this repository. */
const FIRST_PARTY = ["actions", "boards", "channels", "features", "stores", "tiers"].flatMap((kind) => {
  const folder = join(import.meta.dirname, "../../plugins", kind);
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
});

describe("every route has its guard", () => {
  it("on both servers: the table of who may call what", async () => {
    const at = await guarded({ config: { mesh: { enabled: true, peers: [PEER] } } });
    expect(at.kernel.routes().map(({ server = "daemon", method, path, guard }) => `${server} ${method} ${path} ${guard}`)).toEqual([
      "dashboard GET /api/admin/tokens scope:dashboard:write",
      "dashboard POST /api/admin/tokens scope:dashboard:write",
      "dashboard POST /api/admin/tokens/:id/revoke scope:dashboard:write",
      "dashboard GET / open",
      "dashboard GET /live open",
      "dashboard GET /inbox open",
      "dashboard GET /processes open",
      "dashboard GET /workflows open",
      "dashboard GET /tasks open",
      "dashboard GET /tasks/:id open",
      "dashboard GET /plugins open",
      "dashboard GET /panels/:id open",
      "dashboard GET /admin open",
      "dashboard GET /setup open",
      "dashboard GET /workflows/editor open",
      "dashboard GET /api/me scope:dashboard:read",
      "dashboard POST /api/public/agents/:agentId/messages scope:agent::agentId",
      "dashboard GET /api/live scope:dashboard:read",
      "dashboard GET /api/agents scope:dashboard:read",
      "dashboard GET /api/nodes scope:dashboard:read",
      "dashboard GET /api/task/history scope:dashboard:read",
      "dashboard GET /api/live/stream scope:dashboard:read",
      "dashboard GET /api/task/stream scope:dashboard:read",
      "dashboard POST /api/task/action scope:dashboard:write",
      "dashboard POST /api/ticket scope:dashboard:read",
      "dashboard POST /api/sign-in open",
      "dashboard POST /api/sign-out scope:dashboard:write",
      "daemon POST /dashboard/link loopback",
      "dashboard GET /api/via/:daemon/* scope:dashboard:read",
      "dashboard POST /api/via/:daemon/* scope:dashboard:write",
      "dashboard PUT /api/via/:daemon/* scope:dashboard:write",
      "dashboard PATCH /api/via/:daemon/* scope:dashboard:write",
      "dashboard DELETE /api/via/:daemon/* scope:dashboard:write",
      "dashboard GET /api/tasks scope:dashboard:read",
      "dashboard GET /api/tasks/marks scope:dashboard:read",
      "dashboard GET /api/tasks/now scope:dashboard:read",
      "dashboard GET /api/tasks/agents scope:dashboard:read",
      "dashboard GET /api/tasks/series scope:dashboard:read",
      "dashboard GET /api/tasks/events scope:dashboard:read",
      "dashboard GET /api/tasks/:id scope:dashboard:read",
      "dashboard POST /api/tasks/:id/stop scope:dashboard:write",
      "dashboard POST /api/tasks/:id/replay scope:dashboard:write",
      "dashboard GET /api/chat/:agent scope:dashboard:read",
      "dashboard POST /api/chat/:agent scope:dashboard:write",
      "dashboard GET /api/chat/:agent/:task/stream scope:dashboard:read",
      "dashboard GET /api/admin/settings scope:dashboard:write",
      "dashboard GET /api/admin/schema scope:dashboard:write",
      "dashboard POST /api/admin/settings/check scope:dashboard:write",
      "dashboard PATCH /api/admin/settings scope:dashboard:write",
      "dashboard POST /api/admin/secrets scope:dashboard:write",
      "dashboard GET /api/admin/plugins scope:dashboard:write",
      "dashboard POST /api/admin/plugins/:id/release scope:dashboard:write",
      "dashboard GET /api/admin/channels scope:dashboard:write",
      "dashboard GET /api/admin/channels/:name/connect scope:dashboard:write",
      "dashboard POST /api/admin/channels/:name/setup scope:dashboard:write",
      "dashboard GET /api/admin/setups/:id scope:dashboard:write",
      "dashboard POST /api/admin/setups/:id/answer scope:dashboard:write",
      "dashboard DELETE /api/admin/setups/:id scope:dashboard:write",
      "dashboard POST /api/admin/channels/:name/message scope:dashboard:write",
      "dashboard GET /api/admin/setup scope:dashboard:write",
      "dashboard POST /api/admin/setup/try scope:dashboard:write",
      "dashboard GET /api/panels scope:dashboard:read",
      "daemon POST /mesh/task peer",
      "daemon POST /mesh/task/cancel peer",
      "daemon POST /mesh/announce peer",
      "dashboard POST /api/admin/mesh/announce scope:dashboard:write",
      "daemon GET /mesh/node peer",
      "daemon GET /mesh/peers loopback",
      "daemon POST /mesh/peers/:name/test loopback",
      "dashboard GET /api/admin/mesh/peers scope:dashboard:write",
      "dashboard POST /api/admin/mesh/peers/:name/test scope:dashboard:write",
      "daemon GET /agents/:id/events peer",
      "dashboard GET /assets/* open",
    ]);
  });

  it("of every plugin there is: declared, known, and closed to a stranger unless it says open or signed", async () => {
    const at = await guarded({ dashboard: { token: "the-single-bearer" }, options: { known: FIRST_PARTY } });
    const routes = at.kernel.routes();
    expect(routes.length).toBeGreaterThan(10);
    for (const route of routes) {
      const { server = "daemon", method, path, guard, owner } = route;
      expect(() => checkRoute(route, SCOPES), `${owner} ${method} ${path}`).not.toThrow();
      if (guard === "open" || guard === "signed") continue;
      const base = server === "daemon" ? at.daemon : at.dashboard;
      const init = { method, headers: { ...REMOTE, "content-type": "application/json" }, ...(method === "GET" ? {} : { body: "{}" }) };
      const { status } = await fetch(base + path.replace(/:\w+/g, "x"), init);
      expect(status, `${owner} ${server} ${method} ${path}`).toBe(guard === "loopback" ? 403 : 401);
    }
  });

  it("AUTH-19 a peer's bearer opens the daemon to another machine, and no other token does", async () => {
    const at = await guarded({ config: { mesh: { enabled: true, peers: [{ ...PEER, name: "a", token: "the-token-of-peer-a" }, PEER] } } });
    const { secret } = await at.token("dashboard:write");
    const ask = async (headers: Record<string, string>) => (await get(at.daemon, "/traces", { ...REMOTE, ...headers })).status;
    expect(await ask({})).toBe(401);
    expect(await ask(bearer("the-token-of-peer-a"))).toBe(200);
    expect(await ask(bearer(PEER.token))).toBe(200);
    expect(await ask(bearer("the-token-of-peer-c"))).toBe(401);
    expect(await ask(bearer(secret))).toBe(403);
    expect((await get(at.dashboard, "/api/live", bearer(PEER.token))).status).toBe(403);
    const off = await guarded({ config: { mesh: { enabled: false, peers: [PEER] } } });
    expect((await get(off.daemon, "/traces", { ...REMOTE, ...bearer(PEER.token) })).status).toBe(401);
  });
});

describe.each(["daemon", "dashboard"] as const)("the gate in front of the %s", (which) => {
  const path = which === "daemon" ? "/traces" : "/api/live";
  const post = which === "daemon" ? "/task" : "/api/task/action?node=http://localhost:18800&task=x&kind=cancel";
  const open = async () => {
    const at = await guarded();
    return { at, base: at[which], port: portOf(at[which]) };
  };

  it("FAULT-48 AUTH-16 AUTH-17 two Hosts, foreign Hosts, absolute-form, //host and CL+TE are refused; a proxy's request is a stranger's", async () => {
    const { base, port } = await open();
    const raw = async (...lines: string[]) => (await rawExchange(port, `${lines.join("\r\n")}\r\n\r\n`)).status;
    expect(await raw(`GET ${path} HTTP/1.1`, "Host: localhost")).toBe(200);
    expect(await raw(`GET ${path} HTTP/1.1`, "Host: localhost", "Host: localhost")).toBe(400);
    expect(await raw(`GET ${path} HTTP/1.1`)).toBe(400);
    expect(await raw(`GET ${path} HTTP/1.1`, "Host: evil.example")).toBe(403);
    expect(await raw(`GET ${path} HTTP/1.1`, "Host: localhost.evil.example")).toBe(403);
    expect(await raw(`GET http://localhost${path} HTTP/1.1`, "Host: localhost")).toBe(400);
    expect(await raw(`GET //localhost${path} HTTP/1.1`, "Host: localhost")).toBe(400);
    expect(await raw(`POST ${post} HTTP/1.1`, "Host: localhost", "Content-Length: 2", "Transfer-Encoding: chunked", "", "0")).toBe(400);
    expect(await raw(`GET ${path} HTTP/1.1`, "Host: localhost", "Content-Length: 1", "Content-Length: 2")).toBe(400);
    for (const name of ["X-Forwarded-For: 8.8.8.8", "Forwarded: for=127.0.0.1", "Via: 1.1 x"])
      expect(await raw(`GET ${path} HTTP/1.1`, "Host: localhost", name), name).toBe(401);
    expect((await get(base, path, { origin: "https://evil.example" })).status).toBe(403);
  });

  it("FAULT-45 FAULT-46 FAULT-47 broken, wrong, huge and deep bodies are 400 or 413, and the server goes on", async () => {
    const { base, port } = await open();
    for (const body of ["{", "[]", '"x"', "null", '{"__proto__":{"x":1}}', '{"constructor":{"prototype":{}}}', '{"unheard":1}'])
      expect((await send(base, post, body)).status, body).toBe(400);
    expect((await send(base, post, `{"message":${"[".repeat(200_000)}${"]".repeat(200_000)}}`)).body).toMatchObject({ code: "SVC_HTTP_BODY_DEPTH" });
    const huge = await rawExchange(port, `POST ${post} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n{`);
    expect([huge.status, huge.closed]).toEqual([413, true]);
    expect((await send(base, post, "a=b", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(415);
    expect((await get(base, path)).status).toBe(200);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  it("FAULT-50 climbing, NUL and broken encodings in paths are 400 or 404, never a file and never 5xx", async () => {
    const { port } = await open();
    for (const target of [
      "/..%2f..%2fetc/passwd",
      "/api/%2e%2e/%2e%2e/etc/passwd",
      "/traces/%00",
      "/traces/..%5c..%5cx",
      "/%zz",
      "/api/../../etc/passwd",
      "/api/public/agents/..%2ffoo/messages",
    ]) {
      const { status, body } = await rawExchange(port, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect([400, 404], `${target} ${status}`).toContain(status);
      expect(body).not.toContain("root:");
    }
  });
});

describe("random requests", () => {
  const targets = {
    daemon: [
      "/task",
      "/ask",
      "/agents",
      "/agents/foo/events",
      "/events/recent",
      "/traces",
      "/traces/x",
      "/health",
      "/api/tasks/x/cancel",
      "/api/tasks/x/followup",
    ],
    dashboard: [
      "/",
      "/api/live",
      "/api/agents",
      "/api/task/history",

      "/api/task/action",
      "/api/public/agents/foo/messages",
      "/api/public/agents/hidden/messages",
    ],
  };
  const OPEN = new Set(["/", "/health", "/ready"]);

  /** One request, written by hand so that nothing is put right on the way. */
  async function throwAt(
    at: Guarded,
    server: "daemon" | "dashboard",
    [method, path, query, headers, body]: readonly [string, string, string, readonly string[], string],
  ) {
    const head = [
      `${method} ${path}${query === "" ? "" : `?${query}`} HTTP/1.1`,
      "Host: localhost",
      ...headers,
      "Connection: close",
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return { sent: head.join("\n"), ...(await rawExchange(portOf(at[server]), `${head.join("\r\n")}\r\n\r\n${body}`)) };
  }

  it.each(["daemon", "dashboard"] as const)("never get a 5xx from the %s, and strangers never a 2xx beyond what is open", async (server) => {
    const at = await guarded({ dashboard: { token: "the-single-bearer" } });
    const [foo, read] = await Promise.all([at.token("agent:foo"), at.token("dashboard:read")]);
    const query = fc.oneof(
      fc.webQueryParameters(),
      fc.constantFrom(
        "",
        "limit=1",
        "limit=x",
        "before=-1",
        "node=http://evil.example&task=x&kind=cancel",
        "node=http://localhost:18800&task=x&kind=cancel",
        "task=x",
        "status=ok",
        "token=wrong",
      ),
    );
    const header = fc.constantFrom(
      "Accept: application/json",
      "Content-Type: application/json",
      "Content-Type: application/json; charset=utf-16",
      "Content-Type: text/plain",
      "Origin: null",
      "Origin: http://localhost",
      "Authorization: Bearer wrong",
      "Authorization: Basic x",
      "Authorization: Bearer",
      "Sec-Fetch-Site: cross-site",
      "Cookie: token=the-single-bearer",
      "X-Requested-With: svc-board",
      "Expect: 100-continue",
      "Upgrade: websocket",
    );
    const body = fc.oneof(
      fc.json(),
      fc.string({ unit: "binary" }),
      fc
        .dictionary(fc.constantFrom("message", "context", "agent", "replace", "reason", "__proto__", "constructor"), fc.jsonValue())
        .map((value) => JSON.stringify(value)),
      fc.record({ agent: fc.constant("foo"), message: fc.string({ minLength: 1 }) }).map((value) => JSON.stringify(value)),
    );
    const path = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...targets[server]) }, fc.webPath(), fc.stringMatching(/^\/[\x21-\x7e]{0,40}$/));
    const method = fc.constantFrom("GET", "GET", "GET", "POST", "POST", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND");
    const known = fc.constantFrom(undefined, undefined, foo.secret, read.secret, "the-single-bearer");
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        query,
        fc.uniqueArray(header, { maxLength: 5, selector: (line) => line.split(":")[0] }),
        body,
        fc.boolean(),
        known,
        async (verb, target, search, lines, text, stranger, secret) => {
          const own = lines.filter((line) => secret === undefined || !line.startsWith("Authorization"));
          const more = [...(stranger ? ["X-Forwarded-For: 9.9.9.9"] : []), ...(secret === undefined ? [] : [`Authorization: Bearer ${secret}`])];
          const { status, sent } = await throwAt(at, server, [verb, target, search, [...own, ...more], text]);
          const told = `${sent}\n${text}\n-> ${status}`;
          expect(status, told).toBeGreaterThanOrEqual(200);
          expect(status, told).toBeLessThan(500);
          seen.add(status);
          const guarded = server === "dashboard" || stranger;
          if (guarded && secret === undefined && status < 300) expect(OPEN.has(target.split("?")[0] as string), told).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405]));
    expect((await get(at[server], server === "daemon" ? "/health" : "/")).status).toBe(200);
  });
});
