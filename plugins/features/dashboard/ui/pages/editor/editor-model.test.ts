import { describe, expect, it } from "vitest";
import { allNodes, type GraphDefinition, type GraphNode, graphAt, readGraph, readPlaces, scopeOf } from "../../graph/graph-types.ts";
import { changesOf } from "./changes.ts";
import { applyEdit, copyOf, freeId, newNode } from "./edit.ts";
import { historyOf, redo, step, undo } from "./history.ts";
import { merge } from "./merge.ts";

const set = (id: string, value: unknown = 1): GraphNode => ({ id, kind: "set", value });
const each: GraphNode = {
  id: "each",
  kind: "forEach",
  items: "{{ input.list }}",
  do: { start: "one", nodes: [set("one", "{{ steps.a.output }}"), set("two")], edges: [{ from: "one", to: "two" }] },
};
const FLOW: GraphDefinition = {
  name: "Flow",
  nodes: [{ id: "start", kind: "trigger" }, set("a"), each, { id: "done", kind: "end", output: "{{ steps.a.output & run.visits.a & ' steps.a' }} steps.a" }],
  edges: [
    { from: "start", to: "a" },
    { from: "a", to: "each" },
    { from: "each", fromPort: "error", to: "done" },
    { from: "each", to: "done" },
  ],
};
const node = (definition: GraphDefinition, id: string) => allNodes(definition).find((one) => one.id === id);

describe("a definition as a graph", () => {
  it("is read as far as it can be drawn, and told where that is not all", () => {
    expect(readGraph(FLOW)).toEqual({ definition: FLOW, whole: true });
    for (const broken of [
      null,
      [],
      { nodes: 1 },
      { nodes: [{ id: "a" }] },
      { nodes: [set("a"), set("a")] },
      { nodes: [], edges: ["a > b"] },
      { nodes: [null] },
    ])
      expect(readGraph(broken).whole, JSON.stringify(broken)).toBe(false);
    expect(readGraph({ nodes: [set("a"), 5], edges: [{ from: "a" }] }).definition).toMatchObject({ nodes: [set("a")], edges: [] });
  });

  it("has bodies of its own, found by the nodes in them", () => {
    expect([scopeOf(FLOW, "two"), scopeOf(FLOW, "a"), scopeOf(FLOW, "gone")]).toEqual([["each"], [], undefined]);
    expect(graphAt(FLOW, ["each"])).toMatchObject({ start: "one", edges: [{ from: "one", to: "two" }] });
    expect(graphAt(FLOW, ["a"])).toBeUndefined();
  });

  it("a stored layout may hold anything", () => {
    const places = readPlaces({ nodes: { a: [1, 2], b: "x", c: [1], d: [Number.NaN, 1], e: [1e9, 0] } });
    expect([...places]).toEqual([["a", [1, 2]]]);
    expect(readPlaces(null).size).toBe(0);
  });
});

describe("an edit", () => {
  it("adds a node with its edge, in the graph that is open, and leaves everything else the same objects", () => {
    const next = applyEdit(FLOW, { type: "add", scope: ["each"], node: set("three"), from: { id: "two", port: "error" } });
    expect(graphAt(next, ["each"])?.edges.at(-1)).toEqual({ from: "two", fromPort: "error", to: "three" });
    expect(next.edges).toBe(FLOW.edges);
    expect(next.nodes[1]).toBe(FLOW.nodes[1]);
  });

  it("removes nodes with their edges, and a body begins with what came next", () => {
    const next = applyEdit(FLOW, { type: "remove", scope: ["each"], ids: ["one"] });
    expect(graphAt(next, ["each"])).toEqual({ start: "two", nodes: [set("two")], edges: [] });
    const top = applyEdit(FLOW, { type: "remove", scope: [], ids: ["each"] });
    expect(top.edges).toEqual([{ from: "start", to: "a" }]);
    expect(applyEdit(FLOW, { type: "remove", scope: [], ids: ["gone"] })).toBe(FLOW);
  });

  it("connects once, and disconnects", () => {
    const edge = { from: "a", to: "done" };
    const next = applyEdit(FLOW, { type: "connect", scope: [], edge });
    expect(applyEdit(next, { type: "connect", scope: [], edge: { ...edge, fromPort: "out" } })).toBe(next);
    expect(applyEdit(next, { type: "disconnect", scope: [], edges: [edge] })).toEqual(FLOW);
  });

  it("renames a node in edges, joins, and the expressions that name it", () => {
    const next = applyEdit(FLOW, { type: "rename", scope: [], id: "a", to: "first" });
    expect(next.edges.slice(0, 2)).toEqual([
      { from: "start", to: "first" },
      { from: "first", to: "each" },
    ]);
    expect(node(next, "one")?.["value"]).toBe("{{ steps.first.output }}");
    // A text outside of braces is a text.
    expect(node(next, "done")?.["output"]).toBe("{{ steps.first.output & run.visits.first & ' steps.first' }} steps.a");
    const longer = applyEdit({ nodes: [set("a", "{{ steps.ab.output }}"), set("ab")], edges: [] }, { type: "rename", scope: [], id: "a", to: "z" });
    expect(longer.nodes[0]).toEqual({ id: "z", kind: "set", value: "{{ steps.ab.output }}" });
    const body = applyEdit(FLOW, { type: "rename", scope: ["each"], id: "one", to: "uno" });
    expect(graphAt(body, ["each"])).toMatchObject({ start: "uno", edges: [{ from: "uno", to: "two" }] });
  });

  it("new nodes and copies have ids that nothing else has, in bodies neither", () => {
    expect(freeId(FLOW, "one")).toBe("one2");
    expect(freeId({ nodes: [set("set2"), set("set")], edges: [] }, "set2")).toBe("set3");
    expect(newNode(FLOW, "forEach")).toMatchObject({ id: "forEach", do: { start: "forEachItem" } });
    const { graph, ids } = copyOf(FLOW, FLOW.nodes, FLOW.edges);
    expect(graph.nodes.map(({ id }) => id)).toEqual(["a2", "each2", "done2"]);
    expect(graph.nodes[1]?.["do"]).toMatchObject({ start: "one2", edges: [{ from: "one2", to: "two2" }] });
    expect(graph.edges).toEqual([
      { from: "a2", to: "each2" },
      { from: "each2", fromPort: "error", to: "done2" },
      { from: "each2", to: "done2" },
    ]);
    const pasted = applyEdit(FLOW, { type: "paste", scope: [], graph });
    expect(new Set(allNodes(pasted).map(({ id }) => id)).size).toBe(allNodes(pasted).length);
    expect(ids.get("a")).toBe("a2");
  });

  it("fields at the top come and go", () => {
    expect(applyEdit(FLOW, { type: "top", fields: { name: undefined, tags: ["x"] } })).toEqual({ tags: ["x"], nodes: FLOW.nodes, edges: FLOW.edges });
  });
});

describe("steps back", () => {
  const draft = (name: string) => ({ definition: { ...FLOW, name }, text: "" });

  it("and forth, with letters of one field as one step", () => {
    let history = historyOf(draft("0"));
    history = step(history, draft("1"), "a/message");
    history = step(history, draft("12"), "a/message");
    history = step(history, draft("x"), "b/message");
    expect(history.past.map(({ definition }) => definition["name"])).toEqual(["0", "12"]);
    history = undo(undo(history));
    expect(history.now.definition["name"]).toBe("0");
    expect(undo(history).now).toBe(history.now);
    history = redo(history);
    expect(history.now.definition["name"]).toBe("12");
    // A new step after a step back has nothing before it to join.
    history = step(history, draft("y"), "a/message");
    expect([history.future.length, undo(history).now.definition["name"]]).toEqual([0, "12"]);
  });
});

describe("what two definitions differ in", () => {
  it("is nothing where only the order differs, and told by nodes, fields and edges", () => {
    expect(changesOf(FLOW, { ...FLOW, nodes: [...FLOW.nodes].reverse() })).toEqual([]);
    let next = applyEdit(FLOW, { type: "change", scope: [], id: "a", node: { ...set("a", 2), label: "A" } });
    next = applyEdit(next, { type: "add", scope: [], node: set("b"), from: { id: "a", port: "error" } });
    next = applyEdit(next, { type: "remove", scope: ["each"], ids: ["two"] });
    next = applyEdit(next, { type: "disconnect", scope: [], edges: [{ from: "each", fromPort: "error", to: "done" }] });
    next = applyEdit(next, { type: "top", fields: { name: "Other" } });
    expect(changesOf(FLOW, next)).toEqual([
      { what: "field", how: "changed", name: "name" },
      { what: "node", how: "changed", name: "a", fields: ["value", "label"] },
      { what: "node", how: "removed", name: "two" },
      { what: "node", how: "added", name: "b" },
      { what: "edge", how: "removed", name: "each.error > done" },
    ]);
  });
});

describe("two who changed the same definition", () => {
  const change = (from: GraphDefinition, id: string, fields: object) =>
    applyEdit(from, { type: "change", scope: [], id, node: { ...(node(from, id) as GraphNode), ...fields } });

  it("both keep what only one of them has changed", () => {
    const theirs = applyEdit(change(FLOW, "a", { value: 2 }), { type: "add", scope: [], node: set("theirs") });
    const yours = applyEdit(change(FLOW, "a", { label: "A" }), { type: "remove", scope: [], ids: ["done"] });
    const { merged, conflicts } = merge(FLOW, theirs, yours);
    expect(conflicts).toEqual([]);
    expect(node(merged, "a")).toEqual({ id: "a", kind: "set", value: 2, label: "A" });
    expect([node(merged, "theirs"), node(merged, "done")]).toEqual([set("theirs"), undefined]);
    expect(merged.edges).toEqual(FLOW.edges.slice(0, 2));
  });

  it("choose where both have changed the same, or one has removed what the other changed", () => {
    const theirs = applyEdit(change(FLOW, "a", { value: 2 }), { type: "remove", scope: [], ids: ["done"] });
    const yours = change(change(FLOW, "a", { value: 3 }), "done", { output: 1 });
    const { merged, conflicts } = merge(FLOW, theirs, yours);
    expect(conflicts.map(({ key }) => key)).toEqual(["a.value", "done"]);
    expect([node(merged, "a")?.["value"], node(merged, "done")?.["output"]]).toEqual([3, 1]);
    const chosen = merge(
      FLOW,
      theirs,
      yours,
      new Map([
        ["a.value", "theirs"],
        ["done", "theirs"],
      ] as const),
    ).merged;
    expect([node(chosen, "a")?.["value"], node(chosen, "done")]).toEqual([2, undefined]);
  });

  it("nodes of two kinds under one new id are a choice, not a mixture", () => {
    const theirs = applyEdit(FLOW, { type: "add", scope: [], node: set("x") });
    const yours = applyEdit(FLOW, { type: "add", scope: [], node: { id: "x", kind: "timer", for: "1h" } });
    const { merged, conflicts } = merge(FLOW, theirs, yours);
    expect(conflicts.map(({ key }) => key)).toEqual(["x"]);
    expect(node(merged, "x")).toEqual({ id: "x", kind: "timer", for: "1h" });
  });
});
