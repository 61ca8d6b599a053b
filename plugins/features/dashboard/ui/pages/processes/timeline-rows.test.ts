import { expect, it } from "vitest";
import { nodesOf } from "./graph-nodes.ts";
import type { Executed, RunDetail, Step } from "./run-types.ts";
import { graphStates, opensOn, placeOf, takenPorts, timelineOf } from "./timeline-rows.ts";

const definition: Executed["definition"] = {
  id: "w",
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "check", kind: "branch" },
    { id: "ask", kind: "userTask", label: "Ask the author" },
    {
      id: "each",
      kind: "forEach",
      do: {
        nodes: [
          { id: "one", kind: "set" },
          { id: "two", kind: "set" },
        ],
        edges: [{ from: "one", to: "two" }],
      },
    },
    { id: "tell", kind: "action", label: "Tell the team" },
    { id: "late", kind: "set" },
  ],
  edges: [
    { from: "start", to: "check" },
    { from: "check", fromPort: "no", to: "ask" },
    { from: "ask", to: "late" },
    { from: "check", fromPort: "yes", to: "each" },
    { from: "each", to: "tell" },
  ],
};
const nodes = nodesOf(definition);
const step = (id: string, status: Step["status"], more: Partial<Step> = {}): Step => {
  const [node = "", iteration = ""] = id.split("/");
  return { id, node, iteration, status, attempt: 1, readyAt: "2026-05-01T10:00:00.000Z", ...more };
};
const run = (status: RunDetail["status"], steps: readonly Step[], more: Partial<RunDetail> = {}) => ({ status, steps, waits: [], ...more });

const failed = run(
  "failed",
  [
    step("start/1", "ok", { ports: ["out"] }),
    step("check/1", "ok", { ports: ["yes"] }),
    step("each/1", "ok", { ports: ["out"] }),
    step("one/1.0.1", "ok", { ports: ["out"] }),
    step("one/1.4.2", "ok", { ports: [] }),
    step("tell/1", "failed", { attempt: 3, ports: [] }),
    step("tell/2", "canceled"),
  ],
  { error: { code: "ERROR", message: "no", node: "tell", iteration: "1" } },
);

it("the timeline names steps by their labels, items and visits, and puts what an ended run passed by behind what leads to it", () => {
  const rows = timelineOf(failed, nodes);
  expect(rows.map(({ id, label, depth, item, visit, state }) => [id, label, depth, item, visit, state])).toEqual([
    ["start/1", "start", 0, undefined, undefined, "ok"],
    ["check/1", "check", 0, undefined, undefined, "ok"],
    ["skipped:ask", "Ask the author", 0, undefined, undefined, "skipped"],
    ["skipped:late", "late", 0, undefined, undefined, "skipped"],
    ["each/1", "each", 0, undefined, undefined, "ok"],
    ["one/1.0.1", "one", 1, 1, undefined, "ok"],
    ["one/1.4.2", "one", 1, 5, 2, "ok"],
    ["skipped:two", "two", 1, undefined, undefined, "skipped"],
    ["tell/1", "Tell the team", 0, undefined, undefined, "failed"],
    ["tell/2", "Tell the team", 0, undefined, 2, "canceled"],
  ]);
  expect(timelineOf({ ...failed, status: "running" }, nodes).filter(({ state }) => state === "skipped")).toEqual([]);
});

it("a run opens on what failed it, else on what waits, else on what is at work, else on its last step", () => {
  expect(opensOn(failed, timelineOf(failed, nodes))).toBe("tell/1");
  const nameless = { ...failed, error: { code: "RUN_TIMEOUT", message: "late" } };
  expect(opensOn(nameless, timelineOf(nameless, nodes))).toBe("tell/1");
  const live = run("running", [step("start/1", "ok"), step("ask/1", "waiting"), step("tell/1", "running")], {
    waits: [{ node: "ask", iteration: "1", kind: "task", since: "2026-05-01T10:00:00.000Z", for: "ut_1" }],
  });
  const rows = timelineOf(live, nodes);
  expect(opensOn(live, rows)).toBe("ask/1");
  expect(rows[1]?.wait?.for).toBe("ut_1");
  const busy = run("running", [step("start/1", "ok"), step("tell/1", "running"), step("late/1", "ready")]);
  expect(opensOn(busy, timelineOf(busy, nodes))).toBe("tell/1");
  const done = run("completed", [step("start/1", "ok"), step("check/1", "ok")]);
  expect(opensOn(done, timelineOf(done, nodes))).toBe("check/1");
  const empty = run("canceled", []);
  expect(opensOn(empty, timelineOf(empty, new Map()))).toBeUndefined();
});

it("the graph gets the newest state of each node, how often it was entered, and the ports that were taken", () => {
  const rows = timelineOf(failed, nodes);
  expect(graphStates(rows)).toMatchObject({ tell: { state: "canceled", count: 2 }, ask: { state: "skipped", count: 0 }, one: { count: 2 } });
  expect([...takenPorts(rows)].sort()).toEqual(["check.yes", "each.out", "one.out", "start.out"]);
});

it("an iteration in items is an item and a visit", () => {
  expect(placeOf("3")).toEqual({ visit: 3 });
  expect(placeOf("1.0.1")).toEqual({ item: 1, visit: 1 });
  expect(placeOf("1.0.2.7.4")).toEqual({ item: 8, visit: 4 });
});
