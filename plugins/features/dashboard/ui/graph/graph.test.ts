import { describe, expect, it } from "vitest";
import { autoLayout, completePlaces, freePlace, GRID, heightOf, NODE_WIDTH } from "./auto-layout.ts";
import { flowOrder } from "./flow-order.ts";
import type { Graph, GraphEdge, GraphNode } from "./graph-types.ts";
import { drawnPorts, portsOf } from "./ports.ts";

const set = (id: string): GraphNode => ({ id, kind: "set", value: 1 });
const edges = (text: string): GraphEdge[] =>
  text.split(",").map((edge) => {
    const [, from = "", fromPort, to = ""] = /^\s*(\w+)(?:\.(\w+))? > (\w+)\s*$/.exec(edge) ?? [];
    return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
  });
const graph = (nodes: readonly GraphNode[], ways: string): Graph => ({ nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges: edges(ways) });
const REVIEW = graph(
  [{ id: "done", kind: "end" }, { id: "ok", kind: "branch", cases: [{ port: "yes", when: "x" }] }, set("write"), set("again"), set("lost")],
  "start > write, write > ok, ok.yes > done, ok.else > again, again > write",
);

describe("the order of a graph", () => {
  it("is that of a run; edges that lead back do not count, and what nothing leads to is last", () => {
    expect(flowOrder(REVIEW).map(({ id }) => id)).toEqual(["start", "write", "ok", "done", "again", "lost"]);
    expect(flowOrder({ nodes: [], edges: [] })).toEqual([]);
  });

  it("of a body begins at its start", () => {
    const body: Graph = { start: "b", nodes: [set("a"), set("b")], edges: [{ from: "b", to: "a" }] };
    expect(flowOrder(body).map(({ id }) => id)).toEqual(["b", "a"]);
  });

  it("takes a chain of 5,000 nodes", () => {
    const nodes = Array.from({ length: 5_000 }, (_, at) => set(`n${at}`));
    const chain = { nodes, edges: nodes.slice(1).map(({ id }, at) => ({ from: `n${at}`, to: id })) };
    expect(flowOrder(chain)).toEqual(nodes);
  });
});

describe("ports", () => {
  it("are those of the kind, with the ways that a form's answers name", () => {
    const task = {
      id: "t",
      kind: "userTask",
      submitTransition: "{{ values.verdict }}",
      form: [{ name: "verdict", kind: "select", options: ["a", { value: "b" }] }],
    };
    expect(portsOf(task)).toEqual({ ports: ["a", "b", "due", "error", "timeout"], open: true });
    expect(drawnPorts(task, { edges: edges("t.c > x, t.due > y") })).toEqual({ side: ["a", "b", "c"], foot: ["due", "error", "timeout"] });
    for (const cases of [undefined, 1, [null, { port: 3 }, { port: "" }]])
      expect(portsOf({ id: "b", kind: "branch", cases }).ports).toEqual(["else", "error", "timeout"]);
  });
});

describe("a layout that nobody made", () => {
  const overlaps = (places: ReadonlyMap<string, readonly [number, number]>) =>
    [...places].some(([one, [x, y]]) =>
      [...places].some(([other, [left, top]]) => one < other && Math.abs(x - left) < NODE_WIDTH && Math.abs(y - top) < heightOf(1)),
    );

  it("goes from left to right on the grid, and no node covers another", () => {
    const places = autoLayout(REVIEW);
    expect(places.size).toBe(REVIEW.nodes.length);
    expect([...places.values()].flat().every((part) => part % GRID === 0)).toBe(true);
    expect(overlaps(places)).toBe(false);
    const x = (id: string) => places.get(id)?.[0] as number;
    expect(x("start") < x("write") && x("write") < x("ok") && x("ok") < x("done")).toBe(true);
    expect(x("again")).toBe(x("done"));
  });

  it("of one way is one line", () => {
    const line = graph([set("a"), set("b"), set("c")], "start > a, a > b, b > c");
    expect(new Set([...autoLayout(line).values()].map(([, y]) => y)).size).toBe(1);
  });

  it("keeps what is stored and finds room for the rest", () => {
    const stored = new Map([
      ["start", [0, 0] as const],
      ["write", [256, 0] as const],
    ]);
    const places = completePlaces(REVIEW, stored);
    expect([places.get("start"), places.get("write"), places.size, overlaps(places)]).toEqual([[0, 0], [256, 0], 6, false]);
    expect(
      freePlace(
        [3, 5],
        [
          [0, 0],
          [0, 64],
        ],
      ),
    ).toEqual([0, 128]);
  });

  it("of 500 nodes and 2,000 edges has no overlap", () => {
    const nodes = Array.from({ length: 500 }, (_, at) => set(`n${at}`));
    const mesh = Array.from({ length: 2_000 }, (_, at) => ({ from: `n${(at * 7) % 500}`, to: `n${(at * 13 + 1) % 500}` }));
    expect(overlaps(autoLayout({ nodes, edges: mesh }))).toBe(false);
  });
});
