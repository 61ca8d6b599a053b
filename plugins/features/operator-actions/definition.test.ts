import { expect, it } from "vitest";
import { isActionId, parseDefinition } from "./definition.ts";

const shell = { kind: "shell", command: "date" };

it("fills in what an author leaves out", () => {
  expect(parseDefinition("now", shell)).toMatchObject({ id: "now", title: "now", inputs: [], timeoutMs: 30_000, work: { kind: "shell", env: [] } });
});

it("ACT-10 refuses a limit over 600000 instead of lowering it", () => {
  expect(parseDefinition("now", { ...shell, timeoutMs: 600_000 }).timeoutMs).toBe(600_000);
  for (const timeoutMs of [600_001, 0, -1, 1.5, "30000", null]) {
    expect(() => parseDefinition("now", { ...shell, timeoutMs }), String(timeoutMs)).toThrow(
      expect.objectContaining({ code: "SVC_OPERATOR_ACTION_INVALID", field: "timeoutMs" }),
    );
  }
});

it("ACT-11 FAULT-50 takes only ids that can be a file and a path, and never builtin", () => {
  for (const id of ["weather", "a", "0_-", "x".repeat(64)]) expect(isActionId(id), id).toBe(true);
  for (const id of ["", "builtin", "A", "a.b", "../a", "a/b", "a\0", "a b", "ä", "a\n", "%2e%2e", "x".repeat(65)]) {
    expect(isActionId(id), JSON.stringify(id)).toBe(false);
    expect(() => parseDefinition(id, shell)).toThrow(expect.objectContaining({ field: "id" }));
  }
});

it.each<[unknown, string]>([
  [[], "content"],
  [null, "content"],
  ["text", "content"],
  [{ command: "date" }, "kind"],
  [{ kind: "python", command: "date" }, "kind"],
  [{ ...shell, url: "https://example.org" }, "url"],
  [{ ...shell, typo: 1 }, "typo"],
  [JSON.parse('{"kind":"shell","command":"date","__proto__":{"x":1}}'), "__proto__"],
  [{ ...shell, id: "other" }, "id"],
  [{ ...shell, title: 1 }, "title"],
  [{ kind: "shell" }, "command"],
  [{ kind: "shell", command: "  " }, "command"],
  [{ ...shell, cwd: 1 }, "cwd"],
  [{ ...shell, cwd: "/{{x}}", inputs: [{ name: "x" }] }, "cwd"],
  [{ ...shell, env: [] }, "env"],
  [{ ...shell, env: { "A-B": "1" } }, "env.A-B"],
  [{ ...shell, env: { A: 1 } }, "env.A"],
  [{ ...shell, env: { A: "{{nobody}}" } }, "env.A"],
  [{ kind: "shell", command: "echo {{nobody}}" }, "command"],
  [{ ...shell, inputs: {} }, "inputs"],
  [{ ...shell, inputs: ["a"] }, "inputs[0]"],
  [{ ...shell, inputs: [{ name: "a b" }] }, "inputs[0].name"],
  [{ ...shell, inputs: [{ name: "a", type: "date" }] }, "inputs[0].type"],
  [{ ...shell, inputs: [{ name: "a", required: "yes" }] }, "inputs[0].required"],
  [{ ...shell, inputs: [{ name: "a", type: "number", defaultValue: "1" }] }, "inputs[0].defaultValue"],
  [{ ...shell, inputs: [{ name: "a", default: 1 }] }, "inputs[0].default"],
  [{ ...shell, inputs: [{ name: "a" }, { name: "a" }] }, "inputs"],
])("refuses %j naming the field %s", (content, field) => {
  expect(() => parseDefinition("now", content)).toThrow(
    expect.objectContaining({ code: "SVC_OPERATOR_ACTION_INVALID", field, message: expect.stringContaining("now.json") }),
  );
});
