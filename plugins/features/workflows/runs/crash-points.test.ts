import { type Store, svcError } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import { fold } from "../engine/apply.ts";
import { taskIdOf } from "../engine/task-id.ts";
import type { Entry } from "../engine/types.ts";
import { action, definitionOf, stage } from "./runs.harness.ts";

const MARK = { kind: "action", action: "mark", idempotent: true } as const;
const child = definitionOf(
  "child",
  [
    { id: "mark", ...MARK },
    { id: "end", kind: "end", output: "{{ input.n }}" },
  ],
  "start > mark, mark > end",
);
const parent = definitionOf(
  "parent",
  [
    { id: "one", ...MARK, retry: { attempts: 5, delay: "5ms" } },
    { id: "two", kind: "timer", for: "5ms" },
    { id: "both", kind: "join" },
    {
      id: "each",
      kind: "forEach",
      items: "{{ [1, 2, 3] }}",
      concurrency: 2,
      do: {
        start: "in",
        nodes: [
          { id: "in", ...MARK },
          { id: "out", kind: "end", output: "{{ item }}" },
        ],
        edges: [{ from: "in", to: "out" }],
      },
    },
    { id: "sub", kind: "subProcess", workflow: "child", input: { n: "{{ $sum(in) }}" } },
    { id: "tell", kind: "emitSignal", signal: "own", payload: "{{ in }}" },
    { id: "hear", kind: "waitSignal", signal: "own" },
    { id: "ask", kind: "userTask", title: "?", assignee: "role:lead" },
    { id: "fast", ...MARK },
    { id: "slow", kind: "timer", for: "1h" },
    { id: "first", kind: "join", wait: "any", cancelRest: true },
    { id: "done", kind: "end", output: { heard: "{{ steps.hear.output }}", each: "{{ steps.each.output }}" } },
  ],
  "start > one, start > two, one > both, two > both, both > each, each > sub, sub > tell, tell > hear, hear > ask, ask > fast, ask > slow, fast > first, slow > first, first > done",
);

/** A store that is gone after so many commits: the last one is stored, or not, and nobody hears of it. */
function mortal(store: Store, commits: number, stored: boolean): Store & { readonly gone: boolean; commits(): number } {
  let [left, made, gone] = [commits, 0, false];
  const closed = () => svcError("SVC_STORE_CLOSED", "The daemon is gone.");
  const alive = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (gone) return Promise.reject(closed());
          return Reflect.apply(value, target, given);
        };
      },
    });
  return {
    ...store,
    collection: ((name: string, options: object) => alive(store.collection(name, options))) as Store["collection"],
    async commit(ops) {
      if (gone) throw closed();
      left -= 1;
      if (left === 0) {
        gone = true;
        if (stored) await store.commit(ops);
        throw closed();
      }
      made += 1;
      return store.commit(ops);
    },
    get gone() {
      return gone;
    },
    commits: () => made,
  };
}

/** Runs the workflow to its end over as many lives of the host as it takes; people answer as soon as they are asked. */
async function live(dieAfter: number, stored: boolean) {
  const memory = createMemoryStore();
  const marks: string[] = [];
  let failed = false;
  const mark = action("mark", async (_input, { key }) => {
    marks.push(key ?? "");
    if (key?.endsWith("/one/1") && !failed) {
      failed = true;
      throw new Error("once");
    }
    return "marked";
  });
  const open = (store: Store) => stage({ definitions: [parent, child], store, actions: [mark] });
  const first = mortal(memory, dieAfter, stored);
  let life = await open(first);
  const ids: string[] = [];
  const begin = async () => {
    const { runId } = await life.start("parent", {}, { startKey: "only" });
    ids.push(runId);
  };
  await begin().catch(() => {});
  let lives = 1;
  await vi.waitFor(
    async () => {
      if (first.gone && lives === 1) {
        lives = 2;
        await life.runs.stop().catch(() => {});
        life = await open(memory);
        await begin();
      }
      if (first.gone === (lives === 2)) {
        const runId = ids.at(-1) ?? "";
        const step = (await life.runs.rooms.runs.get(runId))?.value.state.steps["ask/1"];
        if (step?.wait?.kind === "task") await life.runs.host.input(runId, { kind: "submit", at: Date.now(), step: "ask/1", port: "out", values: {} });
        expect((await life.runs.run(runId))?.status).toBe("completed");
        return;
      }
      throw new Error("not yet");
    },
    { timeout: 20_000, interval: 4 },
  );
  return { life, runId: ids.at(-1) ?? "", ids, marks, commits: first.commits(), memory, lives };
}

async function check({ life, runId, ids, marks, memory, lives }: Awaited<ReturnType<typeof live>>): Promise<void> {
  const { runs } = life;
  const run = await runs.run(runId);
  expect(run?.output).toEqual({ heard: 6, each: [1, 2, 3] });
  const all = (await runs.rooms.runs.list({ limit: 100 })).map(({ value }) => value);
  expect(all.map(({ workflow, status }) => `${workflow} ${status}`).sort()).toEqual(["child completed", "parent completed"]);
  expect(new Set([...ids, runId]).size).toBe(1);
  for (const { state } of all) {
    const entries = await life.entriesOf(state.id);
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
    expect(JSON.parse(JSON.stringify(fold(entries as Entry[])))).toEqual(state);
    const ended = entries.flatMap((entry) => (entry.kind === "step.ended" || entry.kind === "step.canceled" ? [entry.step] : []));
    expect(new Set(ended).size).toBe(ended.length);
    expect(new Set(all.map(({ root }) => root)).size).toBe(1);
  }
  // Of each effect one result, and one start more than that at most for the life that was lost, and for the attempt that failed.
  const counts = [...new Set(marks)].map((key) => marks.filter((one) => one === key).length - (key.endsWith("/one/1") ? 1 : 0));
  expect(Math.max(...counts)).toBeLessThanOrEqual(lives);
  expect(new Set(marks).size).toBe(6);
  expect(await memory.collection("wakes", { indexes: ["due"] }).list({})).toEqual([]);
  expect(taskIdOf(runId, "ask/1")).toBe((await life.entriesOf(runId)).flatMap((entry) => (entry.kind === "task.submitted" ? [entry.taskId] : []))[0]);
  await vi.waitFor(() => expect(runs.atWork).toEqual({ effects: 0, runs: 0 }), { timeout: 10_000 });
  await runs.stop();
}

it("FAULT-04 a run gets to its end, each result once, whatever commit the daemon does not survive", { timeout: 600_000 }, async () => {
  const clean = await live(Number.POSITIVE_INFINITY, true);
  await check(clean);
  expect(clean.commits).toBeGreaterThan(10);
  for (let at = 1; at <= clean.commits; at += 1) {
    for (const stored of [true, false]) {
      const lived = await live(at, stored);
      await check(lived).catch((error) => {
        throw new Error(`killed at commit ${at}, ${stored ? "stored" : "not stored"}: ${error.message}`);
      });
    }
  }
});

/** What a run has begun while it was paused. */
function begunInPause(entries: readonly Entry[]): readonly string[] {
  let paused = false;
  const found: string[] = [];
  for (const { kind, seq } of entries) {
    if (kind === "run.paused" || kind === "run.resumed") paused = kind === "run.paused";
    if (paused && ["step.claimed", "item.started", "join.fired", "task.overdue", "run.completed"].includes(kind)) found.push(`${seq} ${kind}`);
  }
  return found;
}

it("WF-05 a run that is paused after any commit begins nothing, in the next life neither, and goes on from there", { timeout: 600_000 }, async () => {
  const clean = await live(Number.POSITIVE_INFINITY, true);
  for (let at = 1; at <= clean.commits; at += 1) {
    const memory = createMemoryStore();
    const marks: string[] = [];
    const mark = action("mark", async (_input, { key }) => void marks.push(key ?? ""));
    const open = () => stage({ definitions: [parent, child], store: counted, actions: [mark] });
    let commits = 0;
    let paused: Promise<unknown> | undefined;
    const counted: Store = {
      ...memory,
      async commit(ops) {
        const done = await memory.commit(ops);
        commits += 1;
        if (commits === at) paused = pauseAll().catch(() => {});
        return done;
      },
    };
    let life = await open();
    const running = async () => (await life.runs.rooms.runs.list({ where: { status: "running" } })).filter(({ value }) => value.parent === undefined);
    const pauseAll = async () => {
      for (const { key } of await running()) await life.runs.change(key, "pause", { by: "ada" });
    };
    const { runId } = await life.start("parent");
    const status = async () => (await life.runs.run(runId))?.status;
    const submit = async () => {
      const step = (await life.runs.rooms.runs.get(runId))?.value.state.steps["ask/1"];
      if (step?.wait?.kind === "task") await life.runs.host.input(runId, { kind: "submit", at: Date.now(), step: "ask/1", port: "out", values: {} });
    };
    await vi.waitFor(
      async () => {
        await submit();
        expect(paused !== undefined || (await status()) === "completed").toBe(true);
      },
      { timeout: 20_000, interval: 4 },
    );
    await paused;
    if ((await status()) === "paused") {
      // A sub-process is told after its parent; what is at work ends. Then all is still.
      await vi.waitFor(
        async () => {
          expect(life.runs.atWork.effects).toBe(0);
          expect((await life.runs.rooms.runs.list({ where: { status: "running" } })).length).toBe(0);
        },
        { timeout: 20_000, interval: 4 },
      );
      await life.runs.stop();
      const begun = marks.length;
      life = await open();
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(marks.length).toBe(begun);
      await life.runs.change(runId, "resume", { by: "ada" });
    }
    await vi.waitFor(
      async () => {
        await submit();
        expect([at, await status()]).toEqual([at, "completed"]);
      },
      { timeout: 20_000, interval: 4 },
    );
    expect(new Set(marks).size).toBe(marks.length);
    for (const { value } of await life.runs.rooms.runs.list({})) expect([at, ...begunInPause(await life.entriesOf(value.state.id))]).toEqual([at]);
    await life.runs.stop();
  }
});
