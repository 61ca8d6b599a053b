import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { table } from "./table.ts";
import { textWidth, wrapText } from "./text-width.ts";

const ROWS = [
  ["ID", "NAME", "WHAT"],
  ["tokyo", "東京アシスタント", "answers in the group"],
  ["é́", "👩‍💻 dev", "x"],
];

describe("tables", () => {
  it("OPR-m25 aligns columns by what a terminal shows, East Asian width and emoji included", () => {
    const lines = table(ROWS, undefined).split("\n");
    const starts = lines.map((line, at) => textWidth(line.slice(0, line.indexOf((ROWS[at] as string[])[2] as string))));
    expect(new Set(starts)).toEqual(new Set([25]));
  });

  it("OPR-m25 fits the terminal by wrapping and loses no word", () => {
    const long = Array.from({ length: 60 }, (_word, at) => `word${at}`).join(" ");
    const text = table(
      [
        ["PLUGIN", "FINDING", "NEXT STEP"],
        ["channel-hook", long, "svc plugin trust svc-plugin-hook"],
      ],
      80,
    );
    for (const line of text.split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(80);
    for (const word of long.split(" ")) expect(text).toContain(word);
  });

  it("keeps a row on one line where nobody looks through a terminal", () => {
    expect(table([["a".repeat(200), "b"]], undefined).split("\n")).toHaveLength(1);
  });

  it("never exceeds the width it was given, whatever the cells hold", () => {
    const cell = fc.string({ unit: "grapheme", maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, " "));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }), (rows) => {
        for (const line of table(rows, 40).split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(40);
      }),
    );
  });

  it("wraps at words and cuts only what is longer than a line", () => {
    expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapText("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  });
});
