import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRender } from "./render.ts";
import { cutPieces, sizeOf, type Unit } from "./split.ts";

const { split } = createRender();
const units: readonly Unit[] = ["codepoint", "utf16", "utf8"];

/** Whether a code block is left open at the end of a text, judged apart from the code under test. */
function endsWithinBlock(text: string): boolean {
  let mark = "";
  for (const line of text.split("\n")) {
    const found = /^ {0,3}(```+|~~~+)/.exec(line)?.[1] ?? "";
    if (mark === "") mark = found.startsWith("`") && line.trim().slice(found.length).includes("`") ? "" : found;
    else if (found.startsWith(mark) && line.trim() === found) mark = "";
  }
  return mark !== "";
}

const fragment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom("word ", "a ", "longer-word ", "snake_case ", "**bold** ", "漢字", "é", "e\u0301", "😀", "👨‍👩‍👧‍👦", "🇨🇭", "\t", " "),
  },
  { weight: 4, arbitrary: fc.constantFrom("\n", "\n\n", "\n\n\n", "\n- item\n", "\n> quote\n", "\n# heading\n") },
  { weight: 3, arbitrary: fc.constantFrom("\n```js\n", "\n```\n", "\n~~~\n", "\n````md\n", "\n````\n", "\n  ```\n", "\n``` x`y\n", "`code` ") },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
);
const markdown = fc.array(fragment, { maxLength: 80 }).map((parts) => parts.join(""));

describe("every text", () => {
  it("is cut into pieces within the limit in its unit that together are the original, and no character is torn", () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 4, max: 120 }), fc.constantFrom(...units), (text, limit, unit) => {
        const pieces = [...cutPieces(text, limit, unit)];
        expect(pieces.map((piece) => piece.text).join("")).toBe(text);
        for (const { open, text: part, close } of pieces) {
          expect(sizeOf(open + part + close, unit)).toBeLessThanOrEqual(limit);
          expect(part.length).toBeGreaterThan(0);
          if (text.isWellFormed()) expect(part.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 1500 },
    );
  });

  it("has no piece that leaves a code block open for the next, where fence lines fit", () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 60, max: 200 }), fc.constantFrom(...units), (text, limit, unit) => {
        const pieces = [...cutPieces(text, limit, unit)];
        for (const { open, text: part, close } of pieces.slice(0, -1)) expect(endsWithinBlock(open + part + close)).toBe(false);
        const last = pieces.at(-1);
        if (last !== undefined) expect(endsWithinBlock(last.open + last.text)).toBe(endsWithinBlock(text));
      }),
      { numRuns: 1500 },
    );
  });
});

describe("a cut", () => {
  it("leaves a text alone that fits exactly, in each unit", () => {
    expect(split("a😀é", 3, "codepoint")).toEqual(["a😀é"]);
    expect(split("a😀é", 4, "utf16")).toEqual(["a😀é"]);
    expect(split("a😀é", 7, "utf8")).toEqual(["a😀é"]);
    expect(split("a😀é", 6, "utf8")).toEqual(["a😀", "é"]);
  });

  it("is made between paragraphs, else lines, else words, else characters as people see them", () => {
    expect(split("one one\n\ntwo two\nthree", 17, "utf16")).toEqual(["one one\n\n", "two two\nthree"]);
    expect(split("one one one\ntwo two", 14, "utf16")).toEqual(["one one one\n", "two two"]);
    expect(split("one two three four", 10, "utf16")).toEqual(["one two ", "three four"]);
    expect(split("xxxxxxxxe\u0301yy", 9, "utf16")).toEqual(["xxxxxxxx", "e\u0301yy"]);
    expect(split("xx👨‍👩‍👧‍👦yy", 12, "utf16")).toEqual(["xx", "👨‍👩‍👧‍👦y", "y"]);
    expect(split("漢字漢字漢字", 4, "codepoint")).toEqual(["漢字漢字", "漢字"]);
  });

  it("in a code block closes it and opens it again with its language", () => {
    const lines = ["alpha();", "beta();", "gamma();", "delta();"];
    expect(split(`Look:\n\`\`\`js\n${lines.join("\n")}\n\`\`\`\nDone.`, 36, "utf16")).toEqual([
      "Look:\n```js\nalpha();\nbeta();\n```",
      "```js\ngamma();\ndelta();\n```\nDone.",
    ]);
  });

  it("in a code line that is too long adds a line end before the fence", () => {
    expect(split(`~~~\n${"x".repeat(30)}\n~~~`, 24, "utf16")).toEqual([`~~~\n${"x".repeat(16)}\n~~~`, `~~~\n${"x".repeat(14)}\n~~~`]);
  });

  it("keeps a fence of four, and a fence inside it is code", () => {
    const inner = "````md\n```js\naaaaaaaaaaaa\n```\nbbbbbbbbbbbb\n````\nafter";
    const pieces = split(inner, 40, "utf16");
    expect(pieces[0]).toMatch(/^````md\n```js\n[\s\S]*\n````$/);
    expect(pieces[1]).toMatch(/^````md\n/);
  });

  it("drops a language that would take the piece, and goes on as plain text where even a bare fence would", () => {
    const language = "x".repeat(20);
    for (const piece of split(`\`\`\`${language}\n${"line\n".repeat(10)}\`\`\``, 40, "utf16").slice(1)) expect(piece).toMatch(/^```\n/);
    for (const piece of split(`\`\`\`\n${"line\n".repeat(10)}\`\`\``, 12, "utf16").slice(1, -1)) expect(piece).not.toContain("`");
  });

  it("gives no piece without a word in it", () => {
    expect(split("", 10, "utf16")).toEqual([]);
    expect(split(" \n\n ", 10, "utf16")).toEqual([]);
    expect(split(`a${"\n".repeat(50)}b`, 10, "utf16").map((piece) => piece.trim())).toEqual(["a", "b"]);
  });

  it("takes Windows line ends as line ends", () => {
    expect(split("a\r\nb\rc", 10, "utf16")).toEqual(["a\nb\nc"]);
  });
});
