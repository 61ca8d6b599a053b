import { describe, expect, it } from "vitest";
import { fold } from "./apply.ts";
import type { Definition } from "./definition.ts";
import type { Input } from "./inputs.ts";
import type { StepState } from "./run-state.ts";
import { type Answers, body, lines, randomOf, SimulatedHost, workflow } from "./simulate.harness.ts";
import { dueInputs, nextWake } from "./wakes.ts";

const branch = (...ports: string[]) => ({ kind: "branch", cases: ports.map((port) => ({ port, when: "" })) });
const all = { kind: "join" };
const effect = { kind: "action", action: "x" };
const hangs = () => ({ hangs: true }) as const;

/** In 20 orders; each must give the same counts of what fired and ended. */
function inOrders(flow: Definition, answers: Answers, check: (host: SimulatedHost) => void): void {
  for (let seed = 1; seed <= 20; seed++) check(new SimulatedHost(flow, { answers, pick: randomOf(seed) }).start().drain());
}

const count = (host: SimulatedHost, start: string) => lines(host.journal).filter((line) => line.startsWith(start)).length;

describe("joins", () => {
  it("a parallel block in a loop is joined once in each turn", () => {
    const flow = workflow("start > top, top > a, top > b, a > j, b > j, j > x, x.again > top, x.else > d", {
      j: all,
      x: branch("again"),
      b: { kind: "timer", for: "1m" },
    });
    inOrders(flow, { x: ({ visit }) => ({ port: visit < 4 ? "again" : "else" }) }, (host) => {
      expect([count(host, "join.fired j"), count(host, "ended d")]).toEqual([4, 1]);
      expect(host.journal.filter((entry) => entry.kind === "join.fired").every((entry) => entry.kind === "join.fired" && entry.output.length === 2)).toBe(true);
    });
  });

  it("joins that reach each other do not wait for ever: the one nearest to the start fires", () => {
    const flow = workflow("start > a, start > b, a > j, b > k, j > xj, k > xk, xj.on > k, xj.else > d, xk.on > j, xk.else > d", {
      j: all,
      k: all,
      xj: branch("on"),
      xk: branch("on"),
    });
    inOrders(flow, { xj: ({ visit }) => ({ port: visit === 1 ? "on" : "else" }) }, (host) => {
      expect(lines(host.journal).filter((line) => line.startsWith("join.fired"))).toEqual(["join.fired j/1", "join.fired k/1"]);
      expect(host.run.status).toBe("completed");
    });
  });

  it("a loop that spawns tokens beside a join has it fire once for each generation", () => {
    const flow = workflow("start > s, s > a, s > x, x.again > s, x.else > b, a > j, b > j, j > d", { x: branch("again"), j: all });
    inOrders(flow, { x: ({ visit }) => ({ port: visit < 3 ? "again" : "else" }) }, (host) => {
      expect([count(host, "ended a"), count(host, "join.fired j"), count(host, "ended d")]).toEqual([3, 3, 3]);
    });
  });

  it("a branch out of the region lets the join fire when the token has left it", () => {
    const flow = workflow("start > a, start > b, a > x, x.on > j, x.else > out, b > j, j > d", {
      x: branch("on"),
      j: all,
      a: { kind: "timer", for: "1h" },
      out: effect,
    });
    inOrders(flow, { out: hangs }, (host) => {
      expect([count(host, "join.fired j"), count(host, "ended d"), count(host, "ended out")]).toEqual([1, 1, 0]);
      host.give({ kind: "result", at: host.now, step: "out/1", output: 1 });
      expect(host.run.status).toBe("completed");
    });
  });

  it("`any` in a loop works again in the next turn, and what comes late is absorbed", () => {
    const flow = workflow("start > top, top > a, top > b, a > j, b > j, j > x, x.again > top, x.else > d", {
      j: { kind: "join", wait: "any" },
      x: branch("again"),
      b: { kind: "timer", for: "1m" },
    });
    inOrders(flow, { x: ({ visit }) => ({ port: visit < 3 ? "again" : "else" }) }, (host) => {
      expect([count(host, "join.fired j"), count(host, "join.late j"), count(host, "ended d")]).toEqual([3, 3, 1]);
    });
  });

  it("cancelNodes on what a join waits for lets it fire", () => {
    const flow = workflow("start > a, start > b, start > t, t > c, a > j, b > j, j > d", {
      a: effect,
      t: { kind: "timer", for: "1h" },
      c: { kind: "cancelNodes", nodes: ["a"] },
      j: all,
    });
    inOrders(flow, { a: hangs }, (host) => {
      expect(count(host, "join.fired j")).toBe(1);
      expect(host.done.filter((command) => command.do === "cancelEffect")).toEqual([{ do: "cancelEffect", step: "a/1" }]);
    });
  });

  it("an error port into a join counts as an arrival", () => {
    const flow = workflow("start > a, start > b, a > ok, a.error > j, ok > j, b > j, j > d", { a: { ...effect, retry: { attempts: 2 } }, j: all });
    inOrders(flow, { a: () => ({ error: { code: "ERROR" } }) }, (host) => {
      const fired = host.journal.find((entry) => entry.kind === "join.fired");
      expect(fired).toMatchObject({ output: [{ error: { code: "ERROR", node: "a", attempt: 2 } }, {}] });
    });
  });

  it("too few tokens are an error: by the error port, else of the scope", () => {
    const nodes = { a: branch("never"), j: { kind: "join", wait: 2 } };
    inOrders(workflow("start > a, start > b, a.never > j, a.else > away, b > j, j.error > e, j > d", nodes), {}, (host) => {
      expect([count(host, "join.short j"), count(host, "ended e"), count(host, "ended d")]).toEqual([1, 1, 0]);
      expect(host.run.status).toBe("completed");
    });
    inOrders(workflow("start > a, start > b, a.never > j, a.else > away, b > j, j > d", nodes), {}, (host) => {
      expect(host.run).toMatchObject({ status: "failed", error: { code: "JOIN_SHORT", node: "j", iteration: "1" } });
    });
  });
});

describe("nodes", () => {
  it("may be called as what every object inherits", () => {
    const flow = workflow(
      "start > constructor, constructor > toString, constructor > valueOf, toString > hasOwnProperty, valueOf > hasOwnProperty, hasOwnProperty > isPrototypeOf, isPrototypeOf.again > constructor, isPrototypeOf.else > d",
      { hasOwnProperty: all, isPrototypeOf: branch("again"), valueOf: { kind: "timer", for: "1s" } },
    );
    inOrders(flow, { isPrototypeOf: ({ visit }: StepState) => ({ port: visit < 3 ? "again" : "else" }) }, (host) => {
      expect(lines(host.journal).filter((line) => line.startsWith("join.fired"))).toEqual(
        ["hasOwnProperty/1", "hasOwnProperty/2", "hasOwnProperty/3"].map((id) => `join.fired ${id}`),
      );
      expect(host.run.status).toBe("completed");
      expect(fold(host.journal)).toEqual(host.run);
    });
    const each = workflow("start > each", { each: { kind: "forEach", items: [1], do: body("constructor", "constructor > toString") } });
    expect(new SimulatedHost(each).start().drain().run.status).toBe("completed");
    for (const step of ["constructor", "toString"]) expect(new SimulatedHost(each).start().give({ kind: "claim", at: 1, step }).refused).toBe("not-live");
  });
});

describe("items", () => {
  it("forEach in forEach gives lists in item order and keeps nothing of its scopes", () => {
    const inner = { kind: "forEach", items: "{{ in }}", concurrency: 2, do: body("one", "one > out", { out: { kind: "end", output: "{{ item }}" } }) };
    const flow = workflow("start > outer, outer > d", {
      outer: {
        kind: "forEach",
        items: [[1, 2, 3], [], [4]],
        concurrency: 2,
        do: body("inner", "inner > end", { inner, end: { kind: "end", output: "{{ in }}" } }),
      },
      d: { kind: "end", output: "{{ in }}" },
    });
    inOrders(flow, {}, (host) => {
      expect(host.run.output).toEqual([[1, 2, 3], [], [4]]);
      expect(host.journal.some((entry) => entry.kind === "step.ready" && entry.step === "one/1.0.1.2.1")).toBe(true);
      expect(Object.keys(host.run.scopes)).toEqual([""]);
    });
  });

  it("a forEach that is tried again counts its visits on: no effect key is used for two results", () => {
    const flow = workflow("start > each, each > d", { each: { kind: "forEach", items: [1, 2], retry: { attempts: 2 }, do: body("one", "", { one: effect }) } });
    const host = new SimulatedHost(flow, { answers: { one: ({ iteration }) => (iteration === "1.1.1" ? { error: { code: "ERROR" } } : { output: 1 }) } })
      .start()
      .drain();
    const made = host.journal.flatMap((entry) => (entry.kind === "step.ready" ? [entry.step] : []));
    expect(new Set(made).size).toBe(made.length);
    expect(made.filter((step) => step.startsWith("one/"))).toEqual(["one/1.0.1", "one/1.1.1", "one/1.0.2", "one/1.1.2"]);
    expect(host.run).toMatchObject({ status: "completed" });
  });

  it("a forEach that its owner is asked about starts nothing, not after a pause either; again starts it afresh", () => {
    const each = { kind: "forEach", items: [1, 2, 3], concurrency: 1, onExhausted: "ask", do: body("one", "", { one: effect }) };
    let bad = true;
    const host = new SimulatedHost(workflow("start > each, each > d", { each }), { answers: { one: () => (bad ? { error: { code: "BAD" } } : { output: 1 }) } })
      .start()
      .drain();
    expect(host.live("each")[0]).toMatchObject({ status: "waiting", wait: { kind: "incident" } });
    host.give({ kind: "pause", at: 1 });
    host.give({ kind: "resume", at: 1 });
    host.drain();
    expect([count(host, "item.started"), host.live("one").length]).toEqual([1, 0]);
    const { journal } = host;
    bad = false;
    host.give({ kind: "submit", at: 1, step: "each/1", port: "again", values: {} });
    host.drain();
    expect(host.run.status).toBe("completed");
    expect(journal.flatMap((entry) => (entry.kind === "step.ready" && entry.node === "one" ? [entry.step] : []))).toEqual([
      "one/1.0.1",
      "one/1.0.2",
      "one/1.1.2",
      "one/1.2.2",
    ]);
  });

  it("a forEach keeps nothing of its items but their outputs", () => {
    const items = Array.from({ length: 200 }, (_, at) => at);
    const flow = workflow("start > each", { each: { kind: "forEach", items, concurrency: 2, do: body("one", "one > two") } });
    const host = new SimulatedHost(flow, { unchecked: true }).start();
    while (host.next()) expect(Object.keys(host.run.scopes).length).toBeLessThanOrEqual(3);
    expect(host.run.status).toBe("completed");
  });

  it("fewer good items than needed are an error, more are not waited for", () => {
    const each = { kind: "forEach", items: [1, 2, 3], need: 2, onItemError: "continue", concurrency: 1, do: body("one", "", { one: effect }) };
    const flow = workflow("start > each, each.error > e, each > d", { each });
    const bad = (list: number[]) => ({
      one: (_: unknown, { item }: { item?: unknown }) => (list.includes(item as number) ? { error: { code: "BAD" } } : { output: 1 }),
    });
    const short = new SimulatedHost(flow, { answers: bad([1, 2]) }).start().drain();
    expect(lines(short.journal)).toContain("failed each/1 JOIN_SHORT error");
    const enough = new SimulatedHost(flow, { answers: bad([]) }).start().drain();
    expect(enough.journal.find((entry) => entry.kind === "step.ended" && entry.step === "each/1")).toMatchObject({ output: [null, null, null] });
    expect(count(enough, "item.started")).toBe(2);
  });
});

describe("a pause", () => {
  const flow = workflow("start > a, start > s, start > u, a > j, s > j, u.out > j, j > each, each > d", {
    a: { ...effect, retry: { attempts: 2 } },
    s: { kind: "waitSignal", signal: "go" },
    u: { kind: "userTask", title: "t", assignee: "role:x", due: "1h" },
    j: all,
    each: { kind: "forEach", items: [1, 2], concurrency: 1, do: body("one", "") },
  });

  it("WF-05 records what comes and begins nothing; nothing is due until it is over", () => {
    const host = new SimulatedHost(flow, { answers: { a: hangs } }).start();
    while (host.next() && host.now === 1_000);
    host.give({ kind: "pause", at: host.now, by: "ada" });
    expect(nextWake(host.run)).toBeUndefined();
    expect(dueInputs(host.run, Number.MAX_SAFE_INTEGER)).toEqual([]);
    const at = host.now;
    const refused: Input[] = [
      { kind: "claim", at, step: "a/1" },
      { kind: "due", at, step: "u/1" },
      { kind: "timeout", at },
    ];
    expect(refused.map((input) => host.give(input).refused)).toEqual(["paused", "paused", "paused"]);
    host.give({ kind: "result", at, step: "a/1", output: 1 });
    host.give({ kind: "signal", at, name: "go" });
    host.give({ kind: "comment", at, step: "u/1", text: "soon" });
    host.give({ kind: "submit", at, step: "u/1", port: "out", values: {} });
    expect(host.commands).toEqual([]);
    expect([count(host, "join.arrived"), count(host, "join.fired")]).toEqual([3, 0]);
    host.give({ kind: "resume", at });
    expect(count(host, "join.fired")).toBe(1);
    host.drain();
    expect(host.run.status).toBe("completed");
  });

  it("WF-04 is only for a running run, and only a paused one is resumed", () => {
    const host = new SimulatedHost(flow, { answers: { a: hangs } }).start();
    expect(host.give({ kind: "resume", at: 1 }).refused).toBe("not-paused");
    host.give({ kind: "pause", at: 1 });
    expect(host.give({ kind: "pause", at: 1 }).refused).toBe("paused");
    expect(host.give({ kind: "cancel", at: 1, by: "ada" }).commands).toContainEqual({ do: "ended", status: "canceled" });
  });

  it("holds back the next item of a forEach until it is over", () => {
    const host = new SimulatedHost(
      workflow("start > each", { each: { kind: "forEach", items: [1, 2], concurrency: 1, do: body("one", "", { one: effect }) } }),
      { answers: { one: hangs } },
    );
    host.start().drain();
    host.give({ kind: "fault", at: 1, step: "one/1.0.1", error: { code: "X", message: "x" } });
    expect(host.run.error?.details).toMatchObject({ item: 0, error: { code: "X", node: "one" } });
    const other = new SimulatedHost(
      workflow("start > each", { each: { kind: "forEach", items: [1, 2], concurrency: 1, onItemError: "continue", do: body("one", "", { one: effect }) } }),
      {
        answers: { one: hangs },
      },
    );
    other.start().drain();
    other.give({ kind: "pause", at: 1 });
    other.give({ kind: "fault", at: 1, step: "one/1.0.1", error: { code: "X", message: "x" } });
    expect(count(other, "item.started")).toBe(1);
    other.give({ kind: "resume", at: 1 });
    expect(count(other, "item.started")).toBe(2);
  });
});

describe("every input", () => {
  it("to a step in any other state changes nothing, and says why", () => {
    const flow = workflow("start > a, a > s, s > u, u > d", {
      a: effect,
      s: { kind: "waitSignal", signal: "go" },
      u: { kind: "approval", title: "t", assignee: "role:x" },
    });
    const host = new SimulatedHost(flow, { answers: { a: hangs } }).start();
    const inputs = (step: string): Input[] => [
      { kind: "result", at: 1, step },
      { kind: "fault", at: 1, step, error: { code: "X", message: "" } },
      { kind: "park", at: 1, step, wait: { kind: "effect", for: "x" } },
      { kind: "items", at: 1, step, items: [] },
      { kind: "due", at: 1, step },
      { kind: "retryDue", at: 1, step },
      { kind: "timeout", at: 1, step },
      { kind: "submit", at: 1, step, port: "out", values: {} },
      { kind: "comment", at: 1, step, text: "" },
      { kind: "childEnded", at: 1, step, runId: "r", status: "completed" },
    ];
    expect(inputs("nowhere/1").map((input) => host.give(input).refused)).toEqual(inputs("").map(() => "not-live"));
    const ready = inputs("a/1").filter(({ kind }) => kind !== "retryDue");
    expect(ready.map((input) => host.give(input).refused)).toEqual(ready.map(() => "not-waiting"));
    host.drain();
    expect(host.give({ kind: "claim", at: 1, step: "a/1" }).refused).toBe("not-waiting");
    host.give({ kind: "result", at: 1, step: "a/1" });
    expect(host.give({ kind: "result", at: 1, step: "a/1" }).refused).toBe("not-live");
    host.drain();
    host.give({ kind: "signal", at: 1, name: "go", key: "k" });
    expect(host.give({ kind: "signal", at: 1, name: "go", key: "k" }).refused).toBe("duplicate");
    host.drain();
    expect(host.give({ kind: "submit", at: 1, step: "u/1", port: "error", values: {} }).refused).toBe("unknown-port");
    expect(host.give({ kind: "start", at: 1, run: host.run }).refused).toBe("started");
  });
});

describe("signals", () => {
  it("are kept a hundred a name, oldest dropped, and the oldest is taken first", () => {
    const host = new SimulatedHost(
      workflow("start > t, t > s, s > d", { t: { kind: "timer", for: "1h" }, s: { kind: "waitSignal", signal: "go" }, d: { kind: "end", output: "{{ in }}" } }),
    ).start();
    for (let n = 1; n <= 101; n++) host.give({ kind: "signal", at: 1, name: "go", payload: n });
    expect([host.run.signals.length, count(host, "signal.dropped")]).toEqual([100, 1]);
    host.drain();
    expect(host.run.output).toBe(2);
  });

  it("go to the oldest wait that accepts them", () => {
    const wait = { kind: "waitSignal", signal: "go" };
    const host = new SimulatedHost(workflow("start > one, start > two", { one: wait, two: wait })).start().drain();
    host.give({ kind: "signal", at: 1, name: "go", matches: ["two/1"] });
    host.give({ kind: "signal", at: 1, name: "go" });
    expect(lines(host.journal).filter((line) => line.startsWith("signal.delivered"))).toEqual(["signal.delivered two/1", "signal.delivered one/1"]);
  });
});

describe("an interrupted step", () => {
  const interrupted = { code: "INTERRUPTED", message: "the daemon stopped" };
  const lose = (host: SimulatedHost, step: string) => {
    const given = host.give({ kind: "fault", at: host.now, step, error: interrupted });
    host.drain();
    return given;
  };

  it("goes by its node: retry claims it again, the third loss asks, fail takes the error port", () => {
    const host = new SimulatedHost(workflow("start > a, a > d", { a: { ...effect, idempotent: true } }), { answers: { a: hangs } }).start().drain();
    lose(host, "a/1");
    lose(host, "a/1");
    expect(host.live("a")[0]).toMatchObject({ status: "running", attempt: 3, lost: 2 });
    expect(lose(host, "a/1").commands).toMatchObject([{ do: "openIncident", step: "a/1", error: { code: "INTERRUPTED" } }]);
    host.give({ kind: "submit", at: 1, step: "a/1", port: "skip", values: { value: 5 } });
    expect(host.journal.find((entry) => entry.kind === "step.ended" && entry.step === "a/1")).toMatchObject({ output: 5, ports: ["out"] });
    const other = new SimulatedHost(workflow("start > a, a.error > d", { a: { ...effect, onInterrupted: "fail" } }), { answers: { a: hangs } }).start().drain();
    lose(other, "a/1");
    expect(lines(other.journal)).toContain("failed a/1 INTERRUPTED error");
    const agent = new SimulatedHost(workflow("start > a", { a: { kind: "agent", message: "x" } }), { answers: { a: hangs } }).start().drain();
    lose(agent, "a/1");
    agent.give({ kind: "submit", at: 1, step: "a/1", port: "fail", values: {} });
    expect(agent.run).toMatchObject({ status: "failed", error: { code: "INTERRUPTED" } });
  });
});

describe("a sub-process", () => {
  it("whose child failed is tried again as another child; cancel and pause reach it", () => {
    const flow = workflow("start > sub, sub > d", { sub: { kind: "subProcess", workflow: "w", retry: { attempts: 2, on: ["CHILD_FAILED"] } } });
    const host = new SimulatedHost(flow, {
      answers: { sub: ({ attempt }) => (attempt === 1 ? { child: { status: "failed", error: { code: "X", message: "x" } } } : { hangs: true }) },
    })
      .start()
      .drain();
    const keys = host.done.flatMap((command) => (command.do === "startChild" ? [command.startKey] : []));
    expect(keys).toEqual(["sub:run_1/sub/1", "sub:run_1/sub/1#2"]);
    const { commands } = host.give({ kind: "pause", at: 1 });
    expect(commands).toMatchObject([{ do: "pauseChild", runId: "run_sub:run_1/sub/1#2" }]);
    expect(host.give({ kind: "resume", at: 1 }).commands).toMatchObject([{ do: "resumeChild" }]);
    expect(host.give({ kind: "cancel", at: 1 }).commands).toMatchObject([{ do: "cancelChild" }, { do: "ended" }]);
  });
});

describe("a timeout", () => {
  it("of a sub-process gives its child up; the next attempt starts another and takes no end of the first", () => {
    const flow = workflow("start > sub, sub > d", { sub: { kind: "subProcess", workflow: "w", timeout: "10s", retry: { attempts: 2 } } });
    const host = new SimulatedHost(flow, { answers: { sub: ({ attempt }) => (attempt === 1 ? { hangs: true } : {}) } }).start();
    while (host.live("sub")[0]?.wait?.kind !== "retry") host.next();
    expect(host.commands).toContainEqual({ do: "cancelChild", step: "sub/1", runId: "run_sub:run_1/sub/1" });
    expect(host.give({ kind: "childEnded", at: host.now, step: "sub/1", runId: "run_sub:run_1/sub/1", status: "canceled" }).refused).toBe("not-waiting");
    host.drain();
    expect(host.done.flatMap((command) => (command.do === "startChild" ? [command.startKey] : []))).toEqual(["sub:run_1/sub/1", "sub:run_1/sub/1#2"]);
    expect(host.run.status).toBe("completed");
  });

  it("of an attempt is tried again and cancels what it had begun; of the run no port catches it", () => {
    const flow = workflow("start > a, a.timeout > late, a.error > e", { a: { ...effect, timeout: "10s", retry: { attempts: 2, delay: "5s" } } });
    const host = new SimulatedHost(flow, { answers: { a: hangs } }).start().drain();
    expect(lines(host.journal).filter((line) => line.includes("a/1"))).toEqual([
      "ready a/1",
      "claimed a/1",
      "retry a/1 5000 ms",
      "claimed a/1",
      "failed a/1 TIMEOUT timeout",
    ]);
    expect(host.now).toBe(26_000);
    expect(host.done.filter((command) => command.do === "cancelEffect").length).toBe(2);
    const run = new SimulatedHost(flow, { answers: { a: hangs }, run: { timeoutAt: 1_500 } }).start().drain();
    expect(run.run).toMatchObject({ status: "failed", error: { code: "RUN_TIMEOUT" } });
    expect(fold(run.journal)).toEqual(run.run);
  });
});
