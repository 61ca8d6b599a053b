import { describe, expect, it } from "vitest";
import { editsBetween, ownPaths, sharedText, writtenOut } from "./shared-text.ts";

const text = (document: object, local: readonly string[] = []) => sharedText(document as Record<string, unknown>, ownPaths(local));

describe("the settings that daemons have in common", () => {
  it("are the same text for the same settings, without what each machine has of its own", () => {
    const one = text({ node: { id: "n1" }, store: { url: "x" }, agents: { b: { tier: "local" }, a: { workspace: "/a", model: "m" } } }, ["agents.a.workspace"]);
    const two = text({ agents: { a: { model: "m", workspace: "/elsewhere" }, b: { tier: "local" } }, node: { id: "n2" } }, ["agents.a.workspace"]);
    expect(JSON.parse(one)).toEqual({ agents: { a: { model: "m" }, b: { tier: "local" } } });
    expect(two).toBe(one);
    // Entries of lists have no path of their own.
    expect(JSON.parse(text({ plugins: [{ node: 1 }, "b"] }, ["plugins.node"]))).toEqual({ plugins: [{ node: 1 }, "b"] });
  });

  it("become each other by edits as deep as they can be; a list as a whole", () => {
    const before = text({ agents: { a: { model: "m", tags: ["x"] }, gone: {} }, session: { ttl: 1 } });
    const after = text({ agents: { a: { model: "${M}", tags: ["x", "y"] }, fresh: { tier: "local" } }, session: { ttl: 1 }, retention: { traceDays: 3 } });
    expect(editsBetween(before, after)).toEqual([
      { path: ["agents", "a", "model"], value: "${M}", reference: true },
      { path: ["agents", "a", "tags"], value: ["x", "y"], reference: true },
      { path: ["agents", "gone"] },
      { path: ["agents", "fresh"], value: { tier: "local" }, reference: true },
      { path: ["retention"], value: { traceDays: 3 }, reference: true },
    ]);
    expect(editsBetween(after, after)).toEqual([]);
  });

  it("say where a credential is written out, also in an address", () => {
    const found = writtenOut({ a: { token: "***", name: "${TOKEN}" }, b: [{ url: "postgres://svc:***@db/x" }], c: "stars *** in a text" });
    expect(found).toEqual(["a.token", "b[0].url"]);
  });
});
