import { expect, it } from "vitest";
import plugin from "./index.ts";
import { repeatedLabels } from "./keys.ts";

it("adds the keys that its manifest names, and nothing else", () => {
  expect(Object.keys(plugin.agentConfig?.properties ?? {})).toEqual(["forgeAutoReply", "integrations"]);
  expect(plugin.setup({} as never)).toBeUndefined();
});

it("CFG-16 finds a label that stands twice for one kind, and bears any value", () => {
  const one = { kind: "mail", label: "main" };
  expect(repeatedLabels({ integrations: [one, { kind: "crm", label: "main" }] })).toEqual([]);
  expect(repeatedLabels({ integrations: [one, null, 5, {}, one] })).toMatchObject([{ path: "integrations[4].label", severity: "error" }]);
  for (const integrations of [undefined, null, "x", {}, [[]]]) expect(repeatedLabels({ integrations })).toEqual([]);
});
