import { createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openGraphFolder } from "./graph-folder.ts";
import { changeOf, changeText, type GraphChange, type GraphNode, nodeText, readChange, readNode } from "./graph-node.ts";
import graph from "./index.ts";
import { find, intentLayer } from "./retrieval.ts";
import { extendsLeaves, isApproved, troubleWith } from "./structure.ts";

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({ id, title: id, links: [], keywords: [], text: "", ...more });
const nodesOf = (...all: GraphNode[]) => new Map(all.map((one) => [one.id, one]));
const change = (kind: GraphChange["change"], one: GraphNode, confidence = 0.5): GraphChange => ({ change: kind, node: one, confidence });
const HERE = nodesOf(node("sales"), node("crm", { parent: "sales" }));

const LEAF = node("mail", { parent: "crm" });
const TABLE: readonly [mode: "strict" | "extend-leaves" | "any", what: "leaf" | "edit", confidence: number, approved: boolean][] = [
  ["strict", "leaf", 0.79, false],
  ["strict", "leaf", 0.8, true],
  ["strict", "edit", 0.79, false],
  ["strict", "edit", 0.8, true],
  ["extend-leaves", "leaf", 0.79, true],
  ["extend-leaves", "leaf", 0.8, true],
  ["extend-leaves", "edit", 0.79, false],
  ["extend-leaves", "edit", 0.8, true],
  ["any", "leaf", 0.79, true],
  ["any", "leaf", 0.8, true],
  ["any", "edit", 0.79, true],
  ["any", "edit", 0.8, true],
];

it.each(TABLE)("OPS-07 %s, %s, confidence %d of 0.8: approved %s", (autoApproveStructure, what, confidence, approved) => {
  const asked = what === "leaf" ? change("add", LEAF, confidence) : change("edit", node("crm", { parent: "sales", text: "x" }), confidence);
  expect(isApproved(asked, HERE, { autoApproveStructure, autoApproveConfidence: 0.8 })).toBe(approved);
});

it("OPS-07 with 1.0 only a certain change is approved by its confidence, with 0 every one", () => {
  const by = (confidence: number, autoApproveConfidence: number) =>
    isApproved(change("edit", node("crm"), confidence), HERE, { autoApproveStructure: "strict", autoApproveConfidence });
  expect([by(0.999, 1), by(1, 1), by(0, 0)]).toEqual([false, true, true]);
});

it("a leaf is a new node below one that is there; what breaks the graph is refused whoever approves it", () => {
  expect(extendsLeaves(change("add", LEAF), HERE)).toBe(true);
  for (const other of [
    change("add", node("root")),
    change("add", node("x", { parent: "none" })),
    change("edit", node("crm", { parent: "sales" })),
    change("remove", node("crm")),
  ])
    expect(extendsLeaves(other, HERE)).toBe(false);
  const troubles = [
    change("add", node("crm")),
    change("edit", node("none")),
    change("remove", node("none")),
    change("remove", node("sales")),
    change("add", node("x", { parent: "none" })),
    change("add", node("x", { links: ["none"] })),
    change("edit", node("crm", { links: ["crm"] })),
    change("edit", node("sales", { parent: "crm" })),
  ].map((one) => troubleWith(one, HERE));
  expect(troubles).toEqual([
    "there is a node 'crm' already",
    "there is no node 'none'",
    "there is no node 'none'",
    "'crm' is a part of it",
    "it names 'none', which is not there",
    "it names 'none', which is not there",
    "it names itself",
    "it would be a part of itself",
  ]);
  expect(troubleWith(change("add", LEAF), HERE)).toBeUndefined();
});

it("files by hand are read with the line of what is wrong, and written ones as they were", () => {
  expect(readNode("a", "title: A\nparent: b\nlinks: [c]\ntext: |\n  one\n  two\n").value).toEqual(
    node("a", { title: "A", parent: "b", links: ["c"], text: "one\ntwo" }),
  );
  expect(readNode("a", "title: A\nlinks: [c\n").problem).toMatch(/^line \d/);
  expect(readNode("a", "title: A\ntitle: B\n").problem).toMatch(/^line 2/);
  for (const [text, problem] of [
    ["", "holds no keys"],
    ["- x", "holds no keys"],
    ["text: x", "no title"],
    ["title: A\nparent: ../x", "no id"],
    ["title: A\nlinks: x", "no list"],
    ["a: &a [x]\ntitle: *a", "plain YAML"],
  ] as const)
    expect(readNode("a", text).problem).toContain(problem);
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 60 }),
      fc.string({ maxLength: 300 }),
      fc.float({ min: 0, max: 1, noNaN: true }),
      (title, text, confidence) => {
        fc.pre(title.trim() !== "");
        const one = node("a", { title: title.trim(), text: text.trim(), keywords: [title] });
        expect(readNode("a", nodeText(one)).value).toEqual(one);
        expect(readChange(changeText({ ...change("add", one, confidence), by: "w" })).value).toEqual({ ...change("add", one, confidence), by: "w" });
      },
    ),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      expect(readNode("a", text)).toBeDefined();
    }),
  );
  for (const wrong of [
    null,
    5,
    {},
    { change: "add", id: "../x", confidence: 1, title: "x" },
    { change: "add", id: "x", confidence: 1.1, title: "x" },
    { change: "add", id: "x", confidence: Number.NaN, title: "x" },
  ])
    expect(changeOf(wrong).problem).toBeDefined();
});

it("a request finds nodes by their words and by what stands around them, as the weights say", () => {
  const nodes = nodesOf(
    node("shop", { title: "Shop" }),
    node("returns", { title: "Returns of goods", parent: "shop", keywords: ["refund"], text: "Customers get their money back." }),
    node("stock", { title: "Warehouse", links: ["returns"] }),
    node("garden", { title: "Garden", text: "Water the beds." }),
  );
  const ids = (request: string, graph: number, bm25: number) => find(nodes, request, { graph, bm25 }).map((hit) => hit.node.id);
  expect(ids("a refund for goods", 0.6, 0.4)).toEqual(["returns", "shop", "stock"]);
  expect(ids("a refund for goods", 0, 1)).toEqual(["returns"]);
  expect(ids("a refund for goods", 1, 0)).toEqual(["returns", "shop", "stock"]);
  expect(ids("a refund for goods", 0, 0)).toEqual([]);
  expect(ids("something else", 0.6, 0.4)).toEqual([]);
  const { text, priority } = intentLayer(find(nodes, "refund", { graph: 0.6, bm25: 0.4 }), nodes);
  expect(priority).toBe(5);
  expect(text).toContain("- Shop > Returns of goods\n| Customers get their money back.");
  const cycle = nodesOf(node("a", { parent: "b", title: "alpha" }), node("b", { parent: "a", title: "beta" }));
  expect(intentLayer(find(cycle, "alpha", { graph: 1, bm25: 1 }), cycle).text).toContain("beta > alpha");
});

it("registers its routes for this machine, and those that only read for the dashboard", () => {
  const context = createFakeContext(graph as never);
  graph.setup(context as never);
  expect(context.registered.routes.map(({ method, path, guard, forPeople }) => `${method} ${path} ${guard}${forPeople ? " people" : ""}`)).toEqual([
    "GET /graph loopback",
    "GET /graph/nodes/:id loopback",
    "GET /graph/drafts loopback",
    "POST /graph/draft loopback people",
    "POST /graph/drafts/:id/promote loopback people",
    "POST /graph/drafts/:id/reject loopback people",
    "GET /api/graph scope:dashboard:read",
    "GET /api/graph/nodes/:id scope:dashboard:read",
    "GET /api/graph/drafts scope:dashboard:read",
  ]);
});

it("a node or draft whose levels would end the daemon is a broken file", () => {
  for (const text of [
    `title: ${"[".repeat(30_000)}`,
    `title: ${"{a: ".repeat(10_000)}`,
    "- ".repeat(30_000),
    "? ".repeat(30_000),
    "title: x\n".repeat(5_000),
  ]) {
    expect(readNode("a", text).problem).toMatch(/^line 1: it (?:is nested too deep|has more than 4000 entries)$/);
    expect(readChange(text).problem).toMatch(/^line 1: it /);
  }
});

it("decisions are heard, too, where the plugin that asks people comes or is started anew later", async () => {
  const heard: string[] = [];
  const asks = (name: string) => ({ onDecided: () => void heard.push(name) });
  const services: Record<string, unknown> = {};
  const ctx = createFakeContext(graph as never, { services: services as never, files: createMemoryFiles(new Map()) });
  await (graph.setup(ctx as never) as { start(): Promise<void> }).start();
  const look = () => Promise.all(ctx.registered.jobs.map(({ run }) => run(new Date())));
  expect(heard).toEqual([]);
  services["approvals"] = asks("first");
  await look();
  await look();
  services["approvals"] = asks("second");
  await look();
  expect(heard).toEqual(["first", "second"]);
});

it("a draft that nobody decided about in time says so, and one whose question was taken back stays", async () => {
  const content = new Map<string, string | Uint8Array>();
  const files = createMemoryFiles(content);
  let hear = async (_decision: object) => {};
  const approvals = { onDecided: (_kind: string, listener: typeof hear) => void (hear = listener) };
  const config = { enabled: true, baseDir: ".svc/graph" } as never;
  const ctx = createFakeContext(graph as never, { services: { approvals } as never, files, config });
  await (graph.setup(ctx as never) as { start(): Promise<void> }).start();
  const { id, digest } = await openGraphFolder(files, ".svc/graph").save(change("add", node("sales")));
  const key = `graph:.svc/graph:${id}`;
  const rejected = () => [...content].filter(([file]) => file.includes("_rejected")).map(([, text]) => String(text).split("\n")[0]);
  await hear({ key, digest, state: "withdrawn" });
  expect(rejected()).toEqual([]);
  await hear({ key, digest, state: "expired" });
  expect(rejected()).toEqual([expect.stringMatching(/: nobody decided in time$/)]);
});
