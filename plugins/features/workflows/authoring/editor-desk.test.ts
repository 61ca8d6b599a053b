import { createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { type Definitions, NEW, openDefinitions } from "../definition/definitions.ts";
import { checkEdit, checkText } from "./editor-desk.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const HOME = "/daemon/.svc/workflows";
const WRITTEN = `# what it is for
nodes:
  - {id: start, kind: trigger} # by hand
  # nobody may move this
  - {id: done, kind: end, output: 1}
edges:
  - {from: start, to: done}
`;
const VALUE = {
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "done", kind: "end", output: 2 },
  ],
  edges: [{ from: "start", to: "done" }],
};

function stage(content: Record<string, string> = {}): { definitions: Definitions; text: (name: string) => unknown; names: () => string[] } {
  const files = new Map<string, string | Uint8Array>(Object.entries(content).map(([name, text]) => [`${HOME}/${name}`, text]));
  const definitions = openDefinitions({ files: createMemoryFiles(files), dir: ".svc/workflows", log: silent, known: () => ({}) });
  return { definitions, text: (name) => files.get(`${HOME}/${name}`), names: () => [...files.keys()].map((path) => path.slice(HOME.length + 1)).sort() };
}

describe("the check of an edit", () => {
  it("writes a definition into its author's text: comments stay, and only what changed is different", () => {
    const { text, problems, hash, definition } = checkEdit({ id: "flow", text: WRITTEN, definition: VALUE }, {});
    expect(text).toBe(WRITTEN.replace("output: 1", "output: 2"));
    expect([problems, definition]).toEqual([[], VALUE]);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("tells the line of a problem in that text", () => {
    const broken = { ...VALUE, nodes: [VALUE.nodes[0], { id: "done", kind: "end", output: "{{ in. }}" }] };
    const { problems, hash } = checkEdit({ id: "flow", text: WRITTEN, definition: broken }, {});
    expect(problems).toMatchObject([{ code: "EXPR_PARSE", pointer: "/nodes/1/output", line: 5, severity: "error" }]);
    expect(hash).not.toBe("");
  });

  it("says where an alias keeps the graph from being changed, and does not write it out", () => {
    const text = `${WRITTEN}name: &n Flow\ndescription: *n\n`;
    expect(checkText(text, "flow", "yaml", {}).locked).toEqual({ line: 9, column: 14, reason: "the alias *n stands for what is written elsewhere" });
  });

  it("refuses what a file must not hold, and gives no text for it", () => {
    const { definition, problems, text } = checkEdit({ id: "flow", text: WRITTEN, definition: JSON.parse('{"nodes": [], "__proto__": {"a": 1}}') }, {});
    expect([definition, text]).toEqual([null, WRITTEN]);
    expect(problems).toMatchObject([{ code: "KEY", severity: "error" }]);
  });
});

describe("a definition that is saved as its text", () => {
  it("WF-01 is written as it stands where nobody changed it meanwhile, in the file it has", async () => {
    const { definitions, text, names } = stage({ "flow.yml": WRITTEN });
    const { etag } = (await definitions.get("flow")) as { etag: string };
    const next = WRITTEN.replace("output: 1", "output: 2");
    const { loaded, created } = await definitions.saveText("flow", next, etag);
    expect([text("flow.yml"), created, names()]).toEqual([next, false, ["flow.yml"]]);
    expect(loaded.etag).not.toBe(etag);
    await expect(definitions.saveText("flow", WRITTEN, etag)).rejects.toMatchObject({ code: "SVC_WORKFLOW_CHANGED", status: 412 });
    await expect(definitions.saveText("flow", WRITTEN)).rejects.toMatchObject({ code: "SVC_WORKFLOW_CHANGED" });
    expect(text("flow.yml")).toBe(next);
  });

  it("is new only where there is none, and refused with its problems where it cannot be run", async () => {
    const { definitions, text } = stage();
    expect(await definitions.saveText("flow", WRITTEN, NEW)).toMatchObject({ created: true });
    expect(text("flow.yaml")).toBe(WRITTEN);
    await expect(definitions.saveText("flow", WRITTEN, NEW)).rejects.toMatchObject({ code: "SVC_WORKFLOW_CHANGED" });
    await expect(definitions.saveText("other", "nodes: [", NEW)).rejects.toMatchObject({ code: "SVC_WORKFLOW_SCHEMA" });
    await expect(definitions.saveText("../x", WRITTEN, NEW)).rejects.toMatchObject({ code: "SVC_WORKFLOW_ID" });
    await expect(definitions.save("json", VALUE, NEW)).resolves.toMatchObject({ created: true });
    await expect(definitions.save("json", VALUE, NEW)).rejects.toMatchObject({ code: "SVC_WORKFLOW_CHANGED" });
  });

  it("a JSON file stays JSON", async () => {
    const { definitions, text } = stage({ "flow.json": JSON.stringify(VALUE) });
    const { etag } = (await definitions.get("flow")) as { etag: string };
    await expect(definitions.saveText("flow", WRITTEN, etag)).rejects.toMatchObject({ code: "SVC_WORKFLOW_SCHEMA" });
    expect(text("flow.json")).toBe(JSON.stringify(VALUE));
  });
});
