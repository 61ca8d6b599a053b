import { createRequire } from "node:module";
import type * as Width from "get-east-asian-width";

/** Loaded for the first text that is not ASCII. */
const widths = (): typeof Width => createRequire(import.meta.url)("get-east-asian-width") as typeof Width;

let segmenter: Intl.Segmenter | undefined;

/** Created lazily: creating it takes longer than most commands. */
function graphemes(text: string): Iterable<{ segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Returns the number of terminal columns of a text: wide East Asian characters and emoji take two, combining marks none. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (/^[\p{Mark}\p{Control}\p{Format}]/u.test(grapheme)) return 0;
  if (/\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F/u.test(grapheme)) return 2;
  return widths().eastAsianWidth(grapheme.codePointAt(0) as number);
}

/** The text in lines of at most `columns`, broken between words where there are any. Words longer than a line are cut. */
export function wrapText(text: string, columns: number): string[] {
  if (textWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  let width = 0;
  const push = (): void => {
    lines.push(line.trimEnd());
    line = "";
    width = 0;
  };
  for (const word of text.split(/(?<=\s)/)) {
    const wide = textWidth(word.trimEnd());
    if (width > 0 && width + wide > columns) push();
    if (wide <= columns) {
      line += word;
      width += textWidth(word);
      continue;
    }
    for (const { segment } of graphemes(word)) {
      const step = graphemeWidth(segment);
      if (width + step > columns) push();
      line += segment;
      width += step;
    }
  }
  if (line !== "") push();
  return lines;
}
