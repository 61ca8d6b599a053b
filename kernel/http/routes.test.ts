import type { Agent, Message, TaskEvent, TaskResult, Trace } from "@svc/sdk";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBus } from "../bus/index.ts";
import { fail } from "../errors.ts";
import type { KernelPort, RunningTask } from "../port.ts";
import { bearer, collect, deferred, frames, json, ownAddress, peer, REMOTE, rawExchange, type Serving, serve, tableAuthority, token } from "./http.harness.ts";
import { kernelRoutes } from "./routes/index.ts";

type Running = {
  message: Message;
  task: RunningTask;
  listen: (event: TaskEvent) => void;
  end: (result: Partial<TaskResult>) => void;
  result: Promise<TaskResult>;
};

/** A kernel in memory: tasks run until the test ends them, `echo` ends by itself. */
function memoryKernel() {
  const bus = createBus({ node: "here", ringSize: 1000, onListenerError: expect.unreachable });
  const agent = (id: string): Agent => ({
    id,
    name: id.toUpperCase(),
    workspace: `/secret/${id}`,
    tier: "local",
    mentions: [id],
    access: "private",
    settings: {},
  });
  const agents = new Map(["echo", "slow"].map((id) => [id, agent(id)]));
  const live = new Map<string, Running>();
  const seen = new Map<string, string>();
  const traces: Trace[] = [];
  const state = { draining: false, defaultAgent: undefined as string | undefined, reload: undefined as Error | undefined, accepted: 0 };

  function start(message: Message, listen: (event: TaskEvent) => void = () => {}): Running {
    if (state.draining) throw fail("SVC_DAEMON_DRAINING");
    const known = message.dedupKey === undefined ? undefined : seen.get(message.dedupKey);
    if (known !== undefined) throw fail("SVC_TASK_DUPLICATE", { task: known });
    state.accepted += 1;
    const id = `task_${state.accepted}`;
    if (message.dedupKey !== undefined) seen.set(message.dedupKey, id);
    const settled = deferred<TaskResult>();
    const chosen = message.agent ?? "";
    const task = {
      id,
      agent: chosen,
      step: "classify",
      startedAt: 1,
      channel: message.channel,
      chat: message.chat,
      conversation: `${chosen}:${message.channel}:${message.chat}`,
    };
    const end = (result: Partial<TaskResult>) => {
      if (!live.delete(id)) return;
      const whole = { ok: true, taskId: id, agent: chosen, reply: "", status: "ok" as const, durationMs: 1, ...result };
      traces.push({
        id,
        rootId: "root",
        agent: chosen,
        channel: message.channel,
        chat: message.chat,
        conversation: task.conversation,
        entry: message.entry,
        status: whole.status,
        startedAt: 1,
        attempts: 1,
        steps: [],
        message: message.text,
        response: whole.reply,
      });
      settled.resolve(whole);
    };
    const running = { message, task, listen, end, result: settled.promise };
    live.set(id, running);
    listen({ type: "accepted", taskId: id, rootId: "root" });
    if (chosen === "echo") {
      queueMicrotask(() => {
        listen({ type: "started", taskId: id, agent: chosen });
        listen({ type: "text", text: message.text });
        end({ reply: message.text });
      });
    }
    return running;
  }

  const port: KernelPort = {
    node: { id: "here", name: "here" },
    bus,
    agents: { get: (id) => agents.get(id), list: () => [...agents.values()] },
    tasks: {
      accept: async (message) => ({ taskId: start(message).task.id, rootId: "root", duplicate: false }),
      run: async (message, listen) => start(message, listen).result,
      deliver: () => expect.unreachable(),
      async cancel(id) {
        const found = live.get(id);
        found?.end({ ok: false, status: "error", errorKind: "cancelled", error: "cancelled" });
        return found !== undefined;
      },
      async followup(id, { text, replace, sender }) {
        const found = live.get(id);
        if (found === undefined) return undefined;
        if (replace) found.end({ ok: false, status: "error", errorKind: "cancelled" });
        const next = start({ ...found.message, entry: "followup", text, ...(sender === undefined ? {} : { sender: { id: sender } }) });
        return { taskId: next.task.id, rootId: "root", duplicate: false };
      },
      running: () => [...live.values()].map(({ task }) => task),
      queued: () => [],
    },
    traces: {
      get: async (id) => traces.find((trace) => trace.id === id),
      list: async ({ agent: of, limit = 100 } = {}) => traces.filter((trace) => of === undefined || trace.agent === of).slice(-limit),
    },
    get defaultAgent() {
      return state.defaultAgent;
    },
    health: () => ({
      ok: true,
      state: "running",
      node: { id: "here", name: "here" },
      version: "1.2.3",
      pid: 7,
      uptimeSeconds: 1,
      tasks: { running: live.size, queued: 0 },
      plugins: [],
      problems: [],
    }),
    async reload() {
      if (state.reload !== undefined) throw state.reload;
      return { reloaded: true, changed: ["agents.echo.model"], restartRequired: [], failed: [] };
    },
    routes: () => [],
    authorities: () => [],
    subscriptions: (id) => (id === "echo" ? [{ kinds: ["run"] }] : []),
    matches: (id, { kind }) => id === "echo" && kind === "run",
  };
  return { port, state, live, bus, traces };
}

let kernel: ReturnType<typeof memoryKernel>;
let server: Serving;
beforeEach(async () => {
  kernel = memoryKernel();
  server = await serve(kernelRoutes(kernel.port), { authorities: () => [tableAuthority({ mesh: peer("b"), scoped: token("dashboard:write", "agent:*") })] });
});
afterEach(() => server.close({ graceMs: 50 }));

const call = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};
const only = () => [...kernel.live.values()][0] as Running;
const until = (holds: () => boolean) => vi.waitFor(() => expect(holds()).toBe(true), { interval: 1, timeout: 10_000 });
const asJson = { accept: "application/json" };

describe("POST /task", () => {
  it("API-01 streams what happens and ends with the result; JSON is that result alone", async () => {
    const response = await fetch(`${server.url}/task`, json({ agent: "echo", message: "hello" }));
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const got = await collect(frames(response));
    expect(got.map(([name]) => name)).toEqual(["accepted", "started", "text", "done"]);
    expect(got[0]?.[1]).toEqual({ taskId: "task_1", rootId: "root" });
    expect(got[2]?.[1]).toEqual({ text: "hello" });
    const result = { ok: true, taskId: "task_1", agent: "echo", reply: "hello", status: "ok", durationMs: 1 };
    expect(got.at(-1)?.[1]).toEqual(result);
    expect(await call("/task", json({ agent: "echo", message: "hello" }, asJson))).toMatchObject({ status: 200, body: { ...result, taskId: "task_2" } });
    for (const accept of ["*/*", "text/event-stream", "application/json, text/event-stream"]) {
      expect((await fetch(`${server.url}/task`, json({ agent: "echo", message: "x" }, { accept }))).headers.get("content-type"), accept).toContain(
        "event-stream",
      );
    }
  });

  it("API-02 each frame is there when it happens, not when the task ends", async () => {
    const stream = frames(await fetch(`${server.url}/task`, json({ agent: "slow", message: "go" })));
    expect((await stream.next()).value).toEqual(["accepted", { taskId: "task_1", rootId: "root" }]);
    only().listen({ type: "text", text: "first" });
    expect((await stream.next()).value).toEqual(["text", { text: "first" }]);
    only().listen({ type: "step", step: { id: "1", name: "read", phase: "start" } });
    expect((await stream.next()).value).toEqual(["step", { step: { id: "1", name: "read", phase: "start" } }]);
    only().end({ reply: "first" });
    expect((await stream.next()).value).toEqual(["done", expect.objectContaining({ reply: "first" })]);
    expect((await stream.next()).done).toBe(true);
  });

  it("API-03 FAULT-31 a caller who hangs up, streaming or waiting, does not end the task", async () => {
    for (const headers of [{}, asJson]) {
      const leave = new AbortController();
      const left = fetch(`${server.url}/task`, { ...json({ agent: "slow", message: "go" }, headers), signal: leave.signal }).then((response) =>
        response.text(),
      );
      await until(() => kernel.live.size === 1);
      leave.abort();
      await expect(left).rejects.toThrow();
      const running = only();
      for (let count = 0; count < 50; count += 1) {
        running.listen({ type: "text", text: "still working" });
        await new Promise((resolve) => setImmediate(resolve));
      }
      running.end({ reply: "late" });
      expect((await running.result).reply).toBe("late");
      expect(await call(`/traces/${running.task.id}`)).toMatchObject({ status: 200, body: { response: "late", status: "ok" } });
    }
    expect(server.log.lines.filter((line) => line.includes("failed"))).toEqual([]);
  });

  it("API-06 a run that failed is 200 with the failed result", async () => {
    const answer = call("/task", json({ agent: "slow", message: "go" }, asJson));
    await until(() => kernel.live.size === 1);
    only().end({ ok: false, status: "timeout", error: "timed out after 60s", errorKind: "timeout" });
    expect(await answer).toMatchObject({ status: 200, body: { ok: false, status: "timeout", errorKind: "timeout" } });
  });

  it("passes on exactly the fields of the specification, and one shared conversation where none is named", async () => {
    void call(
      "/task",
      json(
        { agent: "slow", message: "m", contextStrategy: "planner", freshSession: true, context: { channel: "botmsg", chatId: "42", sender: "ann" } },
        asJson,
      ),
    ).catch(() => {});
    await until(() => kernel.live.size === 1);
    expect(only().message).toEqual({
      entry: "task",
      agent: "slow",
      text: "m",
      channel: "botmsg",
      chat: "42",
      sender: { id: "ann" },
      options: { contextStrategy: "planner", freshSession: true },
    });
    only().end({});
    void call("/task", json({ agent: "slow", message: "m" }, asJson)).catch(() => {});
    await until(() => kernel.live.size === 1);
    expect(only().message).toEqual({ entry: "task", agent: "slow", text: "m", channel: "http", chat: "default", options: {} });
    only().end({});
  });

  it("refuses what it does not know: agent 404, fields and CTX-08 strategies 400 with the field", async () => {
    expect(await call("/task", json({ agent: "nobody", message: "x" }))).toMatchObject({ status: 404, body: { code: "SVC_AGENT_UNKNOWN" } });
    for (const [body, path] of [
      [{ agent: "echo" }, "message"],
      [{ agent: "echo", message: "" }, "message"],
      [{ message: "x" }, "agent"],
      [{ agent: "echo", message: "x", contextStrategy: "clever" }, "contextStrategy"],
      [{ agent: "echo", message: "x", freshSession: "true" }, "freshSession"],
      [{ agent: "echo", message: "x", model: "m" }, "model"],
      [{ agent: "echo", message: "x", context: { channel: "c", admin: true } }, "context.admin"],
    ] as const) {
      expect(await call("/task", json(body))).toMatchObject({ status: 400, body: { path, field: path.split(".").at(-1) } });
    }
    expect(kernel.state.accepted).toBe(0);
  });

  it("FAULT-38 the same Idempotency-Key again answers 200 with the first task, and starts nothing", async () => {
    const keyed = json({ agent: "echo", message: "once" }, { "idempotency-key": "k1" });
    await (await fetch(`${server.url}/task`, keyed)).text();
    expect(await call("/task", keyed)).toMatchObject({ status: 200, body: { taskId: "task_1", duplicate: true } });
    expect(await call("/task", json({ agent: "echo", message: "once" }, { ...asJson, "idempotency-key": "k1" }))).toMatchObject({
      status: 200,
      body: { taskId: "task_1" },
    });
    expect(kernel.state.accepted).toBe(1);
    await (await fetch(`${server.url}/task`, json({ agent: "echo", message: "x" }, { "idempotency-key": "k1", ...REMOTE, ...bearer("mesh") }))).text();
    expect(kernel.state.accepted).toBe(2);
    expect((await call("/task", json({ agent: "echo", message: "x" }, { "idempotency-key": "k".repeat(201) }))).status).toBe(400);
  });

  it("is 503 with Retry-After while the daemon drains, in both forms", async () => {
    kernel.state.draining = true;
    for (const headers of [{}, asJson]) {
      const { status, headers: answered, body } = await call("/task", json({ agent: "echo", message: "x" }, headers));
      expect([status, body.code]).toEqual([503, "SVC_DAEMON_DRAINING"]);
      expect(Number(answered.get("retry-after"))).toBeGreaterThan(0);
    }
  });
});

describe("POST /ask", () => {
  it("API-04 asks the default agent, and is a clear 400 where none is set", async () => {
    expect(await call("/ask", json({ message: "hi" }))).toMatchObject({
      status: 400,
      body: { code: "SVC_AGENT_NO_DEFAULT", error: expect.stringContaining("node.defaultAgent") },
    });
    kernel.state.defaultAgent = "echo";
    expect((await call("/ask", json({ message: "hi" }))).body).toEqual({ agent: "echo", reply: "hi", taskId: "task_1" });
    expect((await call("/ask", json({ text: "ho" }))).body).toEqual({ agent: "echo", reply: "ho", taskId: "task_2" });
    expect(await call("/ask", json({}))).toMatchObject({ status: 400, body: { field: "message" } });
  });
});

describe("live tasks", () => {
  const begin = async () => {
    const answer = call("/task", json({ agent: "slow", message: "go", context: { channel: "botmsg", chatId: "7", sender: "ann" } }, asJson));
    await until(() => kernel.live.size > 0);
    return { answer, id: only().task.id };
  };

  it("API-07 cancel answers ok once, and 404 for a task that is over or unknown", async () => {
    const { answer, id } = await begin();
    expect((await call(`/api/tasks/${id}/cancel`, json({ reason: "enough" }))).body).toEqual({ ok: true, taskId: id });
    expect((await answer).body).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect((await call(`/api/tasks/${id}/cancel`, { method: "POST" })).status).toBe(404);
    expect((await call("/api/tasks/task_none/cancel", { method: "POST" })).status).toBe(404);
    expect(await call(`/api/tasks/${id}/cancel`, json({ why: 1 }))).toMatchObject({ status: 400, body: { path: "why" } });
  });

  it("API-09 a follow-up keeps the conversation; only the boolean true replaces; 404 when the task is over", async () => {
    const { answer, id } = await begin();
    for (const replace of ["false", "true", 1, null]) {
      expect(await call(`/api/tasks/${id}/followup`, json({ message: "more", replace }))).toMatchObject({ status: 400, body: { field: "replace" } });
    }
    expect((await call(`/api/tasks/${id}/followup`, json({ replace: true }))).body.field).toBe("message");
    expect((await call(`/api/tasks/${id}/followup`, json({ message: "more", sender: "bob" }))).body).toMatchObject({
      ok: true,
      taskId: "task_2",
      replaced: false,
    });
    expect(kernel.live.get("task_2")?.message).toMatchObject({ entry: "followup", text: "more", channel: "botmsg", chat: "7", sender: { id: "bob" } });
    expect(kernel.live.has(id)).toBe(true);
    expect((await call(`/api/tasks/${id}/followup`, json({ message: "instead", replace: true }))).body).toMatchObject({ replaced: true });
    expect((await answer).body).toMatchObject({ errorKind: "cancelled" });
    expect((await call(`/api/tasks/${id}/followup`, json({ message: "late" }))).status).toBe(404);
  });

  it("API-10 agents show each running task with its live step, and active is their number", async () => {
    const { id } = await begin();
    const slow = async () => ((await call("/agents")).body.agents as Record<string, unknown>[]).find((agent) => agent.id === "slow");
    expect(await slow()).toMatchObject({ active: 1, runningTasks: [{ id, step: "classify" }] });
    (only().task as { step: string }).step = "agent";
    expect(await slow()).toMatchObject({ active: 1, runningTasks: [{ id, step: "agent" }] });
    only().end({});
    expect(await slow()).toMatchObject({ active: 0, runningTasks: [] });
    expect(JSON.stringify(await slow())).not.toContain("/secret");
  });
});

describe("events", () => {
  const publish = (count: number, kind = "run", type = "created") =>
    Array.from({ length: count }, (_, index) => kernel.bus.publish({ kind, type, summary: `${kind} ${index}`, agentId: "echo" }).id);
  const idsOf = (body: Record<string, unknown>) => (body.events as { id: string }[]).map(({ id }) => id);

  it("EVT-03 limit keeps the newest in /events/recent and the oldest after since in /agents/:id/events, both oldest first", async () => {
    const ids = publish(10);
    expect(idsOf((await call("/events/recent?limit=3")).body)).toEqual(ids.slice(-3));
    expect(idsOf((await call(`/events/recent?limit=3&since=${ids[1]}`)).body)).toEqual(ids.slice(-3));
    expect(idsOf((await call("/agents/echo/events?limit=3")).body)).toEqual(ids.slice(-3));
    expect(idsOf((await call(`/agents/echo/events?limit=3&since=${ids[1]}`)).body)).toEqual(ids.slice(2, 5));
    expect((await call("/events/recent?limit=0")).body).toEqual({ events: [] });
    for (const limit of ["-1", "x", "1.5"]) expect((await call(`/events/recent?limit=${limit}`)).status, limit).toBe(400);
  });

  it("EVT-01 a since that left the buffer is a gap; EVT-04 filters do not hide the position", async () => {
    const [first, second] = publish(2, "signal", "emitted");
    const [third] = publish(1);
    expect((await call(`/events/recent?since=${first}&kind=run`)).body).toEqual({ events: [expect.objectContaining({ id: third })] });
    expect(idsOf((await call(`/events/recent?since=${first}&skip=created`)).body)).toEqual([second]);
    expect((await call("/events/recent?since=evt_0123456789_zz")).body).toMatchObject({ gap: true });
    expect(idsOf((await call("/events/recent?since=1&origin=local&agent=echo")).body)).toEqual([first, second, third]);
    expect((await call("/events/recent?since=2999-01-01T00:00:00Z")).body).toEqual({ events: [] });
  });

  it("EVT-05 cursor reading gives 120 events as 50, 50, 20, and next is never lost", async () => {
    const [marker] = publish(1, "signal", "emitted");
    const ids = publish(120);
    publish(5, "signal", "emitted");
    const read: string[] = [];
    const sizes: number[] = [];
    for (let since = marker as string; ; ) {
      const { body } = await call(`/agents/echo/events?since=${since}&limit=500`);
      expect(body).toMatchObject({ agentId: "echo", subscriptions: [{ kinds: ["run"] }] });
      const got = idsOf(body);
      sizes.push(got.length);
      read.push(...got);
      if (got.length === 0) {
        expect(body.next).toBe(since);
        break;
      }
      expect(body.next).toBe(got.at(-1));
      since = body.next as string;
    }
    expect(sizes).toEqual([50, 50, 20, 0]);
    expect(read).toEqual(ids);
    expect((await call("/agents/nobody/events")).status).toBe(404);
  });

  it("EVT-07 plain streams start with a status at once, carry six kinds, and agent steps as task", async () => {
    const stream = frames(await fetch(`${server.url}/events`));
    expect((await stream.next()).value).toEqual(["status", expect.objectContaining({ node: "here" })]);
    for (const kind of ["message", "announce", "reminder", "agent", "run", "task", "signal", "mesh", "channel"])
      publish(1, kind, kind === "agent" ? "task:completed" : "x");
    publish(1, "agent", "task:step");
    publish(1, "status", "status");
    const names: string[] = [];
    for await (const [name, data] of stream) {
      names.push(name);
      expect(data).toMatchObject({ rootId: expect.any(String), node: "here" });
      if (name === "status") break;
      if (names.length === 6) expect(data).toMatchObject({ kind: "task:step" });
    }
    expect(names).toEqual(["run", "task", "signal", "mesh", "channel", "task", "status"]);
  });

  it("EVT-08 envelope streams carry every envelope and nothing else, by kind, skip, origin and agent, not by type", async () => {
    const open = async (query: string) => frames(await fetch(`${server.url}/events?format=envelope&${query}`));
    const all = await open("type=other");
    const some = await open("kind=run,signal&skip=created&agent=echo&origin=local");
    publish(1, "message", "message:matched");
    publish(1, "run", "created");
    publish(1, "run", "ok");
    expect((await all.next()).value).toEqual(["envelope", expect.objectContaining({ type: "message:matched", summary: "message 0" })]);
    expect((await all.next()).value).toEqual(["envelope", expect.objectContaining({ type: "created" })]);
    expect((await some.next()).value).toEqual(["envelope", expect.objectContaining({ type: "ok" })]);
    expect((await call("/events?format=xml")).status).toBe(400);
  });

  it("leave nothing behind when the client goes", async () => {
    const leave = new AbortController();
    const stream = frames(await fetch(`${server.url}/events`, { signal: leave.signal }));
    await stream.next();
    leave.abort();
    await expect(stream.next()).rejects.toThrow();
    publish(3);
    expect((await call("/health")).status).toBe(200);
  });
});

describe("the rest", () => {
  it("GET /health tells this machine all and others only whether it is well", async () => {
    expect((await call("/health")).body).toMatchObject({ ok: true, version: "1.2.3", pid: 7 });
    expect((await call("/health", { headers: REMOTE })).body).toEqual({ ok: true, state: "running" });
  });

  it("GET /traces filters and refuses what is out of range; GET /traces/:id is 404 for none", async () => {
    await (await fetch(`${server.url}/task`, json({ agent: "echo", message: "one" }))).text();
    expect((await call("/traces?agent=echo&limit=5")).body).toEqual({ traces: [expect.objectContaining({ id: "task_1", message: "one" })] });
    expect((await call("/traces?agent=slow")).body).toEqual({ traces: [] });
    for (const query of ["limit=0", "limit=1001", "before=yesterday", "status=great"]) expect((await call(`/traces?${query}`)).status, query).toBe(400);
    expect((await call("/traces/task_none")).body).toMatchObject({ code: "SVC_TRACE_UNKNOWN" });
  });

  it("CFG-10 POST /reload reports what changed, and is 400 with the path when the file is broken", async () => {
    expect((await call("/reload", { method: "POST" })).body).toEqual({ reloaded: true, changed: ["agents.echo.model"], restartRequired: [], failed: [] });
    kernel.state.reload = Object.assign(new Error("agents.echo.tier is missing"), { status: 400, code: "SVC_CONFIG_INVALID", path: "agents.echo.tier" });
    expect(await call("/reload", { method: "POST" })).toMatchObject({ status: 400, body: { path: "agents.echo.tier" } });
  });
});

describe("guards", () => {
  it("AUTH-18 nothing but /health is open to another machine", async () => {
    expect(server.routes().map(({ method, path, guard }) => `${method} ${path} ${guard}`)).toEqual([
      "POST /task mesh",
      "POST /ask mesh",
      "POST /api/tasks/:taskId/cancel mesh",
      "POST /api/tasks/:taskId/followup mesh",
      "GET /agents mesh",
      "GET /agents/:id/events mesh",
      "GET /events mesh",
      "GET /events/recent mesh",
      "GET /traces mesh",
      "GET /traces/:id mesh",
      "GET /health open",
      "POST /reload mesh",
    ]);
    for (const { method, path, guard } of server.routes().filter(({ guard: own }) => own !== "open")) {
      const target = path.replace(/:\w+/g, "x");
      const asked = async (headers: Record<string, string>) => (await fetch(`${server.url}${target}`, { method, headers: { ...REMOTE, ...headers } })).status;
      expect(await asked({}), `${method} ${path} ${guard}`).toBe(401);
      expect(await asked(bearer("wrong"))).toBe(401);
      expect(await asked(bearer("scoped"))).toBe(403);
    }
    expect((await call("/traces", { headers: { ...REMOTE, ...bearer("mesh") } })).status).toBe(200);
    const own = ownAddress();
    if (own !== undefined) expect((await fetch(`http://${own}:${server.port}/agents`)).status).toBe(200);
  });

  it("whatever is sent, the answer is never 5xx, and never 2xx to a stranger beyond /health", async () => {
    const path = fc.oneof(
      fc.constantFrom(
        "/task",
        "/ask",
        "/agents",
        "/agents/echo/events",
        "/events/recent",
        "/traces",
        "/traces/x",
        "/health",
        "/reload",
        "/api/tasks/x/cancel",
        "/api/tasks/x/followup",
      ),
      fc.webPath(),
      fc.stringMatching(/^\/[\x21-\x7e]{0,40}$/),
    );
    const header = fc.constantFrom(
      "Accept: application/json",
      "Content-Type: application/json",
      "Content-Type: text/plain",
      "Origin: null",
      "Authorization: Bearer wrong",
      "Authorization: Basic x",
      "Sec-Fetch-Site: cross-site",
      "Idempotency-Key: k",
      "Accept: */*",
      "Expect: 100-continue",
      "Upgrade: websocket",
      "Connection: keep-alive",
    );
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({ agent: fc.constantFrom("echo", "nobody"), message: fc.string() }).map((value) => JSON.stringify(value)),
      fc
        .dictionary(fc.constantFrom("agent", "message", "context", "__proto__", "replace", "constructor"), fc.jsonValue())
        .map((value) => JSON.stringify(value)),
    );
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND"),
        path,
        fc.webQueryParameters(),
        fc.uniqueArray(header, { maxLength: 5, selector: (line) => line.split(":")[0] }),
        body,
        fc.boolean(),
        async (method, target, query, headers, text, stranger) => {
          const lines = [
            `${method} ${target}${query === "" ? "" : `?${query}`} HTTP/1.1`,
            "Host: localhost",
            ...headers.filter((line) => !line.startsWith("Connection")),
            "Connection: close",
            ...(stranger ? ["X-Forwarded-For: 9.9.9.9"] : []),
            `Content-Length: ${Buffer.byteLength(text)}`,
          ];
          const { status, head } = await rawExchange(server.port, `${lines.join("\r\n")}\r\n\r\n${text}`);
          expect(status, `${lines.join("\n")}\n${text}\n${head}`).toBeLessThan(500);
          seen.add(status);
          if (stranger && status >= 200 && status < 300) expect(target.split("?")[0]).toBe("/health");
        },
      ),
      { numRuns: 400 },
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405, 415]));
    expect(seen).not.toContain(0);
    expect(server.log.lines.filter((line) => line.includes("a request failed"))).toEqual([]);
  });
});
