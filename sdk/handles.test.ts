import { describe, expect, it } from "vitest";
import { handlesIn, plainHandle } from "./handles.ts";

describe("handles", () => {
  it("are found once each, and an address names nobody", () => {
    expect(handlesIn("@Ben, @ben and a@example.org, x.@y! (@Cleo)")).toEqual(["ben", "cleo"]);
  });
  it("FAULT-58 fold to one form, but a Cyrillic letter is no Latin one", () => {
    expect(plainHandle("@\uFF21\u200Bd\u0336a")).toBe("ada");
    expect(plainHandle("@\u0430nna")).not.toBe("anna");
  });
});
