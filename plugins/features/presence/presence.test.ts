import type { Agent } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { colourOf } from "./colour.ts";
import presence from "./index.ts";
import { modeFor, shownOf } from "./presence.ts";

const agent = (settings: object | undefined, name = "Ada"): Agent =>
  ({ id: "ada", name, workspace: "/", tier: "t", mentions: [], access: "private", settings: settings === undefined ? {} : { presence: settings } }) as Agent;

describe("the colour", () => {
  it("of an id is always the same, differs between ids, and bears white letters", () => {
    expect(colourOf("ada")).toBe(colourOf("ada"));
    const ids = Array.from({ length: 500 }, (_, at) => `agent-${at}`);
    expect(new Set(ids.map(colourOf)).size).toBeGreaterThan(150);
    for (const id of [...ids, "", "ü", "__proto__", "x".repeat(10_000)]) {
      expect(colourOf(id)).toMatch(/^#[0-9a-f]{6}$/);
      const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
        const part = Number.parseInt(colourOf(id).slice(at, at + 2), 16) / 255;
        return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      expect(1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)).toBeGreaterThanOrEqual(4.5);
    }
  });
});

describe("OPS-09 act and teach", () => {
  it.each([
    [true, "act", "act"],
    [true, "teach", "teach"],
    [false, "act", "teach"],
    [false, "teach", "teach"],
    [undefined, "act", "teach"],
    ["true", "act", "teach"],
    [1, "act", "teach"],
    [null, "act", "teach"],
  ] as const)("with allowActions %j, %s becomes %s", (allowActions, asked, mode) => {
    expect(modeFor(asked, agent({ allowActions }))).toBe(mode);
    expect(modeFor(asked, agent(undefined))).toBe("teach");
  });

  it("the tool neither fails nor acts, says why, and is for agents that have the key", async () => {
    const ctx = createFakeContext(presence, {
      agents: [{ id: "ada", settings: { presence: {} } }, { id: "ben", settings: { presence: { allowActions: true } } }, { id: "cleo" }],
    });
    presence.setup(ctx as never);
    const [tool] = ctx.registered.tools;
    if (tool === undefined) throw new Error("no tool");
    const call = (id: string) => ({ agent: id, signal: new AbortController().signal });
    expect([await tool.for?.("ada"), await tool.for?.("cleo"), await tool.for?.("nobody")]).toEqual([true, false, false]);
    expect(await tool.run({ mode: "act" }, call("ada"))).toContain("mode: teach. You may not act here (agents.ada.presence.allowActions is not set)");
    expect(await tool.run({ mode: "act", note: "the\u001b[2Jmenu" }, call("ben"))).toBe("mode: act");
    const answer = (await ctx.registered.routes[0]?.handle({} as never, {} as never)) as { presence: { agent: string; mode?: string; note?: string }[] };
    expect(answer.presence.map(({ agent: id, mode, note }) => [id, mode, note])).toEqual([
      ["ada", "teach", undefined],
      ["ben", "act", "the [2Jmenu"],
      ["cleo", undefined, undefined],
    ]);
  });

  it("a permission that was taken away counts at once", () => {
    expect(shownOf(agent({}), { mode: "act", at: 1 })).toMatchObject({ mode: "teach" });
    expect(shownOf(agent({ allowActions: true }), { mode: "act", at: 1 })).toMatchObject({ mode: "act" });
  });
});

describe("the defaults", () => {
  it("are the name, its first letter as people see it, and the id's colour", () => {
    expect(shownOf(agent({}))).toEqual({ agent: "ada", color: colourOf("ada"), initial: "A", label: "Ada", allowActions: false });
    expect(shownOf(agent({}, "👩‍🔬 Lab"))).toMatchObject({ initial: "👩‍🔬" });
    expect(shownOf(agent({}, " "))).toMatchObject({ initial: "?" });
    expect(shownOf(agent({ color: "#336699", initial: "Æ", label: "X" }))).toMatchObject({ color: "#336699", initial: "Æ", label: "X" });
  });
});
