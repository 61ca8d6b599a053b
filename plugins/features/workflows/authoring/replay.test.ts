import { type Action, definePlugin, type Trace } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import type { Definition, Node } from "../engine/types.ts";
import { roomsOf } from "../runs/run-rows.ts";
import { definitionOf } from "../runs/runs.harness.ts";
import { Runs } from "../runs/runs.ts";
import { Shelf } from "../runs/shelf.ts";
import { taskHostOf } from "../tasks/run-host.ts";
import { openTaskRoom } from "../tasks/task-room.ts";
import { foldRuns } from "./promotion-check.ts";
import { createReplay } from "./replay.ts";
import { startReplay } from "./replay-start.ts";

const NODES: readonly Node[] = [
  { id: "write", kind: "agent", agent: "scout", message: "Write about {{ input.topic }}" },
  { id: "send", kind: "action", action: "acme.send", input: { text: "{{ in.reply }}" } },
  { id: "ask", kind: "approval", title: "Publish?", assignee: "role:lead" },
  { id: "nap", kind: "timer", for: "2s" },
  { id: "tell", kind: "emitSignal", signal: "done", to: "workflow:other" },
  { id: "hear", kind: "waitSignal", signal: "paid" },
  { id: "end", kind: "end", output: { text: "{{ steps.send.output.id }}", by: "{{ steps.ask.output.by }}", paid: "{{ in.amount }}" } },
];
const WAYS = "start > write, write > send, send > ask, ask.approve > nap, nap > tell, tell > hear, hear > end";
const FLOW = definitionOf("post", NODES, WAYS);

/** Runs with tasks and replays; what was really asked and sent is counted. */
async function stage(traces: readonly Trace[] = []) {
  const plugin = definePlugin({
    kind: "feature",
    name: "workflows",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: ["actions", "events", "env:*", "jobs", "services", "settings", "store", "tasks", "traces"],
    setup() {},
  });
  const counts = { turns: 0, sent: 0 };
  const send: Action = {
    name: "acme.send",
    description: "sends",
    input: { type: "object", properties: { text: { type: "string" } } },
    output: {},
    timeoutMs: 1_000,
    async run() {
      counts.sent += 1;
      return { id: `mail-${counts.sent}` };
    },
  };
  const ctx = createFakeContext(plugin, {
    actions: [send],
    traces: { get: async (id: string) => traces.find((trace) => trace.id === id), list: async () => [], ids: async () => [] },
  });
  const tasks = Object.assign(Object.create(ctx.tasks), {
    accept: async () => {
      counts.turns += 1;
      return { taskId: `task_${counts.turns}`, rootId: "r", duplicate: false };
    },
    result: async (taskId: string) => ({ ok: true, taskId, agent: "scout", reply: "a text", status: "ok", durationMs: 1 }),
  });
  // Times come: the recording run waits for seconds, so what does not wait is seen.
  const at = (time: Date | number, run: () => void) => {
    const timer = setTimeout(run, Math.max(0, Number(time) - Date.now()));
    return () => clearTimeout(timer);
  };
  const used = Object.create(ctx, { tasks: { value: tasks }, jobs: { value: { ...ctx.jobs, at } } }) as typeof ctx;
  const known = new Map<string, Definition>([[FLOW.id, FLOW]]);
  const made: { runs?: Runs } = {};
  const rooms = roomsOf(used.store);
  const replay = createReplay(used, rooms, async (runId, row, value) => new Shelf(runId, rooms.values, row).whole(value));
  const room = openTaskRoom({ ctx: used, host: () => taskHostOf(made.runs as Runs), replayed: replay.task });
  const runs = new Runs({
    ctx: used,
    definitions: { get: (id) => (known.has(id) ? { definition: known.get(id) as Definition, hash: `h-${id}` } : undefined) },
    tasks: room,
    replay,
    defaultAgent: (async () => "ada") as never,
    ready: async () => {},
  });
  made.runs = runs;
  await runs.open();
  const until = (runId: string, status: string) =>
    vi.waitFor(async () => expect((await runs.run(runId))?.status).toBe(status), { timeout: 20_000, interval: 5 });
  return {
    counts,
    runs,
    room,
    until,
    replay: (definition: Definition, query: object = {}) =>
      startReplay(used, runs, replay, { definition, hash: `h-${JSON.stringify(definition).length}` }, query),
    /** A run whose task was answered and whose signal came. */
    async recorded() {
      const { runId } = await runs.start("post", { input: { topic: "tea" }, entry: { kind: "api" } });
      const task = await vi.waitFor(async () => {
        const [open] = (await room.tasks.list({ run: runId })).tasks;
        expect(open).toBeDefined();
        return open;
      }, 20_000);
      await runs.signal(runId, { name: "paid", payload: { amount: 7 } });
      await room.tasks.submit(task?.id ?? "", { values: { decision: "approve", comment: "good" }, by: "ann" });
      return runId;
    },
  };
}

it("WF-03 a replay answers agents, actions, people and signals from a run, runs no turn, sends nothing, and its timers do not wait", async () => {
  const { counts, runs, room, until, replay, recorded } = await stage();
  const source = await recorded();
  const before = { ...counts };
  expect(before).toEqual({ turns: 1, sent: 1 });
  const draft = { ...FLOW, id: "post-2", nodes: FLOW.nodes.map((node) => (node.kind === "timer" ? { ...node, for: "30d" } : node)) as Node[] };
  const { runId, name } = await replay(draft, { taskId: source });
  expect(name).toMatch(/^adhoc-replay-post-2-\d{4}-/);
  await until(runId, "completed");
  expect(await runs.run(runId)).toMatchObject({ name, entry: { kind: "replay", ref: source }, output: { text: "mail-1", by: "ann", paid: 7 } });
  expect(counts).toEqual(before);
  expect((await room.tasks.list({})).tasks).toEqual([]);
  expect((await room.tasks.list({ state: "completed", run: runId })).tasks).toMatchObject([
    { completedBy: "ann", values: { decision: "approve", comment: "good" } },
  ]);
  await runs.stop();
});

it("WF-03 what nothing recorded answers fails with REPLAY_MISS and says what it would have sent", async () => {
  const { counts, runs, until, replay, recorded } = await stage();
  const source = await recorded();
  const twice = definitionOf(
    "post-3",
    [...NODES, { id: "more", kind: "action", action: "acme.send", input: { text: "again: {{ in.reply }}" } }],
    `${WAYS}, write > more`,
  );
  const { runId } = await replay(twice, { taskId: source });
  await until(runId, "failed");
  expect((await runs.run(runId))?.error).toMatchObject({ code: "REPLAY_MISS", message: expect.stringContaining('{"text":"again: a text"}') });
  expect(counts).toEqual({ turns: 1, sent: 1 });
  const { runId: alone } = await replay(twice, { input: { topic: "x" } });
  await until(alone, "failed");
  expect((await runs.run(alone))?.error).toMatchObject({ code: "REPLAY_MISS", message: expect.stringContaining("Write about x") });
  await expect(replay(twice, { taskId: "task_none" })).rejects.toMatchObject({ code: "SVC_TRACE_UNKNOWN", status: 404 });
  await runs.stop();
});

it("WF-03 a task's trace answers by kind, target and order, other names of nodes or not", async () => {
  const envelope = (text: string) => ({ action: "acme.send", status: "ok" as const, input: {}, output: { id: text }, durationMs: 1 });
  const step = (text: string) => ({ name: "acme.send", kind: "action", at: 1, envelope: envelope(text) });
  const trace = {
    id: "task_9",
    agent: "scout",
    channel: "chat",
    chat: "c",
    status: "ok",
    message: "tea, please",
    response: "the reply",
    steps: [step("one"), step("two")],
  };
  const { counts, runs, until, replay } = await stage([trace as unknown as Trace]);
  const draft = definitionOf(
    "from-trace",
    [
      { id: "a", kind: "agent", agent: "scout", message: "{{ input.message }}" },
      { id: "b", kind: "action", action: "acme.send", input: {} },
      { id: "c", kind: "action", action: "acme.send", input: {} },
      { id: "end", kind: "end", output: "{{ steps.a.output.reply & ' ' & steps.b.output.id & ' ' & steps.c.output.id }}" },
    ],
    "start > a, a > b, b > c, c > end",
    { sourceTaskIds: ["task_9"], generatedFrom: "task-trace" },
  );
  const { runId } = await replay(draft);
  await until(runId, "completed");
  expect((await runs.run(runId))?.output).toBe("the reply one two");
  expect(counts).toEqual({ turns: 0, sent: 0 });
  await runs.stop();
});

it("the promotion check folds runs of the draft's id and of the workflows that it was made from", async () => {
  const { runs, until, recorded } = await stage();
  const source = await recorded();
  await until(source, "completed");
  const same = { ...FLOW, id: "other" };
  expect(await foldRuns(runs.rooms, same)).toEqual([]);
  expect(await foldRuns(runs.rooms, same, "post")).toEqual([{ runId: source, same: true }]);
  expect(await foldRuns(runs.rooms, { ...same, sourceTaskIds: [source, "task_none"] })).toEqual([{ runId: source, same: true }]);
  const short = { ...definitionOf("post", [{ id: "end", kind: "end" }], "start > end") };
  expect(await foldRuns(runs.rooms, short)).toMatchObject([{ same: false, firstDifference: { was: { step: "write/1" }, now: { step: "end/1" } } }]);
  await runs.stop();
});

it("the promotion check folds completed runs of the workflow, and no replays", async () => {
  const { runs, until, replay } = await stage();
  const short = definitionOf("post", [{ id: "end", kind: "end" }], "start > end");
  for (let count = 0; count < 3; count += 1) {
    const { runId } = await replay(short, {});
    await until(runId, "completed");
  }
  expect(await foldRuns(runs.rooms, short)).toEqual([]);
  await runs.stop();
});
