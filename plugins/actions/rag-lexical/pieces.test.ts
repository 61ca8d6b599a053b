import { expect, it } from "vitest";
import { cutIntoPieces, textOf } from "./pieces.ts";
import { CLOSE, locate, OPEN } from "./query.ts";

it("loses nothing and knows where each piece starts", () => {
  const lines = Array.from({ length: 500 }, (_, index) => (index % 7 === 6 ? "" : `line ${index + 1} ${"word ".repeat(index % 30)}`));
  const pieces = cutIntoPieces(lines.join("\n"));
  expect(pieces.length).toBeGreaterThan(10);
  expect(pieces.map(({ text }) => text).join("\n")).toBe(lines.join("\n"));
  for (const { line, text } of pieces) {
    expect(text.split("\n")[0]).toBe(lines[line - 1]);
    expect(text.length).toBeLessThan(1500);
  }
});

it("cuts a very long line between characters and keeps its number", () => {
  const long = `a${"𝒜".repeat(5000)}b`;
  const pieces = cutIntoPieces(`first\n${long}\nlast`);
  expect(pieces.map(({ line }) => line)).toEqual([1, 2, 2, 2, 3]);
  expect(
    pieces
      .slice(1, 4)
      .map(({ text }) => text)
      .join(""),
  ).toBe(long);
  expect(pieces.every(({ text }) => text.isWellFormed())).toBe(true);
});

it("leaves out what has no word", () => {
  expect(cutIntoPieces("\n\n---\n")).toEqual([]);
  expect(cutIntoPieces("")).toEqual([]);
});

it("tells text from bytes", () => {
  expect(textOf(new Uint8Array([104, 105]))).toBe("hi");
  expect(textOf(new Uint8Array([104, 0, 105]))).toBeUndefined();
});

it("finds the line of the first match and the words around it", () => {
  const marked = `one\ntwo ${OPEN}three${CLOSE}\nfour`;
  expect(locate(marked, 10)).toEqual({ line: 11, snippet: "one two three four" });
  const far = `${"é".repeat(300)}\n${OPEN}hit${CLOSE} ${"🙂".repeat(300)}`;
  const { line, snippet } = locate(far, 1);
  expect(line).toBe(2);
  expect(snippet).toMatch(/^….*hit.*…$/u);
  expect(snippet.isWellFormed()).toBe(true);
});
