import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { checkDefinition } from "./check-definition.ts";
import { definitionHash } from "./definition-hash.ts";
import { openDefinitions } from "./definitions.ts";

const check = (text: string, more: Partial<Parameters<typeof checkDefinition>[1]> = {}) => checkDefinition(text, { id: "flow", format: "yaml", ...more });
const codes = (text: string, more: Partial<Parameters<typeof checkDefinition>[1]> = {}) =>
  check(text, more).problems.map(({ code, severity }) => `${severity} ${code}`);

/** A definition of the given nodes and edges, as `a.port > b`. */
function flow(nodes: readonly object[], edges: string, top: object = {}): string {
  const written =
    edges === ""
      ? []
      : edges.split(",").map((edge) => {
          const [, from, fromPort, to] = /^\s*(\w+)(?:\.(\w+))? > (\w+)\s*$/.exec(edge) as RegExpExecArray;
          return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
        });
  return JSON.stringify({ nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges: written, ...top });
}
const set = (id: string, value: unknown = 1) => ({ id, kind: "set", value });
const end = { id: "done", kind: "end" };

describe("the text of a definition", () => {
  const GOOD = 'id: flow\nnodes:\n  - {id: start, kind: trigger}\n  - {id: done, kind: end, output: "{{ input }}"}\nedges:\n  - {from: start, to: done}\n';

  it("is read from YAML and JSON alike, with one hash", () => {
    const yaml = check(GOOD);
    const json = check(JSON.stringify(yaml.value, null, "\t"), { format: "json" });
    expect([yaml.problems, json.problems]).toEqual([[], []]);
    expect(json.hash).toBe(yaml.hash);
    expect(yaml.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("the hash is of what runs: not of its names, not of the order of keys", () => {
    const base = {
      id: "a",
      nodes: [
        { id: "start", kind: "trigger" },
        { id: "each", kind: "forEach", items: [1], do: { start: "x", nodes: [{ id: "x", kind: "set", value: { label: 1 } }] } },
      ],
      edges: [],
    };
    const named = {
      tags: ["t"],
      description: "d",
      name: "n",
      edges: [],
      nodes: [
        { kind: "trigger", id: "start", label: "l" },
        { ...base.nodes[1], label: "l", do: { start: "x", nodes: [{ value: { label: 1 }, kind: "set", id: "x", label: "m" }] } },
      ],
      id: "a",
    };
    expect(definitionHash(named)).toBe(definitionHash(base));
    const other = { ...base, nodes: [base.nodes[0], { ...base.nodes[1], do: { start: "x", nodes: [{ id: "x", kind: "set", value: { label: 2 } }] } }] };
    expect(definitionHash(other)).not.toBe(definitionHash(base));
    expect(definitionHash({ ...base, maxVisits: 100 })).not.toBe(definitionHash(base));
  });

  it.each<[string, string, string, number, number]>([
    ["a repeated key", "id: flow\nid: flow\n", "DUPLICATE_KEY", 2, 1],
    ["a hostile key", "nodes: []\nedges: []\n__proto__: {a: 1}\n", "KEY", 3, 1],
    ["a hostile key below", "nodes:\n  - {id: a, kind: set, value: {constructor: 1}}\nedges: []\n", "KEY", 2, 32],
    ["a tag of its own", "nodes: !!python/object:os.system []\n", "SYNTAX", 1, 34],
    ["a tag outside of the core", "nodes: !!binary aGk=\n", "SYNTAX", 1, 17],
    ["two documents", "a: 1\n---\nb: 2\n", "SYNTAX", 2, 1],
    ["an empty file", "\n# nothing\n", "SYNTAX", 1, 1],
    ["a number that is none of JSON", "nodes: .inf\n", "SYNTAX", 1, 8],
    ["an alias of itself", "nodes: &a [*a]\n", "SYNTAX", 1, 11],
    ["an alias of nothing", "nodes: *a\n", "SYNTAX", 1, 8],
    ["a wrong indent", "nodes:\n  - id: a\n kind: b\n", "SYNTAX", 3, 1],
    ["a list", "- a\n", "SCHEMA", 1, 1],
    ["an unknown field", "nodes:\n  - {id: start, kind: trigger}\nedges: []\nfoo: 1\n", "SCHEMA", 4, 1],
    ["an unknown kind", "nodes:\n  - {id: start, kind: trigger}\n  - id: x\n    kind: dance\nedges: []\n", "SCHEMA", 3, 5],
    ["a missing field", "nodes:\n  - {id: start, kind: trigger}\n  - id: x\n    kind: agent\nedges: []\n", "SCHEMA", 3, 5],
    ["no trigger", "nodes:\n  - {id: x, kind: end}\nedges: []\n", "SCHEMA", 2, 3],
    ["an id that is not the file's", "id: other\nnodes:\n  - {id: start, kind: trigger}\nedges: []\n", "ID", 1, 5],
  ])("%s is a problem with its place", (_, text, code, line, column) => {
    const { problems, definition } = check(text);
    expect(definition).toBeUndefined();
    expect(problems[0]).toMatchObject({ code, severity: "error", line });
    if (code !== "SCHEMA") expect(problems[0]?.column).toBe(column);
  });

  it("FAULT-54 JSON that is none is refused with the place, and its repeated and hostile keys are too", () => {
    const format = "json";
    expect(check('{"nodes": [],\n "edges": [}', { format }).problems[0]).toMatchObject({ code: "SYNTAX", line: 2, column: 13 });
    expect(check("nodes: []", { format }).problems[0]).toMatchObject({ code: "SYNTAX", line: 1 });
    expect(check('{\n\t"nodes": [],\n\t"nodes": [], "edges": []}', { format }).problems[0]).toMatchObject({ code: "DUPLICATE_KEY", line: 3 });
    expect(check('{"nodes": [], "edges": [],\n "__proto__": {}}', { format }).problems[0]).toMatchObject({ code: "KEY", line: 2 });
  });

  it("FAULT-54 aliases are written out, at most 100 of them", () => {
    const text = (count: number) =>
      `nodes:\n  - {id: start, kind: trigger}\n  - {id: s, kind: set, value: [&x {a: 1}${", *x".repeat(count)}]}\nedges:\n  - {from: start, to: s}\n`;
    expect(check(text(100)).problems).toEqual([]);
    expect(check(text(100)).definition?.nodes[1]).toMatchObject({ value: Array(101).fill({ a: 1 }) });
    expect(codes(text(101))).toEqual(["error SYNTAX"]);
  });

  it("WF-07 ids that are words of the paths or lead elsewhere are no ids", () => {
    for (const id of ["runs", "drafts", "tasks", "signals", "a..b", "../x", "a/b", "A", "", ".x", "_x", "x".repeat(65)])
      expect(codes(GOOD.replace("id: flow\n", ""), { id })).toContain("error ID");
    for (const id of ["run", "runs2", "a.b", "a-b_c", "0"]) expect(codes(GOOD.replace("id: flow\n", ""), { id })).toEqual([]);
  });

  it("FAULT-54 no text keeps the reader busy or ends the process", async () => {
    const texts = {
      bomb: `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghij"
        .split("")
        .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[at]}`).join(",")}]`)
        .join("\n")}\n`,
      brackets: "[".repeat(500_000),
      deep: `${"[".repeat(3_000)}${"]".repeat(3_000)}`,
      keys: Array.from({ length: 80_000 }, (_, at) => `k${at}: 1`).join("\n"),
      quotes: '"'.repeat(1_000_000),
      anchors: "&a ".repeat(300_000),
      tags: "!!str ".repeat(150_000),
      questions: "? ".repeat(400_000),
      dashes: "- ".repeat(400_000),
      colons: ": ".repeat(400_000),
      documents: "---\n".repeat(200_000),
      directives: "%A\n".repeat(200_000),
      due: JSON.stringify({
        nodes: [
          { id: "start", kind: "trigger" },
          { id: "t", kind: "timer", for: "{{".repeat(250_000) },
        ],
        edges: [],
      }),
      assignee: JSON.stringify({
        nodes: [
          { id: "start", kind: "trigger" },
          { id: "t", kind: "approval", title: "x", assignee: "{".repeat(500_000) },
        ],
        edges: [],
      }),
      id: JSON.stringify({ id: ".".repeat(500_000), nodes: [{ id: "start", kind: "trigger" }], edges: [] }),
      large: "x".repeat(2_000_000),
      nul: "\0".repeat(1_000),
    };
    const program = `
      const { checkDefinition } = await import(process.env.CHECK);
      const texts = JSON.parse(await new Response(process.stdin).text());
      const found = {};
      for (const [name, text] of Object.entries(texts)) for (const format of ["yaml", "json"]) {
        const started = performance.now();
        found[name + " " + format] = [checkDefinition(text, { id: "x", format }).problems[0]?.severity, performance.now() - started];
      }
      console.log(JSON.stringify(found));`;
    const run = promisify(execFile)(process.execPath, ["--max-old-space-size=256", "--input-type=module", "-e", program], {
      env: { PATH: process.env["PATH"], CHECK: fileURLToPath(new URL("../dist/definition/check-definition.js", import.meta.url)) },
      timeout: 120_000,
    });
    run.child.stdin?.end(JSON.stringify(texts));
    const found = Object.entries(JSON.parse((await run).stdout) as Record<string, [string, number]>);
    expect(found).toHaveLength(34);
    for (const [name, [severity]] of found) expect(severity, name).toBe("error");
  }, 180_000);
});

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

describe("the folder", () => {
  const FILE = (name: string) => `/daemon/.svc/workflows/${name}`;
  const GOOD = flow([end], "start > done");

  function folder(content: Record<string, string> = {}) {
    const files = new Map<string, string | Uint8Array>(Object.entries(content).map(([name, text]) => [FILE(name), text]));
    const definitions = openDefinitions({ files: createMemoryFiles(files), dir: ".svc/workflows", log: silent, known: () => ({}) });
    return { definitions, files };
  }
  const silent = { debug() {}, info() {}, warn() {}, error() {} };

  it("FAULT-54 a broken file stands beside the others, and says where", async () => {
    const { definitions } = folder({
      "good.json": GOOD,
      "broken.yaml": "nodes:\n  - {id: [",
      "kind.yaml": "nodes:\n  - {id: a, kind: dance}\nedges: []",
      "Bad Name.json": GOOD,
      "readme.md": "x",
    });
    const list = await definitions.list();
    expect(list.map(({ id, broken }) => [id, broken === undefined])).toEqual([
      ["Bad Name", false],
      ["broken", false],
      ["good", true],
      ["kind", false],
    ]);
    expect(await definitions.get("gone")).toBeUndefined();
    expect((await definitions.get("broken"))?.problems[0]).toMatchObject({ line: 2, severity: "error" });
  });

  it("WF-02 drafts, layouts and what begins with _ are no definitions", async () => {
    const { definitions } = folder({ "a.json": GOOD, "a.layout.json": "{}", "_b.json": GOOD, "_drafts/c.yaml": GOOD, "_drafts/_rejected/d.yaml": GOOD });
    expect((await definitions.list()).map(({ id }) => id)).toEqual(["a"]);
    for (const id of ["a.layout", "_b", "c", "_drafts/c", "d"]) expect(await definitions.get(id)).toBeUndefined();
  });

  it("the YAML counts, the JSON beside it is a problem", async () => {
    const { definitions } = folder({ "a.json": GOOD, "a.yaml": flow([{ ...end, output: 1 }], "start > done"), "a.yml": GOOD });
    const a = await definitions.get("a");
    expect(a).toMatchObject({ format: "yaml", file: "a.yaml", definition: { nodes: [{}, { output: 1 }] } });
    expect(a?.problems.map(({ code, message }) => [code, message.split(" ")[0]])).toEqual([
      ["SHADOWED", "a.yml"],
      ["SHADOWED", "a.json"],
    ]);
  });

  it("WF-01 a definition written in YAML is not overwritten, and no JSON is put beside it", async () => {
    const text = `# by hand\n${GOOD}`;
    const { definitions, files } = folder({ "a.yaml": text });
    await expect(definitions.save("a", JSON.parse(GOOD))).rejects.toMatchObject({
      status: 409,
      code: "SVC_WORKFLOW_YAML",
      reason: "yaml-authored",
      file: ".svc/workflows/a.yaml",
    });
    await definitions.saveLayout("a", { start: [1, 2] });
    expect(await definitions.layout("a")).toEqual({ start: [1, 2] });
    expect([...files.keys()].sort()).toEqual([FILE("a.layout.json"), FILE("a.yaml")]);
    expect(files.get(FILE("a.yaml"))).toBe(text);
  });

  it("a definition is saved when it can be run and was not changed meanwhile", async () => {
    const { definitions, files } = folder();
    const body = JSON.parse(GOOD) as object;
    const { loaded, created } = await definitions.save("a", body);
    expect(created).toBe(true);
    expect(files.has(FILE("a.json"))).toBe(true);
    const again = await definitions.save("a", { ...body, name: "A" }, loaded.etag);
    expect(again).toMatchObject({ created: false, loaded: { hash: loaded.hash } });
    await expect(definitions.save("a", body, loaded.etag)).rejects.toMatchObject({ status: 412 });
    await expect(definitions.save("b", body, "*")).rejects.toMatchObject({ status: 412 });
    await expect(definitions.save("a", { nodes: [] }, again.loaded.etag)).rejects.toMatchObject({ status: 400, problems: expect.any(Array) });
    await expect(definitions.save("a", JSON.parse(flow([end], "")), again.loaded.etag)).rejects.toMatchObject({
      status: 422,
      problems: [expect.objectContaining({ code: "UNREACHABLE", line: expect.any(Number) })],
    });
    await expect(definitions.save("a", JSON.parse('{"nodes":[],"edges":[],"__proto__":{}}') as object)).rejects.toMatchObject({ status: 400 });
    for (const id of ["runs", "drafts", "tasks", "../a", "a/b"])
      await expect(definitions.save(id, body)).rejects.toMatchObject({ status: 400, code: "SVC_WORKFLOW_ID" });
    await expect(definitions.saveLayout("a", { x: "y".repeat(300_000) })).rejects.toMatchObject({ status: 413 });
    expect([...files.keys()]).toEqual([FILE("a.json")]);
  });

  it("a change of a file is seen with the next look", async () => {
    const { definitions, files } = folder({ "a.json": GOOD });
    const before = await definitions.get("a");
    expect(await definitions.get("a")).toMatchObject({ hash: before?.hash });
    files.set(FILE("a.json"), flow([{ ...end, output: "other" }], "start > done"));
    expect((await definitions.get("a"))?.hash).not.toBe(before?.hash);
    files.delete(FILE("a.json"));
    expect(await definitions.list()).toEqual([]);
  });
});
