import { cp } from "node:fs/promises";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { copyState } from "../kit/test-store.ts";
import { flow, type RunDetail, stage } from "./wf.harness.ts";

const kinds = ({ timeline }: RunDetail) => timeline.map(({ kind, step }) => (step === undefined ? kind : `${kind} ${step}`));

/** Two agents after each other, beside a person, a sub-process and a timer. */
const BUSY = flow(
  [
    { id: "work", kind: "agent", message: "hold {{ input.what }}" },
    { id: "next", kind: "agent", message: "say {{ in.reply }}" },
    { id: "ask", kind: "userTask", title: "Go on?", assignee: "role:lead", form: [{ name: "ok", kind: "boolean" }] },
    { id: "child", kind: "subProcess", workflow: "waits" },
    { id: "later", kind: "timer", for: "10m" },
    { id: "all", kind: "join" },
  ],
  "start > work, work > next, next > all, start > ask, ask > all, start > child, child > all, start > later, later > all",
);
const WAITS = flow([{ id: "forever", kind: "waitSignal", signal: "go" }], "start > forever");

describe("the states of a run", () => {
  it("WF-04 only a running run is paused and only a paused one resumed; cancel keeps the timeline and closes tasks and sub-processes", async () => {
    const { call, start, until, untilWaits, tier, events, run } = await stage({ busy: BUSY, waits: WAITS });
    const id = await start("busy", { what: "x" });
    await untilWaits(id, "work", "effect");
    await untilWaits(id, "ask", "task");
    const { children } = await untilWaits(id, "child", "child");
    const change = (action: string) => call("POST", `/api/workflows/runs/${id}/status`, { action, reason: "because" });
    expect(await change("resume")).toMatchObject({ status: 409, body: { status: "running" } });
    expect(await change("pause")).toMatchObject({ status: 200, body: { status: "paused" } });
    expect(await change("pause")).toMatchObject({ status: 409, body: { status: "paused" } });
    expect(await call("POST", `/api/workflows/runs/${id}/status`, { status: "running" })).toMatchObject({ status: 200, body: { status: "running" } });
    const before = (await run(id)).timeline.length;
    expect(await change("cancel")).toMatchObject({ status: 200, body: { status: "canceled", waits: [] } });
    for (const action of ["pause", "resume", "cancel"]) expect(await change(action)).toMatchObject({ status: 409, body: { status: "canceled" } });
    expect(await call("POST", `/api/workflows/runs/${id}/signal`, { name: "go" })).toMatchObject({ status: 409, body: { status: "canceled" } });
    const after = await run(id);
    expect(after.timeline.length).toBeGreaterThan(before);
    expect(kinds(after)).toEqual(expect.arrayContaining(["run.started", "step.ended start/1", "task.canceled ask/1", "run.canceled"]));
    await until(children[0]?.id ?? "", "canceled");
    await vi.waitFor(() => expect(tier.turns[0]?.signal.aborted).toBe(true));
    expect(events.filter(({ kind, type }) => kind === "task" && type === "canceled")).toHaveLength(1);
    expect(events.filter(({ kind, type, ref }) => kind === "run" && type === "canceled" && ref === id)).toHaveLength(1);
  });

  it("WF-05 while a run is paused no node starts, also after a restart, and timers that fall due wait; what was at work is recorded", async () => {
    const TIMED = flow(
      [
        { id: "work", kind: "agent", message: "hold" },
        { id: "next", kind: "agent", message: "next" },
        { id: "soon", kind: "timer", for: "50ms" },
        { id: "late", kind: "set", value: 1 },
      ],
      "start > work, work > next, start > soon, soon > late",
    );
    const first = await stage({ timed: TIMED });
    const id = await first.start("timed");
    await first.untilWaits(id, "work", "effect");
    await vi.waitFor(() => expect(first.tier.held).toBe(1), { timeout: 10_000 });
    await first.call("POST", `/api/workflows/runs/${id}/status`, { action: "pause" });
    first.tier.release("done");
    await vi.waitFor(async () => expect(kinds(await first.run(id))).toContain("step.ended work/1"), { timeout: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const paused = await first.run(id);
    const came = kinds(paused);
    expect(came).not.toContain("step.claimed next/1");
    // Unless it had come before the pause.
    const fired = came.includes("step.ended soon/1");
    await first.stop();

    const second = await stage({}, { folder: first.folder, tier: first.tier });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await second.run(id)).toMatchObject({ status: "paused" });
    expect(kinds(await second.run(id))).toEqual(came);
    expect(first.tier.prompts).toHaveLength(1);
    await second.call("POST", `/api/workflows/runs/${id}/status`, { action: "resume" });
    const done = await second.until(id, "completed");
    expect(kinds(done).filter((kind) => kind === "step.ended soon/1")).toHaveLength(1);
    expect(kinds(done).indexOf("step.ended soon/1") > kinds(done).indexOf("run.resumed")).toBe(!fired);
    expect(done.rootId).toBe(paused.rootId);
  });

  it("WF-06 summary=1 leaves the key context out; without it, and of one run, it is there", async () => {
    const { call, start, until } = await stage({ sum: flow([{ id: "add", kind: "set", value: "{{ input.a + 1 }}" }], "start > add") });
    const ids = [];
    for (const a of [1, 2, 3]) ids.push(await start("sum", { a }));
    await until(ids[2] as string, "completed");
    const list = async (query: string) => (await call("GET", `/api/workflows/runs?${query}`)).body as { runs: Record<string, unknown>[]; next?: string };
    const slim = await list("summary=1");
    expect(slim.runs.map(({ id }) => id)).toEqual(ids.toReversed());
    for (const run of slim.runs) for (const key of ["context", "input", "output"]) expect(run).not.toHaveProperty(key);
    expect((await list("")).runs[0]).toMatchObject({ context: { add: 4 }, input: { a: 3 } });
    expect((await call("GET", `/api/workflows/runs/${ids[0]}`)).body).toMatchObject({ context: { add: 2 } });
    const page = await list("summary=1&limit=2");
    expect(page.runs.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect((await list(`summary=1&limit=2&cursor=${page.next}`)).runs.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await list("workflow=other")).runs).toEqual([]);
    expect((await list("status=completed&workflow=sum")).runs).toHaveLength(3);
    expect((await call("GET", "/api/workflows/runs?cursor=nothing")).status).toBe(400);
    expect((await call("GET", "/api/workflows/runs/run_none")).status).toBe(404);
  });
});

describe("starting a run", () => {
  const ASKS = flow([{ id: "wait", kind: "waitSignal", signal: "go" }], "start > wait", {
    inputSchema: { who: { type: "string", required: true }, times: { type: "integer", default: 2 }, how: { type: "string", enum: ["a", "b"] } },
  });

  it("WF-12 the body is the payload, force is a query flag or a field beside it; a reference in flight is 409 without it", async () => {
    const { call, run } = await stage({ asks: ASKS });
    const start = (body: unknown, query = "", headers = {}) => call("POST", `/workflows/asks/run${query}`, body, headers);
    const plain = await start({ who: "x", more: [1] });
    expect(plain).toMatchObject({ status: 202, body: { workflowId: "asks", status: "running" } });
    expect((await run(plain.body["runId"] as string)).input).toEqual({ who: "x", more: [1], times: 2 });

    for (const force of ["", "?force=1"]) {
      expect(await start({}, force)).toMatchObject({ status: 400, body: { field: "who" } });
      expect(await start({ who: "x", times: 1.5 }, force)).toMatchObject({ status: 400, body: { field: "times" } });
      expect(await start({ who: "x", how: "c" }, force)).toMatchObject({ status: 400, body: { field: "how" } });
      expect(await start({ payload: [1] }, force)).toMatchObject({ status: 400, body: { field: "payload" } });
    }
    const entry = { payload: { who: "x" }, entryRef: "ticket-1" };
    const first = await start(entry);
    expect(first.status).toBe(202);
    expect(await start(entry)).toMatchObject({ status: 409, body: { code: "in-flight", runId: first.body["runId"] } });
    expect((await start(entry, "?force=1")).status).toBe(202);
    expect((await start({ ...entry, force: true })).status).toBe(202);
    const both = await Promise.all([1, 2, 3, 4].map(() => start({ ...entry, entryRef: "ticket-2" })));
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409]);

    const once = await Promise.all([1, 2, 3, 4].map(() => start({ who: "k" }, "", { "idempotency-key": "delivery-7" })));
    expect(new Set(once.map(({ body }) => body["runId"])).size).toBe(1);
    expect(once.map(({ status }) => status).sort()).toEqual([200, 200, 200, 202]);
    expect(await start({ payload: { who: "k" }, startKey: "delivery-7" })).toMatchObject({ status: 200, body: { duplicate: true } });
    expect(await start({ who: "other" }, "", { "idempotency-key": "delivery-7" })).toMatchObject({
      status: 422,
      body: { code: "SVC_WORKFLOW_KEY_REUSED", error: expect.stringContaining(once[0]?.body["runId"] as string) },
    });
    // As a step of another daemon does, whose input is evaluated anew when it is tried again.
    const retried = await start({ payload: { who: "other" }, startKey: "delivery-7" }, "", { "idempotency-key": "delivery-7" });
    expect(retried).toMatchObject({ status: 200, body: { duplicate: true } });
    expect((await call("POST", "/workflows/none/run", {})).status).toBe(404);
    const huge = await start({ who: "x".repeat(1_020_000) });
    expect(huge.status).toBe(413);
  });

  it("AUTH-11 AUTH-14 with a token of the dashboard a start needs it as every write does, and a read does too", async () => {
    const { page, call } = await stage({ asks: ASKS }, { token: "a-token-of-the-dashboard" });
    const bearer = { authorization: "Bearer a-token-of-the-dashboard" };
    expect((await page("POST", "/workflows/asks/run", { who: "x" })).status).toBe(401);
    const { status, body } = await page("POST", "/workflows/asks/run", { who: "x" }, bearer);
    expect(status).toBe(202);
    for (const [method, path] of [
      ["GET", "/api/workflows/runs"],
      ["GET", `/api/workflows/runs/${body["runId"]}`],
      ["POST", `/api/workflows/runs/${body["runId"]}/status`],
      ["POST", `/api/workflows/runs/${body["runId"]}/signal`],
      ["POST", `/api/workflows/runs/${body["runId"]}/restart`],
    ] as const) {
      expect((await page(method, path, method === "POST" ? {} : undefined)).status, path).toBe(401);
    }
    expect((await page("GET", "/api/workflows/runs", undefined, bearer)).status).toBe(200);
    expect((await call("GET", "/api/workflows/runs")).status).toBe(200);
  });

  it("has no routes and no service while workflows are switched off", async () => {
    let served: unknown = "not asked";
    const asks = definePlugin({
      kind: "feature",
      name: "asker",
      version: "1.0.0",
      svc: "*",
      capabilities: ["services"],
      setup: (ctx) => ({
        async start() {
          served = ctx.services.get("workflows");
        },
      }),
    }) as Plugin<never>;
    const { call } = await stage({ asks: ASKS }, { sections: { workflows: {} }, plugins: [asks] });
    expect(await call("POST", "/workflows/asks/run", { who: "x" })).toMatchObject({ status: 404, body: { code: "SVC_HTTP_NOT_FOUND" } });
    expect(served).toBeUndefined();
  });
});

describe("what the bus is told of runs", () => {
  const TOLD = flow(
    [
      { id: "work", kind: "agent", message: "say {{ input.what }}" },
      { id: "soon", kind: "timer", for: "100ms" },
      { id: "child", kind: "subProcess", workflow: "child", input: { what: "{{ input.what }}" } },
      { id: "ask", kind: "userTask", title: "Go on?", assignee: "role:lead", form: [{ name: "ok", kind: "boolean" }] },
      { id: "tell", kind: "emitSignal", signal: "told" },
      { id: "done", kind: "end" },
    ],
    "start > work, work > soon, soon > child, child > ask, ask > tell, tell > done",
  );
  const CHILD = flow([{ id: "work", kind: "agent", message: "say {{ input.what }}" }], "start > work");

  it("EVT-12 a run keeps its root over a pause, a restart of the daemon, timers, turns and sub-processes", async () => {
    const first = await stage({ flow: TOLD, child: CHILD });
    const id = await first.start("flow", { what: "x" });
    const { rootId } = await first.run(id);
    await first.untilWaits(id, "ask", "task");
    await first.call("POST", `/api/workflows/runs/${id}/status`, { action: "pause" });
    await first.stop();

    const second = await stage({}, { folder: first.folder });
    await second.call("POST", `/api/workflows/runs/${id}/status`, { action: "resume" });
    const { body } = await second.call("GET", `/api/workflows/tasks?run=${id}`);
    const [task] = body["tasks"] as { id: string }[];
    expect((await second.call("POST", `/api/workflows/tasks/${task?.id}/submit`, { ok: true })).status).toBe(200);
    const done = await second.until(id, "completed");
    expect(done.rootId).toBe(rootId);
    expect(done.children).toHaveLength(1);

    const ours = [...first.events, ...second.events].filter(
      ({ kind, type }) => ["run", "task", "signal"].includes(kind) || (kind === "agent" && type.startsWith("task:")),
    );
    expect(new Set(ours.map((event) => event.rootId))).toEqual(new Set([rootId]));
    for (const [kind, type] of [
      ["run", "created"],
      ["run", "paused"],
      ["run", "resumed"],
      ["run", "completed"],
      ["task", "created"],
      ["task", "submitted"],
      ["signal", "emitted"],
      ["agent", "task:completed"],
    ])
      expect(ours).toContainEqual(expect.objectContaining({ kind, type }));
    // Two entries are two roots.
    const other = await second.run(await second.start("child", { what: "y" }));
    expect(other.rootId).not.toBe(rootId);
  });

  it("EVT-13 RUN-03 the end of a canceled run is an event of the type canceled", async () => {
    const { start, call, events, untilWaits } = await stage({ waits: flow([{ id: "forever", kind: "waitSignal", signal: "go" }], "start > forever") });
    const id = await start("waits");
    await untilWaits(id, "forever", "signal");
    await call("POST", `/api/workflows/runs/${id}/status`, { action: "cancel" });
    const [event, ...more] = events.filter(({ kind, type }) => kind === "run" && type === "canceled");
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      ref: id,
      summary: "workflow waits: canceled",
      data: { type: "canceled", runId: id, workflowId: "waits", status: "canceled" },
    });
    expect(event?.id).toMatch(new RegExp(`^${id}:\\d+$`));
  });

  it("EVT-14 the ref of a run, of a task and of a turn resolves; a signal has none, and no event holds a value", async () => {
    const { start, call, events, untilWaits } = await stage({ flow: TOLD, child: CHILD });
    const id = await start("flow", { what: "a-secret-word" });
    await untilWaits(id, "ask", "task");
    await call("POST", `/api/workflows/runs/${id}/signal`, { name: "anything", payload: "a-secret-word" });
    const [signal] = await vi.waitFor(() => {
      const found = events.filter(({ kind }) => kind === "signal");
      expect(found).toHaveLength(1);
      return found;
    });
    expect(signal).not.toHaveProperty("ref");
    const refs = (kind: string, type?: string) =>
      events.filter((event) => event.kind === kind && (type === undefined || event.type === type)).map(({ ref = "" }) => ref);
    for (const ref of refs("run")) expect((await call("GET", `/api/workflows/runs/${ref}`)).status).toBe(200);
    for (const ref of refs("task")) expect((await call("GET", `/api/workflows/tasks/${ref}`)).status).toBe(200);
    const turns = refs("agent", "task:completed");
    expect(turns).toHaveLength(2);
    for (const ref of turns) expect((await call("GET", `/traces/${ref}`)).status).toBe(200);
    expect(JSON.stringify(events.filter(({ kind }) => kind !== "agent"))).not.toContain("a-secret-word");
  });

  it("what was stored and not told is told by the next start, under the same ids and once", async () => {
    const first = await stage({ set: flow([{ id: "one", kind: "set", value: 1 }], "start > one") });
    const id = await first.start("set");
    // As a crash leaves it: that the events were told is noted a second later.
    const folder = await temporaryFolder();
    await cp(first.folder, folder, { recursive: true, filter: (source) => source !== join(first.folder, ".svc") });
    await copyState(join(first.folder, ".svc"), join(folder, ".svc"));
    const told = first.events.filter(({ kind }) => kind === "run");
    expect(told.map(({ type }) => type)).toEqual(["created", "ok", "completed"]);
    const second = await stage({}, { folder });
    const same = (events: typeof told) => events.map(({ id, type, rootId, ref, data }) => ({ id, type, rootId, ref, status: data?.["status"] }));
    await vi.waitFor(() => expect(same(second.events.filter(({ ref }) => ref === id))).toEqual(same(told)), { timeout: 10_000 });
    await second.stop();
    const third = await stage({}, { folder });
    await third.until(id, "completed");
    expect(third.events.filter(({ ref }) => ref === id)).toEqual([]);
  });
});
