import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Node } from "../engine/types.ts";
import { checkDefinition } from "./check-definition.ts";
import { EXAMPLES, readExample } from "./example-files.ts";

const known = {
  agents: new Set(["assistant"]),
  actions: new Set(["http.fetch", "http.post", "file.read_lines", "file.write_jsonl", "rag.lexical", "extract.structured", "agent.call"]),
  workflows: new Set<string>(EXAMPLES),
};

it.each(EXAMPLES)("the example %s is checked without an error and needs no key", (name) => {
  const text = readExample(name) as string;
  const { problems, definition, hash } = checkDefinition(text, { id: name, format: "yaml", known });
  expect(problems).toEqual([]);
  expect(hash).not.toBe("");
  // Copied under another id it is the same workflow.
  expect(checkDefinition(text, { id: "mine", format: "yaml", known }).definition).toMatchObject({ id: "mine" });
  const nodes = (list: readonly Node[]): readonly Node[] => list.flatMap((node) => [node, ...(node.kind === "forEach" ? nodes(node.do.nodes) : [])]);
  for (const node of nodes(definition?.nodes ?? [])) if (node.kind === "action") expect(node.action).toMatch(/^file\./);
  const trigger = definition?.nodes.find((node) => node.kind === "trigger");
  for (const [field, { default: given }] of Object.entries(trigger?.inputSchema ?? {})) expect(given, field).toBeDefined();
  expect(readFileSync(new URL(`../examples/${name}/README.md`, import.meta.url), "utf8")).toContain(`svc workflow new ${name}`);
});

it("an example that does not exist is none, not even by a path", () => {
  for (const name of ["gone", "../examples/saga", "", "__proto__"]) expect(readExample(name)).toBeUndefined();
});

it("what docs/workflows.md shows is checked without a problem", () => {
  const page = readFileSync(new URL("../../../../docs/workflows.md", import.meta.url), "utf8");
  const samples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(samples).toHaveLength(3);
  for (const text of samples) expect(checkDefinition(text, { id: "shown", format: "yaml", known }).problems).toEqual([]);
});

it("docs/workflows.md names every kind, every code of a problem and every name of an expression", () => {
  const page = readFileSync(new URL("../../../../docs/workflows.md", import.meta.url), "utf8");
  const sources = ["check-definition", "graph-lint", "expression-lint", "field-lint", "lint", "definitions", "definition-schema", "yaml-document", "source"];
  const codes = sources.flatMap((name) =>
    [...readFileSync(new URL(`./${name}.ts`, import.meta.url), "utf8").matchAll(/"([A-Z][A-Z_]{3,})"/g)].map(([, code = ""]) => code),
  );
  const kinds = [
    "trigger",
    "agent",
    "action",
    "set",
    "branch",
    "multiChoice",
    "join",
    "forEach",
    "userTask",
    "approval",
    "timer",
    "waitSignal",
    "emitSignal",
    "subProcess",
    "cancelNodes",
    "fail",
    "end",
  ];
  expect(new Set(codes).size).toBeGreaterThan(20);
  const told = [...new Set(codes), ...kinds].filter((word) => word !== "SVC_FILE_TOO_LARGE" && !word.startsWith("SVC_"));
  expect(told.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});
