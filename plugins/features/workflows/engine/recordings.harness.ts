import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Definition } from "./definition.ts";
import { answersFor, randomDefinition } from "./random-graph.harness.ts";
import { body, randomOf, SimulatedHost, workflow } from "./simulate.harness.ts";

/*
 * `npx jiti plugins/features/workflows/engine/recordings.harness.ts <revision>` writes journals of the engine as it is now, with the state
 * that each has folded to, below fixtures/<revision>. It names the commit of the engine that wrote it: land that first.
 */

const effect = { kind: "action", action: "x" };

/** Runs that between them write every kind of entry, some of them in the middle. */
export function recordings(): Readonly<Record<string, SimulatedHost>> {
  return {
    approval: approval(),
    signals: signals(),
    items: items(),
    joins: joins(),
    incident: incident(),
    child: child(),
    "in-child": inChild(),
    paused: paused(),
    canceled: canceled(),
    ...Object.fromEntries([11, 27, 42, 63].map((seed) => [`random-${seed}`, random(seed, seed % 2 === 0)])),
  };
}

function approval(): SimulatedHost {
  const flow = workflow("start > ask, ask.approve > done, ask.reject > no, ask.due > nudge, ask.timeout > no", {
    ask: { kind: "approval", title: "t", assignee: "role:lead", due: "1d", timeout: "3d" },
    nudge: { kind: "agent", message: "m" },
    no: { kind: "fail", code: "REFUSED" },
    done: { kind: "end", output: "{{ in }}" },
  });
  const host = new SimulatedHost(flow, { input: { item: "kettle" } }).start();
  while (host.live("nudge").length === 0) host.next();
  host.give({ kind: "comment", at: host.now, step: "ask/1", by: "ada", text: "tomorrow" });
  while (host.live("nudge").length > 0) host.next();
  host.give({ kind: "submit", at: host.now + 5, step: "ask/1", port: "approve", values: { decision: "approve" }, by: "ada" });
  return host.drain();
}

function signals(): SimulatedHost {
  const flow = workflow("start > emit, emit > t, t > a, a > b, b > c", {
    emit: { kind: "emitSignal", signal: "early" },
    t: { kind: "timer", for: "1h" },
    a: { kind: "waitSignal", signal: "early" },
    b: { kind: "waitSignal", signal: "go" },
    c: { kind: "waitSignal", signal: "never", timeout: "1h" },
  });
  const host = new SimulatedHost(flow).start();
  while (host.live("b")[0]?.status !== "waiting") host.next();
  host.give({ kind: "signal", at: host.now, name: "other", stored: false });
  for (const key of ["k1", "k1", "k2"]) host.give({ kind: "signal", at: host.now, name: "go", key, payload: { key } });
  return host.drain();
}

function items(): SimulatedHost {
  const inner = { kind: "forEach", items: "{{ in }}", need: 1, concurrency: 2, do: body("one", "", { one: effect }) };
  const flow = workflow("start > each, each > fin", {
    each: {
      kind: "forEach",
      items: [[1, 2, 3], [], [4]],
      onItemError: "continue",
      retry: { attempts: 2 },
      do: body("inner", "inner > out", { inner, out: { kind: "end", output: "{{ in }}" } }),
    },
    fin: { kind: "end", output: "{{ in }}" },
  });
  return new SimulatedHost(flow, { answers: { one: (_, { item }) => (item === 1 ? { hangs: true } : { output: item }) }, pick: randomOf(5) }).start().drain();
}

function joins(): SimulatedHost {
  const flow = workflow("start > a, start > b, start > c, a > j, b > j, c > j, j > k, a > k, k.error > s, k > d", {
    b: { kind: "timer", for: "1m" },
    c: effect,
    j: { kind: "join", wait: "any" },
    k: { kind: "join", wait: 5 },
  });
  return new SimulatedHost(flow, { pick: randomOf(3) }).start().drain();
}

function incident(): SimulatedHost {
  const flow = workflow("start > a, a.error > d", { a: { ...effect, retry: { attempts: 2 }, onExhausted: "ask" } });
  const host = new SimulatedHost(flow, { answers: { a: () => ({ error: { code: "ERROR", message: "no line" } }) } }).start().drain();
  host.give({ kind: "submit", at: host.now, step: "a/1", port: "again", values: {} });
  host.drain();
  host.give({ kind: "submit", at: host.now, step: "a/1", port: "fail", values: {}, by: "ada" });
  return host.drain();
}

function child(): SimulatedHost {
  const flow = workflow("start > sub, sub > d, sub.error > e", { sub: { kind: "subProcess", workflow: "w", retry: { attempts: 2, on: ["CHILD_CANCELED"] } } });
  return new SimulatedHost(flow, {
    answers: { sub: ({ attempt }) => (attempt === 1 ? { child: { status: "canceled" } } : { child: { status: "completed", output: 1 } }) },
  })
    .start()
    .drain();
}

/** Waits for its second child. */
function inChild(): SimulatedHost {
  const sub = { kind: "subProcess", workflow: "w", retry: { attempts: 2, on: ["CHILD_FAILED"] } };
  const flow = workflow("start > each", {
    each: { kind: "forEach", items: ["a", "b"], concurrency: 1, retry: { attempts: 2, on: ["CHILD_FAILED"] }, do: body("sub", "", { sub }) },
  });
  let children = 0;
  const answer = () => (++children === 3 ? ({ hangs: true } as const) : { child: { status: "failed" as const, error: { code: "ERROR", message: "x" } } });
  return new SimulatedHost(flow, { answers: { sub: answer } }).start().drain();
}

/** Left in the middle: with a task, a signal, a stored signal, a retry, arrivals, open items and one step that is ready. */
function paused(): SimulatedHost {
  const flow = workflow("start > u, start > s, start > r, start > a, start > each, a > j, u > j, a > x, each > j", {
    u: { kind: "userTask", title: "t", assignee: "actor:ada" },
    s: { kind: "waitSignal", signal: "go" },
    r: { ...effect, retry: { attempts: 3, delay: "1h" } },
    j: { kind: "join" },
    each: { kind: "forEach", items: [1, 2, 3], concurrency: 2, do: body("one", "", { one: effect }) },
    x: effect,
  });
  const host = new SimulatedHost(flow, {
    answers: { r: () => ({ error: { code: "ERROR" } }), one: () => ({ hangs: true }), a: () => ({ hangs: true }) },
  }).start();
  while (host.commands.length > 0) host.next();
  host.give({ kind: "pause", at: host.now, by: "ada", reason: "look" });
  host.give({ kind: "signal", at: host.now, name: "later", payload: [1] });
  host.give({ kind: "result", at: host.now, step: "a/1", output: "x" });
  return host;
}

function canceled(): SimulatedHost {
  const host = paused();
  host.give({ kind: "resume", at: host.now });
  host.give({ kind: "cancel", at: host.now, by: "ada" });
  return host;
}

function random(seed: number, racing: boolean): SimulatedHost {
  const flow: Definition = { ...randomDefinition(randomOf(seed), { racing, joins: 4 }), maxSteps: 120 };
  return new SimulatedHost(flow, { answers: answersFor(flow, racing), input: { h: 1, n: 0 }, pick: randomOf(seed) }).start().drain();
}

const revision = process.argv[2];
if (process.argv[1]?.endsWith("recordings.harness.ts") && revision !== undefined) {
  const folder = join(import.meta.dirname, "fixtures", revision);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  if (git("status", "--porcelain", "--", "*.ts") !== "") throw new Error("the engine is not committed: commit it first");
  mkdirSync(folder, { recursive: true });
  const engine = git("log", "-1", "--format=%h", "--", ".", ":!*.test.ts", ":!*.harness.ts", ":!*.md", ":!fixtures");
  for (const [name, { journal, run }] of Object.entries(recordings())) {
    const lines = journal.map((entry) => JSON.stringify(entry)).join(",\n");
    writeFileSync(join(folder, `${name}.json`), `{"engine":"${engine}","state":${JSON.stringify(run)},"journal":[\n${lines}\n]}\n`);
  }
}
