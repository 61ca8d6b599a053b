import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { edges } from "../rules/wf.harness.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK: 200 take some ten minutes. */
const KILLS = Number(process.env["SVC_SOAK"] ?? 3);
const RUNS = Math.max(6, Math.ceil(KILLS / 4));

afterEach(endDaemons);

const MARK = { kind: "action", action: "mark", idempotent: true };
const FORM = [{ name: "note", kind: "text", required: true }];

/** Every kind of node, in one definition and its two sub-processes. */
const DEFINITIONS = {
  all: {
    nodes: [
      { id: "start", kind: "trigger", inputSchema: { n: { type: "integer", required: true } } },
      { id: "turn", kind: "agent", agent: "slow", message: "do {{ input.n }}" },
      { id: "mark", ...MARK },
      { id: "many", kind: "multiChoice", cases: ["l", "r"].map((port) => ({ port, when: "{{ input.n >= 0 }}" })) },
      { id: "left", kind: "set", value: "left {{ input.n }}" },
      { id: "right", kind: "set", value: { n: "{{ input.n }}" } },
      { id: "both", kind: "join" },
      { id: "each", kind: "forEach", items: "{{ [1, 2, 3] }}", do: { start: "one", nodes: [{ id: "one", ...MARK }], edges: [] } },
      { id: "pick", kind: "branch", cases: [{ port: "odd", when: "{{ input.n % 2 = 1 }}" }] },
      { id: "short", kind: "timer", for: "100ms" },
      { id: "long", kind: "timer", for: "900ms" },
      { id: "child", kind: "subProcess", workflow: "small", input: { n: "{{ input.n }}" } },
      { id: "ask", kind: "userTask", title: "Run {{ input.n }}?", assignee: "role:lead", form: FORM },
      { id: "agree", kind: "approval", title: "Agreed?", assignee: "actor:ann" },
      { id: "heard", kind: "waitSignal", signal: "go" },
      { id: "tell", kind: "emitSignal", signal: "own", payload: { n: "{{ input.n }}" } },
      { id: "own", kind: "waitSignal", signal: "own" },
      { id: "bad", kind: "subProcess", workflow: "fails" },
      { id: "never", kind: "waitSignal", signal: "never" },
      { id: "stop", kind: "cancelNodes", nodes: ["never"] },
      { id: "done", kind: "end", output: { n: "{{ input.n }}", each: "{{ $count(steps.each.output) }}", small: "{{ steps.child.output }}" } },
    ],
    edges: edges(
      "start > turn, start > never, turn > mark, mark > many, many.l > left, many.r > right, left > both, right > both, both > each, each > pick, " +
        "pick.odd > short, pick.else > long, short > child, long > child, child > ask, ask > agree, agree.approve > heard, heard > tell, tell > own, " +
        "own > bad, bad.error > stop, stop > done",
    ),
  },
  small: {
    nodes: [
      { id: "start", kind: "trigger" },
      { id: "turn", kind: "agent", agent: "slow", message: "small {{ input.n }}" },
      { id: "done", kind: "end", output: "{{ input.n * 2 }}" },
    ],
    edges: edges("start > turn, turn > done"),
  },
  fails: {
    nodes: [
      { id: "start", kind: "trigger" },
      { id: "no", kind: "fail", code: "NO_WAY" },
    ],
    edges: edges("start > no"),
  },
};

interface Entry {
  readonly seq: number;
  readonly kind: string;
  readonly step?: string;
  readonly at: string;
}
interface Detail {
  readonly id: string;
  readonly workflowId: string;
  readonly status: string;
  readonly rootId: string;
  readonly error?: unknown;
  readonly output?: unknown;
  readonly waits: readonly { readonly node: string; readonly kind: string; readonly for?: string }[];
  readonly timeline: readonly Entry[];
  readonly steps: readonly { readonly id: string; readonly status: string }[];
}

async function setStage() {
  const folder = await temporaryFolder();
  const ledger = join(folder, "ledger");
  const agent = { name: "A", workspace: "./w", tier: "local", maxConcurrent: 32 };
  writeConfig(folder, {
    agents: { echo: { ...agent, local: { mode: "echo" } }, slow: { ...agent, local: { mode: "echo", delayMs: 60 } } },
    workflows: { enabled: true },
  });
  mkdirSync(join(folder, ".svc/workflows"), { recursive: true });
  mkdirSync(join(folder, ".svc/actions"), { recursive: true });
  for (const [id, definition] of Object.entries(DEFINITIONS))
    writeFileSync(join(folder, ".svc/workflows", `${id}.json`), JSON.stringify({ id, ...definition }));
  const command = `sleep 0.05; printf '%s\\n' "$SVC_IDEMPOTENCY_KEY" >> ${ledger}; echo done`;
  writeFileSync(join(folder, ".svc/actions/mark.json"), JSON.stringify({ title: "Marks.", kind: "shell", command }));
  return { folder, marks: () => (existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : []) };
}

/** What people and other programs do meanwhile: they start runs, answer tasks and send a signal. None of it may get through. */
async function drive({ port }: DaemonProcess, started: Map<number, string>, signal: AbortSignal): Promise<void> {
  const post = (path: string, body: object) => ask<Record<string, unknown>>(port, path, body);
  while (!signal.aborted) {
    try {
      for (let n = 0; n < RUNS; n += 1) {
        if (started.has(n)) continue;
        const { status, body } = await post("/workflows/all/run", { payload: { n }, startKey: `start-${n}` });
        if (status !== 202 && status !== 200) throw new Error(JSON.stringify(body));
        started.set(n, String(body["runId"]));
      }
      const { body } = await ask<{ tasks: { id: string; kind: string }[] }>(port, "/api/workflows/tasks?limit=200");
      for (const { id, kind } of body.tasks) {
        const values = kind === "userTask" ? { note: "yes" } : kind === "approval" ? { decision: "approve" } : { decision: "again" };
        await post(`/api/workflows/tasks/${id}/submit`, values);
      }
      for (const runId of started.values()) await post(`/api/workflows/runs/${runId}/signal`, { name: "go", key: `go-${runId}` });
    } catch {
      // The daemon was killed, or is still starting.
    }
    await pause(120);
  }
}

/** Every step is over once, and nothing in the journal is missing. */
function judge({ id, timeline, steps }: Detail): void {
  expect(timeline.map(({ seq }) => seq)).toEqual(timeline.map((_, index) => index + 1));
  const ends = new Map<string, number>();
  for (const { kind, step = "" } of timeline) if (["step.ended", "step.failed", "step.canceled"].includes(kind)) ends.set(step, (ends.get(step) ?? 0) + 1);
  expect(
    [...ends].filter(([, count]) => count > 1),
    id,
  ).toEqual([]);
  for (const { kind, step = "" } of timeline) if (kind === "step.ready") expect(ends.get(step), `${id} ${step}`).toBe(1);
  expect(
    steps.filter(({ status }) => ["ready", "running", "waiting"].includes(status)),
    id,
  ).toEqual([]);
}

it("FAULT-04 however often the daemon is killed, each result is recorded once, no run is lost, and none runs without saying for what it waits", {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const { folder, marks } = await setStage();
  const started = new Map<number, string>();
  const roots = new Map<string, string>();
  const idle: string[] = [];
  const list = async (port: number) => (await ask<{ runs: Detail[] }>(port, "/api/workflows/runs?summary=1&limit=200")).body.runs;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = await startDaemon(folder);
    const over = new AbortController();
    const driven = drive(daemon, started, over.signal);
    await pause(100 + Math.random() * 900);
    for (const { id, rootId, status, waits } of await list(daemon.port).catch(() => [])) {
      expect(roots.get(id) ?? rootId).toBe(rootId);
      roots.set(id, rootId);
      if (status === "running" && waits.length === 0) idle.push(id);
    }
    await daemon.kill("SIGKILL");
    over.abort();
    await driven;
    // Timers fall due meanwhile.
    if (kill % 3 === 0) await pause(300);
  }

  const daemon = await startDaemon(folder);
  const over = new AbortController();
  const driven = drive(daemon, started, over.signal);
  let runs: readonly Detail[] = [];
  for (let looked = 0; looked < 1200; looked += 1) {
    runs = await list(daemon.port);
    if (started.size === RUNS && runs.every(({ status }) => status !== "running")) break;
    await pause(50);
  }
  over.abort();
  await driven;
  const details = await Promise.all(runs.map(async ({ id }) => (await ask<Detail>(daemon.port, `/api/workflows/runs/${id}`)).body));
  const mains = details.filter(({ workflowId }) => workflowId === "all");
  expect(mains.map(({ id }) => id).sort()).toEqual([...started.values()].sort());
  for (const detail of details) {
    judge(detail);
    expect(detail.rootId).toBe(roots.get(detail.id) ?? detail.rootId);
    expect(detail.status, JSON.stringify([detail.id, detail.error, detail.waits])).toBe(detail.workflowId === "fails" ? "failed" : "completed");
  }
  expect(details.filter(({ workflowId }) => workflowId === "small")).toHaveLength(RUNS);
  expect(details.filter(({ workflowId }) => workflowId === "fails")).toHaveLength(RUNS);
  for (const [n, runId] of started) expect(mains.find(({ id }) => id === runId)?.output).toEqual({ n, each: 3, small: n * 2 });
  // Effects ran at least once each, under their own keys.
  const keys = [...started.values()].flatMap((id) => ["mark/1", "one/1.0.1", "one/1.1.1", "one/1.2.1"].map((step) => `${id}/${step}`));
  expect([...new Set(marks())].sort()).toEqual(keys.sort());
  // Between a commit and the next a run may be looked at while it goes on; not for long.
  expect(idle).toEqual([]);
  const claims = details.flatMap(({ timeline }) => timeline.filter(({ kind }) => kind === "step.claimed")).length;
  console.log(`${KILLS} kills, ${details.length} runs, ${claims} claims, ${marks().length} effects for ${keys.length} keys`);
  await daemon.kill("SIGTERM");
});
