import { describe, expect, it } from "vitest";
import plugin from "./index.ts";
import { WORKFLOWS } from "./settings.ts";

describe("the section workflows", () => {
  it("is off unless it says so, with the defaults of the field list", () => {
    const { properties } = WORKFLOWS as { properties: Record<string, { default?: unknown; properties?: Record<string, { default?: unknown }> }> };
    expect(properties["enabled"]?.default).toBe(false);
    expect(properties["dir"]?.default).toBe(".svc/workflows");
    expect(properties["editor"]?.default).toBe("edit");
    expect(properties["matching"]?.properties?.["autoRunThreshold"]?.default).toBe(0.85);
    expect(plugin).toMatchObject({ kind: "feature", name: "workflows", config: { at: "workflows" } });
  });
});
