import { describe, expect, it, vi } from "vitest";
import { bearer, framesOf, type Guarded, get, guarded, REMOTE, send } from "./auth.harness.ts";
import { nowhere, recorder } from "./far-daemon.harness.ts";

const LEGACY = "the-single-bearer-of-old";
const HERE = "http://localhost:18800";
const action = (node: string, task = "task_x", kind = "cancel") => `/api/task/action?${new URLSearchParams({ node, task, kind })}`;

describe("actions on tasks", () => {
  it("AUTH-21 an unlisted node is 400 and nothing leaves; a kind that does not exist is 400", async () => {
    const outside = await recorder(200, {});
    const listed = await recorder(200, { ok: true });
    const at = await guarded({ dashboard: { daemons: [{ name: "far", url: listed.url, token: "operator-token-of-far" }] } });
    const { port } = new URL(listed.url);
    for (const node of [
      outside.url,
      `${listed.url}@127.0.0.1`,
      `http://x@127.0.0.1:${port}`,
      `${listed.url}/more`,
      `${listed.url}?x`,
      `http://localhost:${port}`,
      "far",
      "file:///etc/passwd",
    ]) {
      expect(await send(at.dashboard, action(node)), node).toMatchObject({ status: 400, body: { code: "SVC_DASHBOARD_NODE" } });
    }
    for (const kind of ["delete", "Cancel", "../cancel", ""]) expect((await send(at.dashboard, action(listed.url, "t", kind))).status, kind).toBe(400);
    expect((await send(at.dashboard, "/api/task/action")).status).toBe(400);
    expect([...outside.asked, ...listed.asked]).toEqual([]);
  });

  it("AUTH-21 a listed daemon is asked with its own token and its status is passed on; a redirect takes the token nowhere", async () => {
    const listed = await recorder(409, { error: "not now", code: "X" });
    const outside = await recorder(200, {});
    const sly = await recorder(307, {}, { location: `${outside.url}/api/tasks/t/cancel` });
    const at = await guarded({
      dashboard: {
        daemons: [
          { name: "far", url: listed.url, token: "operator-token-of-far" },
          { name: "sly", url: sly.url, token: "operator-token-of-sly" },
        ],
      },
    });
    const answer = await send(at.dashboard, action(`${listed.url}/`, "task/../x y", "followup"), { message: "more", replace: true });
    expect(answer).toMatchObject({ status: 409, body: { error: "not now", code: "X" } });
    expect(listed.asked).toMatchObject([
      { method: "POST", url: "/api/tasks/task%2F..%2Fx%20y/followup", headers: { authorization: "Bearer operator-token-of-far" } },
    ]);
    expect(JSON.parse(listed.asked[0]?.body ?? "")).toEqual({ message: "more", replace: true });
    expect((await send(at.dashboard, action(sly.url))).status).toBe(502);
    expect(outside.asked).toEqual([]);
    expect((await send(at.dashboard, action(await nowhere()))).status).toBe(400);
  });

  it("cancels and follows up on this daemon's tasks, with 404 for one that is over", async () => {
    const at = await guarded();
    const held = at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "hold", agent: "foo" });
    await vi.waitFor(() => expect(at.tier.held).toBe(1));
    const [{ id = "" } = {}] = at.kernel.tasks.running();
    expect((await get(at.dashboard, "/api/agents")).body).toMatchObject({ agents: [{ id: "foo", active: 1, runningTasks: [{ id }] }, {}, {}] });
    expect((await send(at.dashboard, action(HERE, id, "followup"), { replace: true })).status).toBe(400);
    expect(await send(at.dashboard, action(HERE, id, "followup"), { message: "and then", sender: "op" })).toMatchObject({
      status: 200,
      body: { ok: true, replaced: false },
    });
    expect(await send(at.dashboard, action(HERE, id), { reason: "enough" })).toMatchObject({ status: 200, body: { ok: true, taskId: id } });
    expect(await held).toMatchObject({ ok: false, errorKind: "cancelled", error: "cancelled: enough" });
    expect((await send(at.dashboard, action(HERE, id))).status).toBe(404);
    await vi.waitFor(() => expect(at.tier.prompts).toContain("and then"));
  });
});

describe("streams", () => {
  const openStream = async (at: Guarded, path: string) => framesOf(await fetch(`${at.dashboard}${path}`));

  it("the live stream begins with what GET /api/live answers and goes on with what changes", async () => {
    const at = await guarded();
    const frames = await openStream(at, "/api/live/stream");
    const first = (await frames.next()).value;
    expect(first).toEqual({ event: "snapshot", data: (await get(at.dashboard, "/api/live")).body });
    const held = at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "hold", agent: "foo" });
    const seen: unknown[] = [];
    for await (const { event, data } of frames) {
      seen.push(event === "event" ? data.type : event);
      if (event === "daemon") {
        expect(data).toMatchObject({ name: "Node 1", ok: true, agents: [{ id: "foo", active: 1 }, {}, {}] });
        break;
      }
    }
    expect(seen.slice(0, 2)).toEqual(["message:matched", "task:started"]);
    at.tier.release();
    await held;
  });

  it("the task stream shows one task to its end, is 404 for an unknown one, and says at once how a finished one ended", async () => {
    const at = await guarded();
    expect((await get(at.dashboard, "/api/task/stream?task=task_none")).status).toBe(404);
    const held = at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "hold", agent: "foo" });
    await vi.waitFor(() => expect(at.tier.held).toBe(1));
    const [{ id = "" } = {}] = at.kernel.tasks.running();
    const frames = await openStream(at, `/api/task/stream?task=${id}`);
    expect((await frames.next()).value).toMatchObject({ event: "snapshot", data: { running: [{ id }], queued: [] } });
    await at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "another", agent: "foobar" });
    at.tier.release();
    await held;
    const rest: string[] = [];
    for await (const { event, data } of frames) rest.push(`${event} ${data.ref === id}`);
    expect(rest).toEqual(["task:completed true"]);
    const late: string[] = [];
    for await (const { event } of await openStream(at, `/api/task/stream?task=${id}`)) late.push(event);
    expect(late).toEqual(["snapshot", "task:completed"]);
  });
});

describe("the server", () => {
  it("a port that is taken fails the dashboard alone, with the reason; a reload opens, moves and closes it", async () => {
    const taken = await recorder(200, {});
    const { port } = new URL(taken.url);
    const at = await guarded({ dashboard: { port: Number(port) } });
    expect(at.kernel.health()).toMatchObject({
      ok: true,
      problems: [expect.stringMatching(new RegExp(`feature-dashboard.*127.0.0.1:${port}.*another program`))],
    });
    const { readFile, writeFile } = await import("node:fs/promises");
    const { join } = await import("node:path");
    const file = join(at.folder, "svc.json");
    const change = async (dashboard: unknown) => {
      await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, "utf8")) as object), dashboard }));
      return at.kernel.reload();
    };
    expect((await change({ enabled: true, port: 0 })).failed).toEqual([]);
    const [server] = at.kernel.servers;
    const base = `http://127.0.0.1:${server?.port}`;
    expect((await get(base, "/api/live")).status).toBe(200);
    const stream = framesOf(await fetch(`${base}/api/live/stream`));
    await stream.next();
    expect((await change({ enabled: true, port: server?.port, token: LEGACY })).failed).toEqual([]);
    for (let frame = await stream.next(); !frame.done; frame = await stream.next());
    expect((await get(base, "/api/live")).status).toBe(401);
    expect((await get(base, "/api/live", bearer(LEGACY))).status).toBe(200);
    await change({ enabled: false });
    await expect(fetch(base)).rejects.toThrow();
    expect(at.kernel.servers).toEqual([]);
  });

  it("opens no port where the kernel is embedded without one, and its routes can be mounted", async () => {
    const at = await guarded({ options: { listen: false } });
    expect(at.kernel.servers).toEqual([]);
    const { fastify } = await import("fastify");
    const app = fastify();
    await app.register(await at.kernel.routesPlugin("dashboard"), { prefix: "/board" });
    const base = await app.listen({ host: "127.0.0.1", port: 0 });
    expect((await get(base, "/board/api/live")).body).toMatchObject({ daemons: [{ ok: true }] });
    expect((await get(base, "/board/api/live", REMOTE)).status).toBe(401);
    await app.close();
    await expect(at.kernel.routesPlugin("nowhere")).rejects.toMatchObject({ code: "SVC_SERVER_UNKNOWN" });
  });
});
