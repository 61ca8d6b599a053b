import { type Message, type Query, type Store, svcError, type TaskResult } from "@svc/sdk";
import { createFakeTasks, createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it, vi } from "vitest";
import { TASK_INDEXES } from "../tasks/task-row.ts";
import { sweepRuns } from "./retention.ts";
import { action, counted, definitionOf, stage } from "./runs.harness.ts";

it("a run of kinds without an effect is stored with one commit, and is over when it was started", async () => {
  const add = definitionOf(
    "add",
    [
      { id: "sum", kind: "set", value: "{{ input.a + input.b }}" },
      { id: "big", kind: "branch", cases: [{ port: "yes", when: "{{ in > 10 }}" }] },
      { id: "many", kind: "end", output: { many: "{{ in }}" } },
      { id: "few", kind: "end", output: { few: "{{ steps.sum.output }}" } },
    ],
    "start > sum, sum > big, big.yes > many, big.else > few",
  );
  const { runs, start, entriesOf, ctx } = await stage({ definitions: [add] });
  const { runId, status } = await start("add", { a: 4, b: 5 });
  expect(status).toBe("completed");
  expect(await runs.run(runId)).toMatchObject({ output: { few: 9 }, context: { sum: 9 }, waits: [] });
  const entries = await entriesOf(runId);
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  expect(ctx.events.published.map(({ kind, type }) => `${kind}:${type}`)).toEqual([
    "run:created",
    "run:ok",
    "run:ok",
    "run:skipped",
    "run:ok",
    "run:completed",
  ]);
  expect(new Set(ctx.events.published.map(({ rootId }) => rootId)).size).toBe(1);
  expect(ctx.events.published.map(({ id }) => id)).toEqual(expect.arrayContaining([`${runId}:1`]));
});

const ACT = definitionOf("act", [{ id: "one", kind: "action", action: "one", input: { n: "{{ input.n }}" } }], "start > one");

it("an effect costs two commits: its claim with what went before, and its end with what follows", async () => {
  const store = counted(createMemoryStore());
  const chain = definitionOf(
    "chain",
    [
      { id: "one", kind: "action", action: "one" },
      { id: "set", kind: "set", value: "{{ in }}" },
      { id: "two", kind: "action", action: "one" },
      { id: "done", kind: "end" },
    ],
    "start > one, one > set, set > two, two > done",
  );
  const { start, until } = await stage({ definitions: [chain], store, actions: [action("one", async () => 1)] });
  const before = store.commits();
  const { runId } = await start("chain");
  await until(runId, "completed");
  // The claim of the second is in the commit that ends the first.
  expect(store.commits() - before).toBe(3);
});

it("on a full disk nothing is begun, and a result waits in memory until it is stored", { timeout: 30_000 }, async () => {
  const store = counted(createMemoryStore());
  let ran = 0;
  let end: (value: unknown) => void = () => {};
  const one = action("one", () => {
    ran += 1;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  const { start, until, runs } = await stage({ definitions: [ACT], store, actions: [one] });
  const { runId } = await start("act", { n: 1 });
  await vi.waitFor(() => expect(ran).toBe(1));
  store.full(true);
  await expect(start("act", { n: 2 })).rejects.toMatchObject({ code: "SVC_STORE_FULL" });
  end({ done: true });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(ran).toBe(1);
  expect(await runs.run(runId)).toMatchObject({ status: "running", waits: [{ node: "one", kind: "effect" }] });
  store.full(false);
  await until(runId, "completed");
  expect((await runs.run(runId))?.context).toMatchObject({ one: { done: true } });
  expect(ran).toBe(1);
});

it("what another writer was first with is read and decided again: a result counts once beside a second host on the same store", async () => {
  const store = createMemoryStore();
  const waits = definitionOf(
    "waits",
    [
      { id: "go", kind: "waitSignal", signal: "go" },
      { id: "done", kind: "end" },
    ],
    "start > go, go > done",
  );
  const [one, two] = [await stage({ definitions: [waits], store }), await stage({ definitions: [waits], store })];
  const { runId } = await one.start("waits");
  await two.until(runId, "running");
  const told = await Promise.all([one, two, one, two].map(({ runs }) => runs.signal(runId, { name: "go", payload: 1, key: "k" }).catch(({ code }) => code)));
  expect(told.filter((answer) => answer.delivered)).toHaveLength(1);
  expect((await one.entriesOf(runId)).filter(({ kind }) => kind === "step.ended")).toHaveLength(3);
  const keys = await Promise.all([one, two, one, two].map(({ start }) => start("waits", {}, { startKey: "same" })));
  expect(new Set(keys.map((started) => started.runId)).size).toBe(1);
  expect(keys.filter(({ duplicate }) => duplicate)).toHaveLength(3);
});

it("a key with another digest is refused, and starts nothing; the same one is told its run", async () => {
  const waits = definitionOf(
    "waits",
    [
      { id: "go", kind: "waitSignal", signal: "go" },
      { id: "done", kind: "end" },
    ],
    "start > go, go > done",
  );
  const { runs } = await stage({ definitions: [waits] });
  const start = (digest?: string) =>
    runs.start("waits", { entry: { kind: "api" }, startKey: "k" }, { root: true, ...(digest === undefined ? {} : { digest }) });
  const { runId } = await start("one");
  expect(await start("one")).toMatchObject({ runId, duplicate: true });
  await expect(start("other")).rejects.toMatchObject({ code: "SVC_WORKFLOW_KEY_REUSED", status: 422, runId });
  // Of a webhook or a step, which count the key alone.
  expect(await start()).toMatchObject({ runId, duplicate: true });
});

describe("FAULT-04 an action that was at work when the daemon was killed", () => {
  const stopped = async (node: object, kills: number) => {
    const store = createMemoryStore();
    const tried = definitionOf(
      "tried",
      [
        { id: "one", kind: "action", action: "one", ...node },
        { id: "bad", kind: "end", output: "{{ in.error.code }}" },
        { id: "ok", kind: "end", output: "{{ in }}" },
      ],
      "start > one, one > ok, one.error > bad",
    );
    const attempts: (string | undefined)[] = [];
    const life = (hangs: boolean) =>
      stage({
        definitions: [tried],
        store,
        actions: [
          action("one", async (_input, { key }) => {
            attempts.push(key);
            if (hangs) await new Promise(() => {});
            return "done";
          }),
        ],
      });
    let one = await life(true);
    const { runId } = await one.start("tried");
    for (let kill = 1; kill <= kills; kill += 1) {
      await vi.waitFor(() => expect(attempts).toHaveLength(kill), { timeout: 10_000 });
      await one.runs.stop();
      if (kill < kills) one = await life(true);
    }
    const last = await life(false);
    return { ...last, runId, attempts, store };
  };

  it("is run again under the same key where it is idempotent", async () => {
    const { until, runId, attempts, entriesOf } = await stopped({ idempotent: true }, 1);
    await until(runId, "completed");
    expect(attempts).toEqual([`${runId}/one/1`, `${runId}/one/1`]);
    expect((await entriesOf(runId)).filter(({ kind, ...entry }) => kind === "step.claimed" && (entry as { step?: string }).step === "one/1")).toMatchObject([
      { attempt: 1 },
      { attempt: 2 },
    ]);
  });

  it("fails where its node says so, and its error port is taken", async () => {
    const { until, runId, attempts, runs } = await stopped({ onInterrupted: "fail" }, 1);
    await until(runId, "completed");
    expect((await runs.run(runId))?.output).toBe("INTERRUPTED");
    expect(attempts).toHaveLength(1);
  });

  it("asks a person otherwise, and after the third time whatever its node says", async () => {
    for (const [node, kills] of [
      [{}, 1],
      [{ idempotent: true }, 3],
    ] as const) {
      const { runId, runs, attempts } = await stopped(node, kills);
      await vi.waitFor(async () => expect((await runs.run(runId))?.waits).toMatchObject([{ node: "one", kind: "incident" }]), { timeout: 10_000 });
      expect(attempts).toHaveLength(kills);
    }
  });
});

it("large values have rows of their own, are whole for expressions and callers, and have limits", async () => {
  const text = "x".repeat(200_000);
  const big = definitionOf(
    "big",
    [
      { id: "make", kind: "action", action: "make", input: { chars: "{{ input.chars }}" } },
      { id: "length", kind: "set", value: "{{ $length(steps.make.output.text) }}" },
      { id: "both", kind: "end", output: { length: "{{ in }}", same: "{{ steps.make.output.text }}" } },
      { id: "no", kind: "end", output: "{{ in.error.code }}" },
    ],
    "start > make, make > length, length > both, make.error > no",
  );
  const make = action("make", async ({ chars }) => ({ text: "x".repeat(Number(chars)), mark: { $value: "not a reference" } }));
  const { start, until, runs, entriesOf } = await stage({ definitions: [big], actions: [make] });
  const { runId } = await start("big", { chars: text.length });
  await until(runId, "completed");
  const row = (await runs.rooms.runs.get(runId))?.value;
  expect(JSON.stringify(row).length).toBeLessThan(10_000);
  expect(JSON.stringify(await entriesOf(runId)).length).toBeLessThan(20_000);
  expect(await runs.run(runId)).toMatchObject({ output: { length: text.length, same: text }, context: { make: { mark: { $value: "not a reference" } } } });
  const large = await start("big", { chars: 1_000_001 });
  await until(large.runId, "completed");
  expect((await runs.run(large.runId))?.output).toBe("VALUE_SIZE");
});

it("secrets are put in after the journal was written, and a value from outside that looks like one is not", async () => {
  const store = createMemoryStore();
  const seen: unknown[] = [];
  const send = definitionOf(
    "send",
    [
      { id: "send", kind: "action", action: "send", input: { token: "Bearer {{ secrets.TOKEN }}", body: "{{ input.body }}" } },
      { id: "no", kind: "end", output: "{{ in.error.code }}" },
    ],
    "start > send, send.error > no",
  );
  const { start, until, runs, entriesOf } = await stage({
    definitions: [send],
    store,
    env: { TOKEN: "s3cret-value" },
    actions: [action("send", async (input) => void seen.push(input))],
  });
  const { runId } = await start("send", { body: 1 });
  await until(runId, "completed");
  expect(seen).toEqual([{ token: "Bearer s3cret-value", body: 1 }]);
  expect(JSON.stringify([await entriesOf(runId), await runs.detail(runId, { after: 0, limit: 1000 })])).not.toContain("s3cret");
  const tricked = await start("send", { body: { $secret: "TOKEN" } });
  await until(tricked.runId, "completed");
  expect((await runs.run(tricked.runId))?.output).toBe("EXPR_SECRET");
  expect(seen).toHaveLength(1);
});

it("a restart goes on at what failed the run, by its own definition or by the current one where that still has the nodes", async () => {
  let works = false;
  const one = action("one", async () => {
    if (!works) throw new Error("no line");
    return "line";
  });
  const flow = (value: string, more: object[] = []) =>
    definitionOf(
      "flow",
      [
        { id: "first", kind: "set", value },
        { id: "one", kind: "action", action: "one" },
        { id: "done", kind: "end", output: "{{ steps.first.output & in }}" },
        ...(more as never[]),
      ],
      "start > first, first > one, one > done",
    );
  const store = createMemoryStore();
  const { start, until, runs } = await stage({ definitions: [flow("a ")], store, actions: [one] });
  const { runId } = await start("flow");
  await until(runId, "failed");
  works = true;
  const again = await runs.restart(runId, {});
  await until(again.runId, "completed");
  expect(await runs.run(again.runId)).toMatchObject({ output: "a line", restartOf: runId, rootId: (await runs.run(runId))?.rootId });
  await expect(runs.restart(runId, { step: "none/1" })).rejects.toMatchObject({ code: "SVC_WORKFLOW_STEP", status: 422 });
  await expect(runs.restart(again.runId, {})).rejects.toMatchObject({
    code: "SVC_WORKFLOW_RUN_STATE",
    status: 409,
    message: expect.stringContaining("nothing failed; name the step"),
  });
  const from = await runs.restart(runId, { step: "first/1" });
  await until(from.runId, "completed");
  const changed = await stage({ definitions: [{ ...flow("b "), nodes: flow("b ").nodes.filter(({ id }) => id !== "first") }], store, actions: [one] });
  await expect(changed.runs.restart(runId, { definition: "current" })).rejects.toMatchObject({ code: "SVC_WORKFLOW_STEP" });
  const live = await stage({ definitions: [definitionOf("waits", [{ id: "go", kind: "waitSignal", signal: "go" }], "start > go")] });
  const waits = await live.start("waits");
  await expect(live.runs.restart(waits.runId, {})).rejects.toMatchObject({ code: "SVC_WORKFLOW_RUN_STATE", status: 409 });
});

it("ended runs are forgotten after 90 days with all that is theirs, others are kept", async () => {
  const store = createMemoryStore();
  const { ctx, start, until, runs } = await stage({ definitions: [ACT], store, actions: [action("one", async () => "x".repeat(100_000))] });
  const { runId } = await start("act", { n: 1 }, { startKey: "k", entry: { kind: "api", ref: "r" } });
  await until(runId, "completed");
  // A step was asked about twice; its row names the second one.
  const asked = store.collection<object>("tasks", { indexes: TASK_INDEXES });
  for (const [id, run] of [
    ["ut_1", runId],
    ["ut_2", runId],
    ["ut_3", "run_other"],
  ] as const)
    await asked.put(id, { id, run, state: "completed" });
  const day = 86_400_000;
  expect(await sweepRuns(ctx, runs.rooms, Date.now() + 89 * day)).toBe(0);
  expect(await sweepRuns(ctx, runs.rooms, Date.now() + 91 * day)).toBe(1);
  const { runs: rows, steps, entries, values, keys, definitions } = runs.rooms;
  for (const room of [rows, steps, entries, values, keys, definitions]) expect(await room.count()).toBe(0);
  expect((await asked.list()).map(({ key }) => key)).toEqual(["ut_3"]);
  expect((await start("act", { n: 1 }, { startKey: "k" })).duplicate).toBeUndefined();
});

it("a daemon that never lives for a day forgets old runs all the same", async () => {
  const add = definitionOf("add", [{ id: "sum", kind: "set", value: 1 }], "start > sum");
  const { runs, start, tick } = await stage({ definitions: [add] });
  const [old, young] = [(await start("add")).runId, (await start("add")).runId];
  const doc = await runs.rooms.runs.get(old);
  if (doc !== undefined) await runs.rooms.runs.put(old, { ...doc.value, endedAt: Date.now() - 91 * 86_400_000 });
  await vi.waitFor(async () => {
    await tick(3_600_000);
    expect(await runs.run(old)).toBeUndefined();
  });
  expect(await runs.run(young)).toMatchObject({ status: "completed" });
});

it("a turn has the key of its step, a further attempt one of its own, and what the node asks of it", async () => {
  const tasks = createFakeTasks();
  const accepted: Message[] = [];
  let fails = 1;
  const fake = {
    ...tasks,
    accept: async (message: Message) => ({ taskId: `t${accepted.push(message)}`, rootId: "r", duplicate: false }),
    result: async (taskId: string): Promise<TaskResult> =>
      fails-- > 0
        ? { ok: false, taskId, agent: "ada", reply: "", status: "error", error: "no", errorKind: "engine", durationMs: 1 }
        : { ok: true, taskId, agent: "ada", reply: '{"a":1}', output: { a: 1 }, status: "ok", durationMs: 1, sessionId: "s1" },
  };
  const turn = definitionOf(
    "turn",
    [
      {
        id: "turn",
        kind: "agent",
        agent: "bob@far",
        message: "do {{ input.n }}",
        outputSchema: { type: "object" },
        retry: { attempts: 2, delay: "1ms" },
        timeoutMinutes: 3,
      },
    ],
    "start > turn",
  );
  const { start, until, runs } = await stage({ definitions: [turn], tasks: fake });
  const { runId } = await start("turn", { n: 1 });
  await until(runId, "completed");
  expect((await runs.run(runId))?.context).toMatchObject({ turn: { reply: '{"a":1}', value: { a: 1 }, taskId: "t2", sessionId: "s1" } });
  expect(accepted).toMatchObject([
    {
      dedupKey: `wf:${runId}/turn/1`,
      agent: "bob",
      facts: { node: "far" },
      text: "do 1",
      runId,
      options: { freshSession: true, timeoutMinutes: 3, output: { type: "object" } },
    },
    { dedupKey: `wf:${runId}/turn/1#2` },
  ]);
});

it("results that come together are stored together, and one that is refused takes no other with it", async () => {
  const store = counted(createMemoryStore());
  const wide = definitionOf(
    "wide",
    [
      {
        id: "each",
        kind: "forEach",
        items: "{{ [1..100] }}",
        concurrency: 100,
        onItemError: "continue",
        do: {
          start: "one",
          nodes: [
            { id: "one", kind: "action", action: "one", input: { n: "{{ item }}" } },
            { id: "value", kind: "end" },
          ],
          edges: [{ from: "one", to: "value" }],
        },
      },
      { id: "done", kind: "end", output: "{{ [$count(in[$type($) = 'number']), $count(in)] }}" },
    ],
    "start > each, each > done",
  );
  const one = action("one", async ({ n }) => (n === 7 ? "x".repeat(1_000_001) : n));
  const { start, until, runs, entriesOf } = await stage({ definitions: [wide], store, actions: [one] });
  const before = store.commits();
  const { runId } = await start("wide");
  await until(runId, "completed");
  expect((await runs.run(runId))?.output).toEqual([99, 100]);
  expect(store.commits() - before).toBeLessThan(20);
  const entries = await entriesOf(runId);
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  const told = await Promise.all(
    [runs.signal(runId, { name: "late" }), runs.change(runId, "cancel", { by: "ann" })].map((work) => work.catch(({ code }) => code)),
  );
  expect(told).toEqual(["SVC_WORKFLOW_RUN_STATE", "SVC_WORKFLOW_RUN_STATE"]);
});

it("what a start finds on a full disk is taken up when there is room", { timeout: 30_000 }, async () => {
  const store = counted(createMemoryStore());
  let hangs = true;
  const one = { ...action("one", async () => (hangs ? new Promise(() => {}) : 1)) };
  const safe = definitionOf("safe", [{ id: "one", kind: "action", action: "one", idempotent: true }], "start > one");
  const first = await stage({ definitions: [safe], store, actions: [one] });
  const { runId } = await first.start("safe");
  await first.runs.stop();
  hangs = false;
  store.full(true);
  const second = await stage({ definitions: [safe], store, actions: [one] });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await second.runs.run(runId)).toMatchObject({ status: "running" });
  store.full(false);
  await second.until(runId, "completed");
});

describe("a store that is away for a moment", () => {
  const busy = () => svcError("SVC_STORE_UNREACHABLE", "The database does not answer.", { status: 503 });

  it("does not keep a daemon from leading later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    try {
      const memory = createMemoryStore();
      const none = { held: false, signal: AbortSignal.abort(), release: async () => {} };
      const answers = [async () => none, () => Promise.reject(busy())];
      const store = { ...memory, lease: (name: string, ms: number) => answers.shift()?.() ?? memory.lease(name, ms) };
      const { start, until } = await stage({ definitions: [ACT], store, actions: [action("one", async () => 1)] });
      const { runId } = await start("act", { n: 1 });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(answers).toEqual([]);
      await vi.advanceTimersByTimeAsync(10_000);
      await until(runId, "completed");
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not keep what is due from coming, where it was away when runs were taken up", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    try {
      const memory = createMemoryStore();
      const wait = definitionOf("wait", [{ id: "one", kind: "timer", for: "1h" }], "start > one");
      const first = await stage({ definitions: [wait], store: memory });
      const { runId } = await first.start("wait");
      await first.runs.stop();
      let away = 1;
      const collection = ((name: string, options: object) => {
        const rooms = memory.collection<never>(name, options);
        return { ...rooms, list: (query?: Query) => (query?.where?.["busy"] === 1 && away-- > 0 ? Promise.reject(busy()) : rooms.list(query)) };
      }) as Store["collection"];
      const { until, ctx } = await stage({ definitions: [wait], store: { ...memory, collection } });
      await vi.advanceTimersByTimeAsync(3_600_000);
      await until(runId, "completed");
      expect(ctx.logged.filter(({ level }) => level === "error")).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });
});
