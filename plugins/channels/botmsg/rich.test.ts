import { handlesIn, plainHandle } from "@svc/sdk";
import { describe, expect, it } from "vitest";

import { richOf } from "./rich.ts";

describe("rich answers", () => {
  it("a fence that does not end yet is left out, and everything before it stays", () => {
    for (const part of ["```buttons", "```buttons\n", "```buttons\n[Ye", "```poll\nWhat?\n- a\n- b\n``"]) {
      expect(richOf(`Words.\n\n${part}`).words.startsWith("Words.")).toBe(true);
    }
    expect(richOf("Words.\n\n```buttons\n[Yes] [N")).toEqual({ words: "Words.", rows: [] });
  });

  it("what makes no sense stays as it is", () => {
    for (const text of ["```buttons\nnone\n```", "```poll\nonly one?\n- a\n```", "```js\n[1]\n```"]) expect(richOf(text)).toEqual({ words: text, rows: [] });
  });

  it("only web addresses become links", () => {
    expect(richOf("x\n```buttons\n[Run](javascript:alert(1))\n```").rows).toEqual([[{ label: "Run" }]]);
  });

  it("fences may stand between words", () => {
    expect(richOf("before\n```buttons\n[A]\n```\nafter")).toEqual({ words: "before\nafter", rows: [[{ label: "A" }]] });
  });
});

describe("handles", () => {
  it("are found once each, and an address names nobody", () => {
    expect(handlesIn("@Ben, @ben and a@example.org, x.@y! (@Cleo)")).toEqual(["ben", "cleo"]);
  });
  it("FAULT-58 fold to one form, but a Cyrillic letter is no Latin one", () => {
    expect(plainHandle("@\uFF21\u200Bd\u0336a")).toBe("ada");
    expect(plainHandle("@\u0430nna")).not.toBe("anna");
  });
});
