import { describe, expect, it } from "vitest";
import { check, codes, end, flow, set } from "./definitions.harness.ts";

describe("lint", () => {
  const error = (code: string) => `error ${code}`;
  const warning = (code: string) => `warning ${code}`;

  it.each<[string, string, readonly string[]]>([
    ["nothing", flow([end], "start > done"), []],
    ["an edge to nowhere", flow([end], "start > done, start > gone"), [error("UNKNOWN_NODE")]],
    ["a port that does not exist", flow([end], "start.yes > done"), [error("UNKNOWN_PORT")]],
    ["a port of an end", flow([end, set("a")], "start > done, done > a"), [error("UNKNOWN_PORT")]],
    [
      "a case that is an edge",
      flow([{ id: "b", kind: "branch", cases: [{ port: "yes", when: "{{ true }}" }] }, end], "start > b, b.yes > done, b.else > done"),
      [],
    ],
    [
      "an open case and no else",
      flow([{ id: "b", kind: "branch", cases: [{ port: "yes", when: "{{ true }}" }] }], "start > b"),
      [warning("OPEN_PORT"), warning("OPEN_PORT")],
    ],
    ["a node out of reach", flow([end, set("a")], "start > done"), [error("UNREACHABLE")]],
    ["an edge into the trigger", flow([set("a")], "start > a, a > start"), [error("EDGE_INTO_TRIGGER"), error("ENDLESS_CYCLE")]],
    ["an edge twice", flow([end], "start > done, start.out > done"), [error("DUPLICATE_EDGE")]],
    ["a node twice", flow([end, end], "start > done"), [error("DUPLICATE_NODE")]],
    ["a join of its split", flow([set("a"), set("b"), { id: "j", kind: "join", of: "start" }], "start > a, start > b, a > j, b > j"), []],
    ["a join of a branch", flow([set("a"), set("b"), { id: "j", kind: "join", of: "a" }], "start > a, start > b, a > j, b > j"), [error("OF_NOT_DOMINATING")]],
    ["a join of nothing", flow([{ id: "j", kind: "join", of: "x" }], "start > j"), [error("UNKNOWN_NODE")]],
    ["a cycle without an end", flow([set("a"), set("b")], "start > a, a > b, b > a"), [error("ENDLESS_CYCLE")]],
    ["a cycle of one", flow([set("a")], "start > a, a > a"), [error("ENDLESS_CYCLE")]],
    [
      "a cycle with a way out",
      flow([set("a"), { id: "b", kind: "branch", cases: [{ port: "again", when: "{{ true }}" }] }, end], "start > a, a > b, b.again > a, b.else > done"),
      [],
    ],
    [
      "a cycle that is canceled",
      flow([{ id: "w", kind: "waitSignal", signal: "x" }, set("b"), { id: "c", kind: "cancelNodes", nodes: ["w"] }], "start > w, w > w, start > b, b > c"),
      [],
    ],
    ["a node that cancels itself", flow([{ id: "c", kind: "cancelNodes", nodes: ["c", "x"] }], "start > c"), [error("CANCEL_ITSELF"), error("UNKNOWN_NODE")]],
    [
      "equal field names",
      flow(
        [
          {
            id: "u",
            kind: "userTask",
            title: "t",
            assignee: "role:x",
            form: [
              { name: "a", kind: "text" },
              { name: "a", kind: "number" },
            ],
          },
        ],
        "start > u",
      ),
      [error("DUPLICATE_FIELD")],
    ],
    [
      "a pattern that is none",
      flow([{ id: "u", kind: "userTask", title: "t", assignee: "role:x", form: [{ name: "a", kind: "text", pattern: "(?=a)" }] }], "start > u"),
      [error("PATTERN")],
    ],
    ["a submit port", flow([{ id: "u", kind: "userTask", title: "t", assignee: "role:x", submitTransition: "sent" }, end], "start > u, u.sent > done"), []],
    [
      "a submit port that is not there",
      flow([{ id: "u", kind: "userTask", title: "t", assignee: "role:x" }, end], "start > u, u.sent > done"),
      [error("UNKNOWN_PORT")],
    ],
    [
      "a submit port by values",
      flow([{ id: "u", kind: "userTask", title: "t", assignee: "role:x", submitTransition: "{{ values.x }}" }, end], "start > u, u.sent > done"),
      [],
    ],
    ["an approval without timeout", flow([{ id: "a", kind: "approval", title: "t", assignee: "role:x" }], "start > a"), [warning("NO_TIMEOUT")]],
    ["an expression that is none", flow([set("a", "{{ input. }}")], "start > a"), [error("EXPR_PARSE")]],
    [
      "a condition without braces",
      flow([{ id: "b", kind: "branch", cases: [{ port: "y", when: "input.x > 1" }] }, end], "start > b, b.y > done, b.else > done"),
      [error("EXPR_TYPE")],
    ],
    ["a step that is not there", flow([set("a", "{{ steps.gone.output }}")], "start > a"), [error("UNKNOWN_NODE")]],
    ["a name that is not there", flow([set("a", "{{ inputs.x }}")], "start > a"), [warning("UNKNOWN_NAME")]],
    ["an item outside of a body", flow([set("a", "{{ item }}")], "start > a"), [warning("UNKNOWN_NAME")]],
    ["a secret outside of an action", flow([set("a", "{{ secrets.A }}")], "start > a"), [error("EXPR_SECRET")]],
    ["a secret in an action", flow([{ id: "a", kind: "action", action: "x", input: { k: "Bearer {{ secrets.A }}" } }], "start > a"), []],
    [
      "a secret that is worked on",
      flow([{ id: "a", kind: "action", action: "x", input: { k: "{{ 'Bearer ' & secrets.A }}" } }], "start > a"),
      [error("EXPR_SECRET")],
    ],
    ["401 days", flow([{ id: "t", kind: "timer", for: "401d" }], "start > t"), [error("DURATION")]],
    ["a time that is none", flow([{ id: "t", kind: "timer", until: "tomorrow" }], "start > t"), [error("DATE")]],
    [
      "ends of which one is come to",
      flow(
        [{ id: "q", kind: "approval", title: "t", assignee: "role:x", timeout: "1d" }, end, { id: "b", kind: "end" }],
        "start > q, q.approve > done, q.reject > b",
      ),
      [],
    ],
    [
      "an end beside a late answer",
      flow(
        [{ id: "q", kind: "approval", title: "t", assignee: "role:x", timeout: "1d" }, end, { id: "b", kind: "end" }],
        "start > q, q.approve > done, q.due > b",
      ),
      [warning("SEVERAL_ENDS")],
    ],
    ["several ends", flow([end, { id: "b", kind: "end" }], "start > done, start > b"), [warning("SEVERAL_ENDS")]],
  ])("%s", (_, text, expected) => {
    expect(codes(text)).toEqual(expected);
  });

  it("bodies are graphs of their own", () => {
    const body = (nodes: readonly object[], edges: readonly object[], start = "x") =>
      flow([{ id: "each", kind: "forEach", items: "{{ input.list }}", do: { start, nodes, edges } }, end], "start > each, each > done");
    expect(codes(body([set("x", "{{ item & index }}"), set("y")], [{ from: "x", to: "y" }]))).toEqual([]);
    expect(codes(body([set("x")], [], "z"))).toEqual(["error UNKNOWN_NODE"]);
    expect(codes(body([set("x")], [{ from: "x", to: "done" }]))).toEqual(["error EDGE_BETWEEN_BODIES"]);
    expect(codes(body([set("x"), set("y")], []))).toEqual(["error UNREACHABLE"]);
    expect(codes(body([set("start")], [], "start"))).toEqual(["error DUPLICATE_NODE"]);
    expect(codes(body([{ id: "x", kind: "trigger" }], []))).toContain("error SCHEMA");
  });

  it("items are a list, and a path that loses a list of one is told", () => {
    const items = (text: string) =>
      codes(flow([{ id: "each", kind: "forEach", items: text, do: { start: "x", nodes: [set("x")], edges: [] } }], "start > each"));
    for (const good of ["{{ input.sites }}", "{{ input.a.b[] }}", "{{ steps.each.output.rows }}", "{{ [1..3] }}", "{{ in }}"])
      expect(items(good), good).toEqual([]);
    for (const bad of ["{{ input.rows.id }}", "{{ steps.each.output.rows.id }}", "{{ input.rows[a = 1] }}"])
      expect(items(bad), bad).toEqual(["warning LIST_OF_ONE"]);
    expect(items("a, b")).toEqual(["error EXPR_TYPE"]);
  });

  it("agents, actions and workflows that are missing now are told, those that an expression names are not", () => {
    const known = { agents: new Set(["scout"]), actions: new Set(["http.fetch"]), workflows: new Set(["flow"]) };
    const text = flow(
      [
        { id: "a", kind: "agent", agent: "gone", message: "x" },
        { id: "b", kind: "agent", agent: "far@peer", message: "x" },
        { id: "c", kind: "action", action: "gone.too" },
        { id: "d", kind: "subProcess", workflow: "other" },
        { id: "e", kind: "subProcess", workflow: "extern:other" },
        { id: "f", kind: "agent", agent: "{{ input.agent }}", message: "x" },
        { id: "g", kind: "agent", agent: "scout", message: "x" },
      ],
      "start > a, a > b, b > c, c > d, d > e, e > f, f > g",
      { ownerAgent: "nobody" },
    );
    expect(codes(text, { known })).toEqual(["MISSING_AGENT", "MISSING_ACTION", "MISSING_WORKFLOW", "MISSING_AGENT"].map(warning));
    expect(codes(text)).toEqual([]);
  });

  it("a chain of 500 nodes and a mesh of 1,500 edges are looked through", () => {
    const chain = Array.from({ length: 499 }, (_, at) => set(`n${at}`));
    const edges = chain.map(({ id }, at) => ({ from: at === 0 ? "start" : `n${at - 1}`, to: id }));
    const mesh = [
      ...edges,
      ...Array.from({ length: 998 }, (_, at) => ({ from: `n${(at * 7) % 499}`, to: `n${(at * 13 + 1) % 499}`, fromPort: at < 499 ? "timeout" : "error" })),
    ];
    expect(check(JSON.stringify({ nodes: [{ id: "start", kind: "trigger" }, ...chain], edges })).problems).toEqual([]);
    expect(codes(JSON.stringify({ nodes: [{ id: "start", kind: "trigger" }, ...chain], edges: mesh }))).toEqual([]);
  });
});
