import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { bearer, get, guarded, REMOTE, send } from "./auth.harness.ts";
import { nowhere, recorder } from "./far-daemon.harness.ts";

const LEGACY = "the-single-bearer-of-old";
const HERE = "http://localhost:18800";
const action = (node: string, task = "task_x", kind = "cancel") => `/api/task/action?${new URLSearchParams({ node, task, kind })}`;
const messages = (agent: string) => `/api/public/agents/${agent}/messages`;
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((card) => card?.family === "IPv4" && !card.internal)?.address;

describe("the public agent endpoint", () => {
  it("AUTH-02 the order is 401, 403 scope, 404 agent, 403 private, 400 body, 502 daemon", async () => {
    const at = await guarded({ dashboard: { daemonUrl: await nowhere() } });
    const [foo, all] = await Promise.all([at.token("agent:foo"), at.token("agent:*")]);
    const ask = async (agent: string, body: unknown, secret?: string) =>
      (await send(at.dashboard, messages(agent), body, secret === undefined ? {} : bearer(secret))).status;
    expect(await ask("bar", "{", "wrong")).toBe(401);
    expect(await ask("bar", "{", foo.secret)).toBe(403);
    expect(await ask("bar", "{", all.secret)).toBe(404);
    expect(await ask("hidden", "{", all.secret)).toBe(403);
    expect(await ask("foo", "{", foo.secret)).toBe(400);
    for (const body of [{}, { message: "" }, { message: 1 }, [], "null", { message: "x", context: { sender: 1 } }, { message: "x", agent: "hidden" }]) {
      expect(await ask("foo", body, foo.secret), JSON.stringify(body)).toBe(400);
    }
    expect(await ask("foo", { message: "x" }, foo.secret)).toBe(502);
  });

  it("AUTH-03 without a token a broken body or an unknown content type is 401", async () => {
    const at = await guarded();
    expect((await send(at.dashboard, messages("foo"), "{")).status).toBe(401);
    expect((await send(at.dashboard, messages("foo"), "x", { "content-type": "text/plain" })).status).toBe(401);
    expect((await send(at.dashboard, messages("nobody"), {})).status).toBe(401);
  });

  it("API-01 API-05 answers the result of POST /task as JSON, attributed to public-api whatever the body says", async () => {
    const at = await guarded();
    const { id, secret } = await at.token("agent:foo");
    const body = { message: "hello there", context: { channel: "botmsg", chatId: "c7", sender: "visitor" } };
    const answer = await send(at.dashboard, messages("foo"), body, bearer(secret));
    expect(answer.status).toBe(200);
    const task = await send(at.daemon, "/task", { agent: "foo", message: "hello there" });
    expect(Object.keys(answer.body).sort()).toEqual(Object.keys(task.body).sort());
    expect(answer.body).toMatchObject({ ok: true, status: "ok", agent: "foo", reply: "hello there" });
    expect(await at.kernel.traces.get(answer.body.taskId as string)).toMatchObject({ channel: "public-api", chat: "c7", account: id, sender: "visitor" });
  });

  it("conversations of two tokens are never the same, though they name the same chat", async () => {
    const at = await guarded();
    const tokens = await Promise.all([at.token("agent:foo"), at.token("agent:foo")]);
    for (const { secret } of tokens) await send(at.dashboard, messages("foo"), { message: "x", context: { chatId: "same" } }, bearer(secret));
    const conversations = at.tier.turns.map(({ turn }) => turn.route.conversation);
    expect(new Set(conversations).size).toBe(2);
  });

  it("API-06 FAULT-70 a run that fails is 200 with the failed result; 502 is for a daemon that cannot be reached", async () => {
    const at = await guarded();
    const { secret } = await at.token("agent:*");
    expect(await send(at.dashboard, messages("foo"), { message: "fail now" }, bearer(secret))).toMatchObject({
      status: 200,
      body: { ok: false, status: "error", error: expect.stringContaining("the engine said no") },
    });
    const cut = await guarded({ dashboard: { daemonUrl: await nowhere() } });
    const token = await cut.token("agent:*");
    expect(await send(cut.dashboard, messages("foo"), { message: "x" }, bearer(token.secret))).toMatchObject({
      status: 502,
      body: { code: "SVC_DASHBOARD_NO_DAEMON" },
    });
    expect(await get(cut.dashboard, "/api/live")).toMatchObject({ status: 200, body: { daemons: [{ ok: false, error: expect.any(String) }] } });
    expect((await get(cut.dashboard, "/api/agents")).status).toBe(502);
  });

  it("runs on the daemon that daemonUrl names, with the operator token for it, and passes its words on", async () => {
    const behind = await guarded({ dashboard: false });
    const front = await guarded({ dashboard: { daemonUrl: `${behind.daemon}/` } });
    const { id, secret } = await front.token("agent:foo");
    const answer = await send(front.dashboard, messages("foo"), { message: "far away", context: { chatId: "c" } }, bearer(secret));
    expect(answer).toMatchObject({ status: 200, body: { ok: true, reply: "far away" } });
    expect(front.tier.prompts).toEqual([]);
    expect(await behind.kernel.traces.get(answer.body.taskId as string)).toMatchObject({ channel: "public-api", chat: `${id}/c` });
    expect((await get(front.dashboard, "/api/task/history")).body).toMatchObject({ tasks: [{ id: answer.body.taskId, messagePreview: "far away" }] });

    const refusing = await recorder(401, { error: "no" });
    const refused = await guarded({ dashboard: { daemonUrl: refusing.url, daemons: [{ name: "far", url: refusing.url, token: "operator-token-of-far" }] } });
    const token = await refused.token("agent:foo");
    expect(await send(refused.dashboard, messages("foo"), { message: "x" }, bearer(token.secret))).toMatchObject({
      status: 502,
      body: { code: "SVC_DASHBOARD_REFUSED" },
    });
    expect(refusing.asked[0]?.headers.authorization).toBe("Bearer operator-token-of-far");
  });
});

describe("the single token", () => {
  it("AUTH-09 with dashboard.token set, it or a scoped dashboard:write opens writes, a reader gets 403, and the shell needs none", async () => {
    const at = await guarded({ dashboard: { token: LEGACY } });
    const [read, write] = await Promise.all([at.token("dashboard:read"), at.token("dashboard:write")]);
    const reads = async (headers: Record<string, string>) => (await get(at.dashboard, "/api/live", headers)).status;
    const writes = async (headers: Record<string, string>) => (await send(at.dashboard, action(HERE), {}, headers)).status;
    expect([await reads({}), await writes({})]).toEqual([401, 401]);
    expect([await reads(bearer("wrong")), await writes(bearer("wrong"))]).toEqual([401, 401]);
    expect([await reads(bearer(LEGACY)), await writes(bearer(LEGACY))]).toEqual([200, 404]);
    expect([await reads(bearer(write.secret)), await writes(bearer(write.secret))]).toEqual([200, 404]);
    expect([await reads(bearer(read.secret)), await writes(bearer(read.secret))]).toEqual([200, 403]);
    expect(await reads({ ...REMOTE, ...bearer(LEGACY) })).toBe(200);
    expect((await get(at.dashboard, "/")).status).toBe(200);
  });

  it("CON-D12 AUTH-01 below /api/ who has no token does not learn which paths there are", async () => {
    const at = await guarded({ dashboard: { token: LEGACY } });
    for (const path of ["/api/admin/agents", "/api/", "/api/live/nowhere"]) {
      for (const headers of [{}, bearer("wrong")]) expect((await get(at.dashboard, path, headers)).status, path).toBe(401);
      expect((await send(at.dashboard, path, {}, {}, "DELETE")).status).toBe(401);
      expect(await get(at.dashboard, path, bearer(LEGACY))).toMatchObject({ status: 404, body: { code: "SVC_DASHBOARD_NOT_FOUND" } });
    }
    expect((await get(at.dashboard, "/nowhere")).status).toBe(404);
    const open = await guarded();
    expect((await get(open.dashboard, "/api/admin/agents")).status).toBe(404);
  });

  it("AUTH-10 the single token does not open the public endpoint: 401, it is no scoped token", async () => {
    const at = await guarded({ dashboard: { token: LEGACY } });
    expect(await send(at.dashboard, messages("foo"), { message: "x" }, bearer(LEGACY))).toMatchObject({
      status: 401,
      body: { code: "SVC_HTTP_BEARER_UNKNOWN" },
    });
    const { secret } = await at.token("agent:foo");
    expect((await send(at.dashboard, messages("foo"), { message: "x" }, bearer(secret))).status).toBe(200);
    expect((await get(at.daemon, "/traces", { ...REMOTE, ...bearer(LEGACY) })).status).toBe(401);
  });

  it("AUTH-11 a write outside /api needs the same authority: the guard is the route's, not a prefix", async () => {
    const runs = definePlugin({
      kind: "feature",
      name: "runs",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: ["routes"],
      setup(ctx) {
        ctx.provide.route({
          server: "dashboard",
          method: "POST",
          path: "/workflows/:id/run",
          guard: "scope:dashboard:write",
          handle: ({ params }) => ({ ran: params.id }),
        });
      },
    });
    const { scriptedTier } = await import("../kit/scripted.ts");
    const at = await guarded({ dashboard: { token: LEGACY }, options: { plugins: [scriptedTier().plugin, runs] as Plugin<never>[] } });
    expect((await send(at.dashboard, "/workflows/w/run")).status).toBe(401);
    expect((await send(at.dashboard, "/workflows/w/run", {}, bearer(LEGACY))).body).toEqual({ ran: "w" });
    expect((await send(at.daemon, "/workflows/w/run", {}, bearer(LEGACY))).status).toBe(404);
  });

  it("AUTH-12 the shell is open to everybody, carries no data and no script, and comes under a strict policy", async () => {
    const at = await guarded({
      dashboard: { token: LEGACY },
      config: {
        agents: { secretive: { name: "Mata Hari", workspace: "./w", tier: "scripted" } },
        node: { id: "n1", name: "Hidden name", bind: "127.0.0.1:0" },
      },
    });
    const { status, headers, text } = await get(at.dashboard, "/", REMOTE);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).toContain("/assets/");
    expect(text).not.toMatch(/<script(?![^>]+ src="\/assets\/)|style=|\son\w+=|secretive|Mata|Hidden/i);
    expect((await get(at.dashboard, "/api/live", REMOTE)).status).toBe(401);
    const kept = { "/": "no-cache", "/api/live": "no-store", "/nowhere": "no-store" };
    for (const [path, cached] of Object.entries(kept)) {
      const { headers } = await get(at.dashboard, path);
      const policy = headers.get("content-security-policy");
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
        expect(policy).toContain(rule);
      expect(policy).not.toContain("unsafe");
      expect(Object.fromEntries(headers)).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": cached,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
      });
    }
  });

  it("AUTH-13 unset, callers on loopback need no token; what is sent is judged; proxies, other origins and other addresses get nothing", async () => {
    const at = await guarded({ dashboard: { bind: "0.0.0.0" } });
    const read = await at.token("dashboard:read");
    const writes = async (headers: Record<string, string> = {}) => (await send(at.dashboard, action(HERE), {}, headers)).status;
    expect(await writes()).toBe(404);
    expect((await get(at.dashboard, "/api/live")).status).toBe(200);
    expect(await writes(bearer("wrong"))).toBe(401);
    expect(await writes(bearer(read.secret))).toBe(403);
    expect(await writes({ authorization: "Basic x" })).toBe(401);
    expect(await writes(REMOTE)).toBe(401);
    expect(await writes({ origin: "https://evil.example" })).toBe(403);
    expect(await writes({ origin: "null" })).toBe(403);
    expect(await writes({ "sec-fetch-site": "cross-site" })).toBe(403);
    if (ownAddress !== undefined) {
      const other = `http://${ownAddress}:${new URL(at.dashboard).port}`;
      expect((await send(other, action(HERE))).status).toBe(401);
      expect((await get(other, "/api/live")).status).toBe(401);
      expect((await get(other, "/api/live", bearer(read.secret))).status).toBe(200);
    }
    const { readFile } = await import("node:fs/promises");
    expect(await readFile(at.logFile, "utf8")).toContain("dashboard.bind is 0.0.0.0 and dashboard.token is not set");
  });

  it("AUTH-14 every dashboard route without a scope of its own asks dashboard:read for GET and dashboard:write for the rest", async () => {
    const at = await guarded();
    // A ticket changes nothing, and stands for what its bearer may read already.
    const ownScope = (path: string) => path.startsWith("/api/public/") || path === "/api/ticket";
    const routes = at.kernel.routes().filter(({ server, guard, path }) => server === "dashboard" && guard !== "open" && !ownScope(path));
    expect(routes.length).toBeGreaterThan(5);
    // Administration is for those who may change it, also where it is only looked at (AUTH-09).
    const reads = (method: string, path: string) => method === "GET" && !path.startsWith("/api/admin/");
    for (const { method, path, guard } of routes)
      expect(guard, `${method} ${path}`).toBe(reads(method, path) ? "scope:dashboard:read" : "scope:dashboard:write");
  });

  it("AUTH-09 AUTH-21 through another daemon a reader reads what readers may, and no path leaves the data of that daemon's pages", async () => {
    const far = await guarded({ dashboard: { token: "the-far-bearer" } });
    const daemons = [{ name: "far", url: far.daemon, dashboardUrl: far.dashboard, dashboardToken: "the-far-bearer" }];
    const at = await guarded({ dashboard: { token: "the-single-bearer", daemons } });
    const [reader, writer] = await Promise.all(["dashboard:read", "dashboard:write"].map((scope) => at.token(scope)));
    const status = async (path: string, secret = "") => (await rawGet(at.dashboard, `/api/via/far/${path}`, secret)) as number;
    expect([await status("api/agents", reader?.secret), await status("api/agents", writer?.secret)]).toEqual([200, 200]);
    expect([await status("api/admin/settings", reader?.secret), await status("api/admin/settings", writer?.secret)]).toEqual([403, 200]);
    // Who waits to be let into a channel is no reader's business either.
    for (const path of ["api/channels/botmsg/people", "api/Channels/phonemsg/pair"])
      expect([await status(path, reader?.secret), await status(path, writer?.secret)], path).toEqual([403, 404]);
    // Nor the labels of projects that no board shows.
    expect(await status("api/board-labels?source=forge_a&projects=a/b", reader?.secret)).toBe(403);
    expect(await status("api/board-labels?source=forge_a&projects=a/b", writer?.secret)).not.toBe(403);
    for (const path of [
      "api/Admin/settings",
      "api/x/../admin/settings",
      "api/%2e%2e/api/admin/settings",
      "api/x/%2e%2e/admin/settings",
      "api/x%2f..%2fadmin/settings",
    ])
      expect(await status(path, reader?.secret), path).toBeGreaterThanOrEqual(400);
  });

  it("CFG-04 a single token or a peer's that an unset variable left empty opens nothing", async () => {
    const at = await guarded({
      dashboard: { token: "${UNSET}" },
      config: { mesh: { enabled: true, peers: [{ name: "b", url: "http://192.0.2.1:1", token: "${UNSET}" }] } },
    });
    expect(at.kernel.servers).toEqual([]);
    expect(at.kernel.health().problems.join()).toMatch(/feature-dashboard.*dashboard\.token.*empty secret/s);
    expect((await get(at.daemon, "/traces", { ...REMOTE, authorization: "Bearer " })).status).toBe(401);
    expect((await get(at.daemon, "/traces", { ...REMOTE, authorization: "Bearer undefined" })).status).toBe(401);
    expect((await get(at.daemon, "/traces?token=", REMOTE)).status).toBe(401);
  });
});

describe("tokens in URLs", () => {
  it("AUTH-15 ?token= opens what a header would, the header wins, a revoked one is 401, and no log keeps it", async () => {
    const at = await guarded({ dashboard: { token: LEGACY } });
    const { id, secret } = await at.token("dashboard:read");
    const status = async (path: string, headers: Record<string, string> = {}) => (await get(at.dashboard, path, headers)).status;
    expect(await status(`/api/live?token=${secret}`)).toBe(200);
    expect(await status(`/api/live?token=${encodeURIComponent(LEGACY)}`)).toBe(200);
    expect(await status(`/api/live?token=${secret}`, bearer("wrong"))).toBe(401);
    expect(await status("/api/live?token=wrong", bearer(secret))).toBe(200);
    await at.svc("token", "revoke", id);
    expect(await status(`/api/live/stream?token=${secret}`)).toBe(401);
    expect(await status(`/api/none?token=${secret}`)).toBe(401);
    expect(await status(`/none?token=${secret}`)).toBe(404);
    await at.kernel.stop();
    const { readFile } = await import("node:fs/promises");
    const log = await readFile(at.logFile, "utf8");
    for (const text of [secret, LEGACY, encodeURIComponent(LEGACY)]) expect(log).not.toContain(text);
  });
});

/** The status of a path that is sent as it is written: no client has shortened it. */
function rawGet(base: string, path: string, secret: string): Promise<number> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, headers: { authorization: `Bearer ${secret}` } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on("error", reject).end();
  });
}
