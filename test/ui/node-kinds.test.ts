import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { portsOf } from "../../plugins/features/dashboard/ui/graph/ports.ts";
import { newNode } from "../../plugins/features/dashboard/ui/pages/editor/edit.ts";
import { portsOf as portsOfServer } from "../../plugins/features/workflows/definition/node-ports.ts";
import type { Node } from "../../plugins/features/workflows/engine/types.ts";

const PLUGINS = new URL("../../plugins/features/", import.meta.url);
const schema = JSON.parse(readFileSync(new URL("workflows/workflow-definition.schema.json", PLUGINS), "utf8")) as {
  $defs: { node: { oneOf: { properties: { kind: { const: string } } }[] } };
};
const kinds = schema.$defs.node.oneOf.map(({ properties }) => properties.kind.const);

describe("the kinds of nodes", () => {
  it("are all in the palette of the editor, each with a sentence", () => {
    const palette = readFileSync(new URL("dashboard/ui/pages/editor/node-palette.tsx", PLUGINS), "utf8");
    const words = readFileSync(new URL("dashboard/ui/words/editor.ts", PLUGINS), "utf8");
    expect(kinds).toHaveLength(17);
    for (const kind of kinds) {
      expect(palette).toContain(`"${kind}"`);
      expect(words).toMatch(new RegExp(`^ {4}${kind}: "`, "m"));
    }
  });

  it("have the same ports on the page and for the server's check", () => {
    for (const kind of kinds) {
      const node = newNode({ nodes: [], edges: [] }, kind);
      expect([kind, portsOf(node).ports]).toEqual([kind, portsOfServer(node as unknown as Node)]);
    }
    const open = { id: "t", kind: "userTask", title: "t", assignee: "role:x", submitTransition: "{{ values.x }}" };
    expect([portsOf(open).open, portsOfServer(open as Node)]).toEqual([true, undefined]);
  });
});
