import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { drainSeconds, loadEnvironment } from "../../base/config-text/environment.ts";
import { openDocument } from "./document.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (text: string, env: NodeJS.ProcessEnv = {}) => openDocument({ file: "svc.json", text }, env);
const thrown = (run: () => unknown): Record<string, unknown> => {
  try {
    run();
  } catch (error) {
    return Object.assign({ message: (error as Error).message }, error) as Record<string, unknown>;
  }
  throw new Error("nothing was thrown");
};

describe("openDocument", () => {
  it("CFG-03 a missing variable becomes the empty text, and is named", () => {
    const document = open('{"a": "x${UNSET}y", "b": ["${SET}", "${EMPTY}"], "c": {"d": "${UNSET}"}}', { SET: "one", EMPTY: "" });
    expect(document.expanded).toEqual({ a: "xy", b: ["one", ""], c: { d: "" } });
    expect(document.missing).toEqual(["UNSET", "EMPTY"]);
    expect(document.references(["b", 0])).toEqual(["SET"]);
    expect(document.references(["b"])).toEqual([]);
  });

  it("CFG-05 the raw document keeps its references", () => {
    const document = open('{"a": "${SECRET}"}', { SECRET: "hunter2" });
    expect(document.raw).toEqual({ a: "${SECRET}" });
    expect(document.text).not.toContain("hunter2");
  });

  it("expands once: what a variable holds is not expanded again", () => {
    expect(open('{"a": "${OUTER}"}', { OUTER: "${INNER}", INNER: "no" }).expanded).toEqual({ a: "${INNER}" });
  });

  it("takes only what looks like a variable for one, and nothing inherited", () => {
    expect(open('{"a": "$NAME ${} ${1x} ${a-b}", "b": "${toString}${constructor}"}', { NAME: "no" }).expanded).toEqual({ a: "$NAME ${} ${1x} ${a-b}", b: "" });
  });

  it("tells where a key stands", () => {
    const document = open('{\n  "agents": {\n    "a": { "name": "A", "mentions": ["x",\n      "y"] }\n  }\n}');
    expect(document.locate(["agents", "a"])).toEqual({ line: 3, column: 5 });
    expect(document.locate(["agents", "a", "mentions", 1])).toEqual({ line: 4, column: 7 });
    expect(document.locate(["agents", "b"])).toBeUndefined();
  });

  it("counts lines after carriage returns as editors do, and reads past a byte order mark", () => {
    const document = open('\uFEFF{\r\n  "node": 1\r\n}');
    expect(document.locate(["node"])).toEqual({ line: 2, column: 3 });
  });

  it.each([
    ["FAULT-15 half-written in an object", '{\n  "node": {"id": "a"', 2, 21],
    ["FAULT-16 half-written in a text", '{\n  "node": {"id": "a', 2, 18],
    ["FAULT-16 empty", "", 1, 1],
    ["a comment", '{\n  // no\n  "a": 1}', 2, 3],
    ["a trailing comma", '{"a": 1,\n}', 2, 1],
    ["a list", "[1]", 1, 1],
    ["a second value", '{"a": 1} 2', 1, 10],
    ["a key twice", '{"a": 1,\n "a": 2}', 2, 2],
    ["single quotes", "{'a': 1}", 1, 2],
  ])("refuses %s with file, line and column", (_, text, line, column) => {
    const error = thrown(() => open(text));
    expect(error).toMatchObject({ code: "SVC_CONFIG_SYNTAX", status: 400, file: "svc.json", line, column });
    expect(error.message).toContain(`svc.json:${line}:${column}: `);
  });

  it("refuses nesting that would exhaust the stack", () => {
    const deep = 200_000;
    expect(thrown(() => open(`{"a": ${"[".repeat(deep)}${"]".repeat(deep)}}`))).toMatchObject({ code: "SVC_CONFIG_SYNTAX", line: 1 });
    expect(open(`{"a": ${"[".repeat(63)}${"]".repeat(63)}}`).raw).toHaveProperty("a");
  });

  it.each(["__proto__", "constructor", "prototype"])("FAULT-57 refuses the key %s anywhere", (key) => {
    expect(thrown(() => open(`{"node": {\n"${key}": {"polluted": true}}}`))).toMatchObject({ code: "SVC_CONFIG_KEY", key, line: 2, column: 1 });
    expect(thrown(() => openDocument({ value: JSON.parse(`{"a": [{"${key}": 1}]}`) }, {}))).toMatchObject({ code: "SVC_CONFIG_KEY", key });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("names the file and the next step when there is none", () => {
    const file = join(folder, "none.json");
    const error = thrown(() => openDocument({ file }, {}));
    expect(error.code).toBe("SVC_CONFIG_MISSING");
    expect(error.message).toContain(file);
    expect(error.message).toContain("svc init");
    expect(thrown(() => openDocument({ file: folder }, {})).code).toBe("SVC_CONFIG_UNREADABLE");
  });

  it("reads the file", () => {
    const file = join(folder, "svc.json");
    writeFileSync(file, '{"node": {"id": "${ID}"}}');
    expect(openDocument({ file }, { ID: "n1" })).toMatchObject({ file, expanded: { node: { id: "n1" } } });
  });

  it("copies a value given in code and refuses what JSON cannot hold", () => {
    const value = { node: { id: "${ID}", none: undefined } };
    const document = openDocument({ value }, { ID: "n1" });
    value.node.id = "changed";
    expect(document.raw).toEqual({ node: { id: "${ID}" } });
    expect(document.expanded).toEqual({ node: { id: "n1" } });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const bad of [{ a: () => 1 }, { a: Number.NaN }, { a: new Date() }, { a: new Map() }, { a: 1n }, cycle, []]) {
      expect(thrown(() => openDocument({ value: bad }, {})).code).toBe("SVC_CONFIG_SYNTAX");
    }
  });
});

describe("loadEnvironment", () => {
  it("CFG-23 a variable already set wins over .env, even when it is empty", () => {
    writeFileSync(join(folder, ".env"), "FROM_FILE=file\nBOTH=file\nEMPTY=file\n# note\nQUOTED='a b'\n");
    const env = { BOTH: "process", EMPTY: "", GONE: undefined };
    expect(loadEnvironment(folder, env)).toEqual({ FROM_FILE: "file", BOTH: "process", EMPTY: "", QUOTED: "a b" });
    expect(env).toEqual({ BOTH: "process", EMPTY: "", GONE: undefined });
  });

  it("works without a .env", () => {
    expect(loadEnvironment(join(folder, "elsewhere"), { A: "1" })).toEqual({ A: "1" });
  });
});

describe("drainSeconds", () => {
  it("CFG-18 takes seconds from the configuration, milliseconds from the variable, else 300", () => {
    expect(drainSeconds({}, {})).toBe(300);
    expect(drainSeconds({ shutdown: {} }, { SVC_DRAIN_TIMEOUT_MS: "5000" })).toBe(5);
    expect(drainSeconds({ shutdown: { drainTimeoutSeconds: 0 } }, { SVC_DRAIN_TIMEOUT_MS: "5000" })).toBe(0);
    expect(drainSeconds({}, { SVC_DRAIN_TIMEOUT_MS: "0" })).toBe(0);
    expect(drainSeconds({}, { SVC_DRAIN_TIMEOUT_MS: "" })).toBe(300);
    expect(drainSeconds({}, { SVC_DRAIN_TIMEOUT_MS: "soon" })).toBe(300);
  });
});
