import { describe, expect, it } from "vitest";
import type { Panel } from "../panel.ts";
import { createFakeContext } from "./fake-context.ts";
import { type PanelSubject, panelContract } from "./panel-contract.ts";

function subject(changed: Partial<Panel> = {}, server = "dashboard"): PanelSubject {
  const context = createFakeContext({ kind: "feature", name: "acme", capabilities: ["routes"] });
  context.provide.files({ server, prefix: "/acme", folder: "dist/ui", guard: "open" });
  context.provide.panel({ id: "acme", title: "Acme", place: "page", guard: "scope:dashboard:read", module: "/acme/panel.js", ...changed });
  return { context };
}

panelContract({ describe, it }, () => subject());

async function failures(made: () => PanelSubject): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  panelContract({ describe: (_, define) => define(), it: (name, run) => void tests.push([name, run]) }, made);
  const failed: string[] = [];
  for (const [name, run] of tests) await run().catch(() => failed.push(name));
  return failed;
}

describe("the panel contract catches", () => {
  it.each<[string, () => PanelSubject, RegExp]>([
    ["an id with blanks", () => subject({ id: "Acme panel" }), /an id/],
    ["no title", () => subject({ title: " " }), /a title/],
    ["a guard that people cannot pass", () => subject({ guard: "signed" }), /a guard/],
    ["a module that is served nowhere", () => subject({ module: "/other/panel.js" }), /serves the module/],
    ["a module that another server serves", () => subject({}, "daemon"), /serves the module/],
    ["no panel", () => ({ context: createFakeContext({ kind: "feature", name: "acme", capabilities: [] }) }), /has panels/],
  ])("%s", async (_what, made, name) => {
    expect(await failures(made)).toContainEqual(expect.stringMatching(name));
  });
});
