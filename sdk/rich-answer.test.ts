import { describe, expect, it } from "vitest";
import { buttonsOf, richOf } from "./rich-answer.ts";

describe("rich answers", () => {
  it("a fence that does not end yet is left out, and everything before it stays", () => {
    for (const part of ["```buttons", "```buttons\n", "```buttons\n[Ye", "```poll\nWhat?\n- a\n- b\n``"]) {
      expect(richOf(`Words.\n\n${part}`).words.startsWith("Words.")).toBe(true);
    }
    expect(richOf("Words.\n\n```buttons\n[Yes] [N")).toEqual({ words: "Words.", rows: [] });
  });

  it("an answer of fences alone, and a fence of very many lines, are read in one pass", () => {
    const fences = "```poll\n```\nx\n".repeat(40_000);
    for (const grows of [false, true]) expect(richOf(fences, grows).words).toBe(fences.trim());
    const long = `\`\`\`buttons\n${"-\n".repeat(200_000)}\`\`\``;
    expect(richOf(long).words).toBe(long);
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

  it("of an answer that grows the fence at its end is left out, closed or not", () => {
    for (const part of ["```buttons", "```buttons\n[Yes] [N\n```", "```buttons\n[Yes]\n```", "```poll\nWhat?\n- a\n- b\n```\n"])
      expect(richOf(`Words.\n\n${part}`, true)).toEqual({ words: "Words.", rows: [] });
    expect(richOf("Words.\n\n```ts\n[1]\n```", true).words).toBe("Words.\n\n```ts\n[1]\n```");
    expect(richOf("```buttons\n[Yes]\n```\nmore", true)).toEqual({ words: "more", rows: [[{ label: "Yes" }]] });
  });

  it("the options of a poll are buttons where there are no polls", () => {
    expect(buttonsOf(richOf("x\n```buttons\n[A](https://example.org/) [B]\n```\n```poll\nWhat?\n- c\n- d\n```"))).toEqual([
      { label: "A", url: "https://example.org/" },
      { label: "B" },
      { label: "c" },
      { label: "d" },
    ]);
  });

  it("a hostile text is taken apart in one pass", () => {
    for (const text of ["```buttons\n".repeat(20_000), `\`\`\`buttons\n${"[".repeat(50_000)}\n\`\`\``, `\`\`\`poll\n${"- ".repeat(50_000)}`])
      richOf(text, true);
  });
});
