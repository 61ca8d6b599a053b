import { createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { openDefinitions } from "../definition/definitions.ts";
import { Drafts } from "./draft-files.ts";
import { editYaml } from "./yaml-edit.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const HOME = "/daemon/.svc/workflows";
const WORKS = `# why
name: Draft # the name
nodes:
  # the start
  - {id: start, kind: trigger}
  # the end
  - {id: done, kind: end, output: 1} # one
edges:
  - {from: start, to: done}
`;

function stage(content: Record<string, string> = {}) {
  const files = new Map<string, string | Uint8Array>(Object.entries(content).map(([name, text]) => [`${HOME}/${name}`, text]));
  const definitions = openDefinitions({ files: createMemoryFiles(files), dir: ".svc/workflows", log: silent, known: () => ({}) });
  const names = () => [...files.keys()].map((path) => path.slice(HOME.length + 1)).sort();
  return { drafts: new Drafts(definitions), definitions, names, text: (name: string) => files.get(`${HOME}/${name}`) };
}

describe("YAML that is edited", () => {
  const edited = (value: Record<string, unknown>, before = WORKS) => editYaml(before, value);
  const value = {
    name: "Draft",
    nodes: [
      { id: "start", kind: "trigger" },
      { id: "done", kind: "end", output: 1 },
    ],
    edges: [{ from: "start", to: "done" }],
  };

  it("stays as it is written where nothing changes", () => {
    expect(edited(value)).toBe(WORKS);
    const spaced = WORKS.replaceAll("{id", "{ id").replaceAll("{from", "{ from").replaceAll("}", " }");
    expect(edited(value, spaced)).toBe(spaced);
    const escaped = 'name: "Forty letters and more, and then the next line:\\n{{ in }}"\n';
    expect(edited({ name: "Forty letters and more, and then the next line:\n{{ in }}", tags: ["a"] }, escaped)).toBe(`${escaped}tags:\n  - a\n`);
    const flush = "nodes:\n- id: start\n  kind: trigger\n- id: done\n  kind: end\nedges:\n- from: start\n  to: done\n";
    expect(
      edited(
        {
          nodes: [
            { id: "start", kind: "trigger" },
            { id: "done", kind: "end" },
          ],
          edges: value.edges,
        },
        flush,
      ),
    ).toBe(flush);
  });

  it("keeps comments with their nodes, also when these are moved, changed and joined by others", () => {
    const next = {
      ...value,
      name: "Other",
      nodes: [value.nodes[0], { id: "step", kind: "set", value: { a: [1, { b: null }] } }, { id: "done", kind: "end", output: "{{ in }}" }],
      extra: true,
    };
    const text = edited(next);
    for (const comment of ["# why", "# the name", "# the start", "# the end", "# one"]) expect(text).toContain(comment);
    expect(text.indexOf("# the end")).toBeGreaterThan(text.indexOf("id: step"));
    expect(text).toContain("name: Other # the name");
  });

  it("writes out aliases where it has to change what they stand for", () => {
    const text = edited({ a: { x: 1 }, b: { x: 2 } }, "a: &a {x: 1}\nb: *a\n");
    expect(text).not.toContain("*a");
    expect(text).toContain("x: 2");
  });

  it.each([
    { nodes: 1 },
    { name: null },
    { name: ["a"], nodes: { a: 1 } },
    {},
    { name: "0x10", extra: "yes", other: "- a", more: "a: b\n# c", text: "1" },
    { nodes: [1, { id: "start", b: [] }] },
  ])("takes %j, whatever stood there", async (next) => {
    const { drafts } = stage({ "_drafts/a.yaml": WORKS });
    expect((await drafts.save("a", next)).value).toEqual(next);
  });
});

describe("drafts", () => {
  it("WF-03 saving rewrites a draft as YAML; what is wrong with it does not keep it from being written", async () => {
    const { drafts, names, text } = stage({ "_drafts/a.json": JSON.stringify({ name: "old", nodes: [], edges: [] }) });
    const saved = await drafts.save("a", {
      name: "new",
      nodes: [
        { id: "start", kind: "trigger" },
        { id: "b", kind: "dance" },
      ],
      edges: [],
    });
    expect(names()).toEqual(["_drafts/a.yaml"]);
    expect(text("_drafts/a.yaml")).toMatch(/^name: new\n/);
    expect(saved).toMatchObject({ file: ".svc/workflows/_drafts/a.yaml", problems: [{ code: "SCHEMA", line: 5 }] });
    await expect(drafts.save("../a", {})).rejects.toMatchObject({ status: 400, code: "SVC_WORKFLOW_ID" });
    await expect(drafts.save("runs", {})).rejects.toMatchObject({ status: 400 });
    await expect(drafts.save("a", JSON.parse('{"__proto__": {}}') as Record<string, unknown>)).rejects.toMatchObject({ status: 400 });
    await expect(drafts.save("a", { name: "x".repeat(2_000_000) })).rejects.toMatchObject({ status: 400 });
    expect(names()).toEqual(["_drafts/a.yaml"]);
  });

  it("WF-03 promote moves a draft, with its comments: it is active at once and gone from the drafts", async () => {
    const { drafts, definitions, names, text } = stage({ "_drafts/a.yaml": WORKS });
    expect(await definitions.get("a")).toBeUndefined();
    expect(await drafts.promote("a")).toMatchObject({ id: "a", definition: { id: "a", name: "Draft" } });
    expect(names()).toEqual(["a.yaml"]);
    expect(text("a.yaml")).toBe(WORKS);
    expect(await definitions.get("a")).toMatchObject({ format: "yaml", problems: [] });
    await expect(drafts.get("a")).rejects.toMatchObject({ status: 404, code: "SVC_DRAFT_UNKNOWN" });
  });

  it("WF-03 a draft that cannot be run is not promoted (422), nor onto an id that is taken (409)", async () => {
    const { drafts, names } = stage({
      "_drafts/a.yaml": WORKS.replace("to: done", "to: gone"),
      "_drafts/b.yaml": WORKS,
      "_drafts/c.yaml": "nodes: [",
      "b.json": "{}",
    });
    const before = names();
    await expect(drafts.promote("a")).rejects.toMatchObject({
      status: 422,
      problems: expect.arrayContaining([expect.objectContaining({ code: "UNKNOWN_NODE", line: 9 })]),
    });
    await expect(drafts.promote("b")).rejects.toMatchObject({ status: 409, code: "SVC_DRAFT_TAKEN" });
    await expect(drafts.promote("c")).rejects.toMatchObject({ status: 400 });
    await expect(drafts.promote("b", "tasks")).rejects.toMatchObject({ status: 400, code: "SVC_WORKFLOW_ID" });
    expect(names()).toEqual(before);
  });

  it("a draft is promoted under another id; onto a taken one not even with the same text", async () => {
    const { drafts, names, text } = stage({ "_drafts/a.yaml": `id: a # its id\n${WORKS}`, "_drafts/half.yaml": WORKS, "half.yaml": WORKS });
    await drafts.promote("a", "b");
    expect(text("b.yaml")).toContain("id: b # its id");
    await expect(drafts.promote("half")).rejects.toMatchObject({ status: 409 });
    expect(names()).toEqual(["_drafts/half.yaml", "b.yaml", "half.yaml"]);
  });

  it("WF-03 reject moves a draft and deletes nothing", async () => {
    const { drafts, names, text } = stage({ "_drafts/a.yaml": WORKS, "_drafts/b.yaml": "not: [a workflow" });
    const at = new Date("2026-05-01T09:00:00.000Z");
    expect(await drafts.reject("a", undefined, at)).toBe(".svc/workflows/_drafts/_rejected/a.2026-05-01T09-00-00-000Z.yaml");
    await drafts.reject("b", "too\nlong", at);
    expect(names()).toEqual(["_drafts/_rejected/a.2026-05-01T09-00-00-000Z.yaml", "_drafts/_rejected/b.2026-05-01T09-00-00-000Z.yaml"]);
    expect(text(names()[0] as string)).toBe(WORKS);
    expect(text(names()[1] as string)).toBe("# Rejected on 2026-05-01T09:00:00.000Z: too long\nnot: [a workflow");
    expect(await drafts.list()).toEqual([]);
  });

  it("a broken draft stands beside the others", async () => {
    const { drafts } = stage({ "_drafts/a.yaml": WORKS, "_drafts/b.yaml": "x: [", "_drafts/c.json": "{", "_drafts/_d.yaml": WORKS });
    expect((await drafts.list()).map(({ id, problems }) => [id, problems[0]?.code])).toEqual([
      ["a", undefined],
      ["b", "SYNTAX"],
      ["c", "SYNTAX"],
    ]);
  });

  it("is saved as its text where nobody has changed it meanwhile, and is YAML then", async () => {
    const { drafts, names, text } = stage({ "_drafts/flow.json": "{}" });
    const { etagOf } = await import("../definition/definition-folder.ts");
    await expect(drafts.saveText("flow", "name: x\n")).rejects.toMatchObject({ code: "SVC_DRAFT_CHANGED", status: 412 });
    await drafts.saveText("flow", "name: x # kept\n", etagOf("{}"));
    expect([names(), text("_drafts/flow.yaml")]).toEqual([["_drafts/flow.yaml"], "name: x # kept\n"]);
    await expect(drafts.saveText("flow", "name: y\n", etagOf("{}"))).rejects.toMatchObject({ code: "SVC_DRAFT_CHANGED" });
    await expect(drafts.save("flow", { name: "y" }, etagOf("{}"))).rejects.toMatchObject({ code: "SVC_DRAFT_CHANGED" });
    await expect(drafts.saveText("flow", "a: [", etagOf("name: x # kept\n"))).rejects.toMatchObject({ code: "SVC_WORKFLOW_SCHEMA" });
    expect(text("_drafts/flow.yaml")).toBe("name: x # kept\n");
  });
});
