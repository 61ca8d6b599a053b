import type { MentionGrammar } from "@svc/sdk";
import { readInline } from "./note-inline.ts";
import { CODE, HIDDEN, isDigit, isSpace, TextScan } from "./text-scan.ts";

/** A text, read once from its start to its end. */
export interface NoteText {
  readonly text: string;
  /** `PLAIN`, `HIDDEN` or `CODE` for each UTF-16 unit. */
  readonly places: Uint8Array;
  /** Units looked at: a small multiple of the length, whatever the text. */
  readonly steps: number;
}

/** Longer texts are read up to here: a stranger's text costs a bounded time. */
export const READ_CHARS = 65_536;

interface Line {
  readonly start: number;
  /** Without its line break. */
  readonly end: number;
  /** Where its first sign stands, and its column. */
  readonly first: number;
  readonly indent: number;
}

const HIDDEN_TAGS = ["pre", "script", "style", "textarea"] as const;

/**
 * Parses the markup of a note as far as mentions depend on it: fences, indented code, quotes with their lazy lines, lists, HTML, code spans, links.
 * Line by line with a bounded number of looks at each unit: general Markdown parsers need seconds for hostile texts.
 */
export function readNote(whole: string, { fencedQuotes }: Pick<MentionGrammar, "fencedQuotes">): NoteText {
  return new Reader(whole.slice(0, READ_CHARS), fencedQuotes).read();
}

class Reader {
  readonly #scan: TextScan;
  readonly #fencedQuotes: boolean;
  #fence: { readonly sign: string; readonly length: number; readonly column: number } | undefined;
  /** End tag of the current HTML block. */
  #html: string | undefined;
  #inFencedQuote = false;
  /** A quote with words was just there: lines of words still belong to it. */
  #lazy = false;
  #inList = false;
  /** Where the paragraph began that goes on. */
  #paragraph: number | undefined;
  #lastQuoteFence = -1;

  constructor(text: string, fencedQuotes: boolean) {
    this.#scan = new TextScan(text);
    this.#fencedQuotes = fencedQuotes;
  }

  read(): NoteText {
    const lines = this.#lines();
    if (this.#fencedQuotes) for (const line of lines) if (this.#isQuoteFence(line)) this.#lastQuoteFence = line.start;
    for (const line of lines) this.#line(line);
    this.#endParagraph(this.#scan.text.length);
    return this.#scan;
  }

  #lines(): Line[] {
    const lines: Line[] = [];
    for (let start = 0; start <= this.#scan.text.length; ) {
      let end = start;
      while (end < this.#scan.text.length && this.#scan.text[end] !== "\n" && this.#scan.text[end] !== "\r") end += 1;
      let [first, indent] = [start, 0];
      for (; first < end && (this.#scan.text[first] === " " || this.#scan.text[first] === "\t"); first += 1)
        indent += this.#scan.text[first] === "\t" ? 4 - (indent % 4) : 1;
      lines.push({ start, end, first, indent });
      this.#scan.steps += end - start + 1;
      start = end + (this.#scan.text[end] === "\r" && this.#scan.text[end + 1] === "\n" ? 2 : 1);
    }
    return lines;
  }

  #line(line: Line): void {
    if (this.#insideBlock(line)) return;
    if (line.first === line.end) {
      this.#endParagraph(line.start);
      this.#lazy = false;
      return;
    }
    if (line.start < this.#lastQuoteFence && this.#isQuoteFence(line)) {
      this.#endParagraph(line.start);
      this.#inFencedQuote = true;
      this.#mark(line, HIDDEN);
      return;
    }
    const { at, column, marked } = this.#afterMarkers(line);
    if (marked) this.#inList = true;
    else if (this.#paragraph === undefined && !this.#lazy && line.indent === 0) this.#inList = false;
    if (this.#scan.text[at] === ">" && (this.#inList || line.indent < 4)) {
      this.#quote(line, at);
      return;
    }
    const fence = this.#fenceAt(at, line.end);
    const html = this.#htmlAt(at);
    const alone = fence !== undefined || html !== undefined || this.#isHeading(at, line.end) || this.#isRule(at, line.end);
    if (this.#lazy && !marked && !alone) {
      this.#mark(line, HIDDEN);
      return;
    }
    this.#lazy = false;
    if (line.indent >= 4 && this.#paragraph === undefined && !this.#inList) {
      this.#mark(line, CODE);
      return;
    }
    if (marked || alone) this.#endParagraph(line.start);
    if (fence !== undefined) {
      this.#fence = { ...fence, column: this.#inList ? column : 0 };
      this.#mark(line, CODE);
      return;
    }
    if (html !== undefined) {
      if (!this.#scan.contains(html, at, line.end)) this.#html = html;
      this.#mark(line, HIDDEN);
      return;
    }
    this.#paragraph ??= line.start;
    if (alone) this.#endParagraph(line.end);
  }

  /** Lines of a block that only its end ends. */
  #insideBlock(line: Line): boolean {
    if (this.#fence !== undefined) {
      const { sign, length, column } = this.#fence;
      // Words left of the list's item end the item, and the fence with it.
      if (line.first < line.end && line.indent < Math.min(column, 2)) this.#fence = undefined;
      else {
        const run = this.#scan.run(line.first, sign, line.end);
        if (run >= length && this.#scan.isBlank(line.first + run, line.end)) this.#fence = undefined;
        this.#mark(line, CODE);
        return true;
      }
    }
    if (this.#html !== undefined) {
      if (this.#scan.contains(this.#html, line.start, line.end)) this.#html = undefined;
      this.#mark(line, HIDDEN);
      return true;
    }
    if (!this.#inFencedQuote) return false;
    if (this.#isQuoteFence(line)) this.#inFencedQuote = false;
    this.#mark(line, HIDDEN);
    return true;
  }

  /** Past the marks of list items, of which one line may have several. */
  #afterMarkers({ first, indent, end }: Line): { at: number; column: number; marked: boolean } {
    let [at, column, marked] = [first, indent, false];
    if (indent >= 4 && !this.#inList) return { at, column, marked };
    for (;;) {
      const width = this.#markerAt(at, end);
      if (width === 0) return { at, column, marked };
      marked = true;
      column += width;
      at += width;
      for (; at < end && (this.#scan.text[at] === " " || this.#scan.text[at] === "\t"); at += 1, this.#scan.steps += 1) column += 1;
    }
  }

  #markerAt(at: number, end: number): number {
    if (this.#isRule(at, end)) return 0;
    let next = at;
    while (next < end && next - at < 9 && isDigit(this.#scan.text[next])) next += 1;
    const sign = this.#scan.text[next];
    if (next === at ? sign !== "-" && sign !== "+" && sign !== "*" : sign !== "." && sign !== ")") return 0;
    this.#scan.steps += next - at + 1;
    const after = next + 1;
    return after >= end || this.#scan.text[after] === " " || this.#scan.text[after] === "\t" ? after - at : 0;
  }

  #quote(line: Line, from: number): void {
    this.#endParagraph(line.start);
    this.#mark(line, HIDDEN);
    let at = from;
    for (; at < line.end && (this.#scan.text[at] === ">" || this.#scan.text[at] === " " || this.#scan.text[at] === "\t"); at += 1) this.#scan.steps += 1;
    this.#lazy = at < line.end && !this.#isHeading(at, line.end) && this.#fenceAt(at, line.end) === undefined;
  }

  #fenceAt(at: number, end: number): { sign: string; length: number } | undefined {
    const sign = this.#scan.text[at];
    if (sign !== "`" && sign !== "~") return undefined;
    const length = this.#scan.run(at, sign, end);
    if (length < 3 || (sign === "`" && this.#scan.contains("`", at + length, end))) return undefined;
    return { sign, length };
  }

  /** Returns the end tag of an HTML block that begins here. */
  #htmlAt(at: number): string | undefined {
    if (this.#scan.text[at] !== "<") return undefined;
    if (this.#scan.text.startsWith("<!--", at)) return "-->";
    const tag = this.#scan.tagAt(at, HIDDEN_TAGS);
    return tag === undefined ? undefined : `</${tag}`;
  }

  #isHeading(at: number, end: number): boolean {
    const signs = this.#scan.text[at] === "#" ? this.#scan.run(at, "#", end) : 0;
    return signs > 0 && signs <= 6 && (at + signs === end || isSpace(this.#scan.text[at + signs]));
  }

  #isRule(at: number, end: number): boolean {
    const sign = this.#scan.text[at];
    if (sign !== "-" && sign !== "*" && sign !== "_" && sign !== "=") return false;
    let signs = 0;
    for (let next = at; next < end; next += 1) {
      this.#scan.steps += 1;
      if (this.#scan.text[next] === sign) signs += 1;
      else if (!isSpace(this.#scan.text[next])) return false;
    }
    return signs >= 3;
  }

  #isQuoteFence({ start, end }: Line): boolean {
    return this.#scan.text.startsWith(">>>", start) && this.#scan.isBlank(start + 3, end);
  }

  #endParagraph(end: number): void {
    const start = this.#paragraph;
    this.#paragraph = undefined;
    if (start !== undefined) readInline(this.#scan, start, end);
  }

  #mark({ start, end }: Line, kind: number): void {
    this.#scan.mark(start, end, kind);
  }
}
