import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import type { DefinitionFolder } from "./definition-folder.ts";
import { definitionHash } from "./definition-hash.ts";
import { check, codes, end, flow } from "./definitions.harness.ts";
import { openDefinitions } from "./definitions.ts";

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

describe("the folder", () => {
  const FILE = (name: string) => `/daemon/.svc/workflows/${name}`;
  const GOOD = flow([end], "start > done");

  function folder(content: Record<string, string> = {}) {
    const files = new Map<string, string | Uint8Array>(Object.entries(content).map(([name, text]) => [FILE(name), text]));
    const definitions = openDefinitions({ files: createMemoryFiles(files), dir: ".svc/workflows", log: silent, known: () => ({}) });
    return { definitions, files };
  }
  const silent = { debug() {}, info() {}, warn() {}, error() {} };

  it("one that another daemon has made is found, also when a look that was under way has written it", async () => {
    const files = new Map<string, string | Uint8Array>();
    const share = (folder: DefinitionFolder): DefinitionFolder => ({
      ...folder,
      async sync() {
        files.set(FILE("good.json"), GOOD);
        // It was the look before this one.
        return false;
      },
    });
    const definitions = openDefinitions({ files: createMemoryFiles(files), dir: ".svc/workflows", share, log: silent, known: () => ({}) });
    expect(await definitions.get("good")).toMatchObject({ id: "good", problems: [] });
  });

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
