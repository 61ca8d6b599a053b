import { describe, expect, it } from "vitest";
import { production, sharedNames } from "./sources.ts";

describe("the sources", () => {
  it("no file name stands twice in a package, so that a name in a stack or a search leads to one file", () => {
    expect(sharedNames(production())).toEqual([]);
  });
});
