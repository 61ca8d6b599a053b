import { describe, expect, it } from "vitest";
import { createScopeTable, whyNoScope } from "./scopes.ts";

const table = createScopeTable([
  [
    { name: "work:read" },
    { name: "work:write", includes: ["work:read"] },
    { name: "work:admin", includes: ["work:write"] },
    { name: "run:<id>" },
    { name: "run:*", includes: ["run:<id>"] },
  ],
]);

describe("declared scopes", () => {
  it.each([
    [["work:read"], "work:read", true],
    [["work:write"], "work:read", true],
    [["work:admin"], "work:read", true],
    [["work:read"], "work:write", false],
    [["run:one"], "run:one", true],
    [["run:one"], "run:other", false],
    [["run:*"], "run:one", true],
    [["run:*"], "run:", false],
    [["run:*"], "work:read", false],
    [["run:<id>"], "run:one", false],
    [["other:*", "*", ""], "work:read", false],
    [[], "work:read", false],
  ])("what %j grants of %s: %s", (granted, needed, expected) => {
    expect(table.grants(granted, needed)).toBe(expected);
  });

  it.each([
    ["work:read", true],
    ["run:one", true],
    ["run:*", true],
    ["run:<id>", false],
    ["run:One", false],
    ["run:a:b", false],
    ["work:other", false],
    ["work", false],
    ["", false],
  ])("a token can hold %j: %s", (scope, expected) => {
    expect(table.has(scope)).toBe(expected);
  });

  it("belong to the first plugin that declares one of the family: another one gains nothing by including them", () => {
    const both = createScopeTable([
      [{ name: "work:read" }, { name: "work:write", includes: ["work:read"] }],
      [{ name: "work:guest", includes: ["work:write"] }, { name: "guest:look", includes: ["work:write"] }, { name: "guest:read" }],
    ]);
    expect(both.declared.map(({ name }) => name)).toEqual(["work:read", "work:write", "guest:read"]);
    expect([both.has("work:guest"), both.grants(["work:guest"], "work:read"), both.grants(["guest:look"], "work:write")]).toEqual([false, false, false]);
  });

  it("may include each other in circles", () => {
    const circle = createScopeTable([
      [
        { name: "a:one", includes: ["a:two"] },
        { name: "a:two", includes: ["a:one"] },
      ],
    ]);
    expect([circle.grants(["a:one"], "a:two"), circle.grants(["a:two"], "a:one")]).toEqual([true, true]);
  });

  it.each([
    [{ name: "Work:read" }, /is not written as/],
    [{ name: "read" }, /is not written as/],
    [{ name: "work:read", includes: ["dashboard:write"] }, /only include scopes of 'work'/],
    [{ name: "work:read", includes: "work:write" }, /must be a list/],
    [{ name: "work:read", summary: 1 }, /must be a text/],
    [{}, /is not written as/],
  ])("%j is refused", (scope, words) => {
    expect(whyNoScope(scope as never)).toMatch(words);
  });
});
