import { cp } from "node:fs/promises";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { flow, stage } from "./wf.harness.ts";

const FLOW = flow(
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
  const first = await stage({ flow: FLOW, child: CHILD });
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

it("EVT-13 the end of a canceled run is an event of the type canceled", async () => {
  const { start, call, events, untilWaits } = await stage({ waits: flow([{ id: "forever", kind: "waitSignal", signal: "go" }], "start > forever") });
  const id = await start("waits");
  await untilWaits(id, "forever", "signal");
  await call("POST", `/api/workflows/runs/${id}/status`, { action: "cancel" });
  const [event, ...more] = events.filter(({ kind, type }) => kind === "run" && type === "canceled");
  expect(more).toEqual([]);
  expect(event).toMatchObject({ ref: id, summary: "workflow waits: canceled", data: { type: "canceled", runId: id, workflowId: "waits", status: "canceled" } });
  expect(event?.id).toMatch(new RegExp(`^${id}:\\d+$`));
});

it("EVT-14 the ref of a run, of a task and of a turn resolves; a signal has none, and no event holds a value", async () => {
  const { start, call, events, untilWaits } = await stage({ flow: FLOW, child: CHILD });
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
  await cp(first.folder, folder, { recursive: true, filter: (source) => !source.endsWith("daemon.lock") });
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
