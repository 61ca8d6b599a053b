import type { Render } from "@svc/sdk";

/** Unit of a platform's length limit. */
export type Unit = Parameters<Render["split"]>[2];

/** A part of the original text, and the fence lines added around it. */
export interface Piece {
  readonly open: string;
  readonly text: string;
  readonly close: string;
}

interface Fence {
  readonly indent: string;
  readonly mark: string;
  readonly language: string;
}

/** A place to cut, and the fence that is open there. */
interface Cut {
  readonly at: number;
  readonly fence: Fence | undefined;
}

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]*)([^\n]*)$/;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** The longest grapheme that is looked for, in UTF-16 units. */
const GRAPHEME_REACH = 64;

/** Number of characters after a cut that are checked for a fence. */
const SIGHT = 128;

/** The length of a text as a platform counts it. */
export function sizeOf(text: string, unit: Unit): number {
  if (unit === "utf16") return text.length;
  if (unit === "utf8") return Buffer.byteLength(text);
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * Cuts markdown into pieces of at most `limit`, where a reader would: between paragraphs, else lines, else words, else characters
 * as people see them. A code block that goes on in the next piece is closed and opened again with its language. The `text`s
 * together are the original; a limit below the size of one character yields single characters.
 */
export function* cutPieces(markdown: string, limit: number, unit: Unit): Generator<Piece> {
  let fence: Fence | undefined;
  for (let at = 0; at < markdown.length; ) {
    const open = opening(fence, limit, unit);
    let budget = limit - sizeOf(open, unit);
    for (;;) {
      const end = reach(markdown, at, budget, unit);
      const cut = end === markdown.length ? { at: end, fence: undefined } : choose(markdown, at, end, fence);
      const text = markdown.slice(at, cut.at);
      const close = closing(cut.fence, text, limit, unit);
      const over = sizeOf(open + text + close, unit) - limit;
      if (over > 0 && budget > 1) {
        budget = Math.max(1, budget - over);
        continue;
      }
      yield { open, text, close };
      at = cut.at;
      fence = cut.fence;
      break;
    }
  }
}

/** The farthest index from which nothing is cut in half, with at most `budget` before it; at least one character. */
function reach(text: string, from: number, budget: number, unit: Unit): number {
  if (unit === "utf16" && from + budget >= text.length) return text.length;
  let room = budget;
  let at = from;
  while (at < text.length) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    room -= sizeOf(character, unit);
    if (room < 0 && at > from) break;
    at += character.length;
  }
  return at;
}

function choose(text: string, from: number, end: number, fenceBefore: Fence | undefined): Cut {
  const half = from + (end - from) / 2;
  let fence = fenceBefore;
  let paragraph: Cut | undefined;
  let line: Cut | undefined;
  let afterOpening = false;
  let afterBlank = false;
  let start = from;
  for (;;) {
    const ahead = text.slice(start, Math.max(end, start + SIGHT));
    const newline = ahead.indexOf("\n");
    const content = newline < 0 ? ahead : ahead.slice(0, newline);
    const next = newline < 0 ? text.length : start + newline + 1;
    const whole = start === 0 || text[start - 1] === "\n";
    const after = whole ? fenceAfter(fence, content) : fence;
    const opens = fence === undefined && after !== undefined;
    const closes = fence !== undefined && after === undefined;
    // An opened block without a line, and one with nothing left but its end, would be empty blocks.
    if (start > from && !afterOpening && !closes) {
      if (fence === undefined && (afterBlank || opens)) paragraph = { at: start, fence };
      else line = { at: start, fence };
    }
    if (next > end) break;
    afterOpening = opens;
    afterBlank = content.trim() === "";
    fence = after;
    start = next;
  }
  // The rest of the window is part of one line.
  const word = wordEnd(text, start, end);
  const inLine = (at: number): Cut => ({ at, fence });
  if (paragraph !== undefined && paragraph.at > half) return paragraph;
  if (line !== undefined && line.at > half) return line;
  if (word !== undefined && word > half && fence === undefined) return inLine(word);
  if (line !== undefined || paragraph !== undefined) return (line?.at ?? 0) > (paragraph?.at ?? 0) ? (line as Cut) : (paragraph as Cut);
  return inLine(word ?? graphemeEnd(text, from, end));
}

function fenceAfter(fence: Fence | undefined, line: string): Fence | undefined {
  const found = FENCE.exec(line);
  if (found === null) return fence;
  const [, indent = "", mark = "", language = "", rest = ""] = found;
  if (fence === undefined) return mark.startsWith("`") && rest.includes("`") ? undefined : { indent, mark, language };
  const ends = mark[0] === fence.mark[0] && mark.length >= fence.mark.length && (language + rest).trim() === "";
  return ends ? undefined : fence;
}

/** After the last blank within the line. */
function wordEnd(text: string, start: number, end: number): number | undefined {
  for (let at = end; at > start; at--) if (text[at - 1] === " " || text[at - 1] === "\t") return at;
  return undefined;
}

function graphemeEnd(text: string, from: number, end: number): number {
  const start = Math.max(from, end - GRAPHEME_REACH);
  const found = graphemes.segment(text.slice(start, end + GRAPHEME_REACH)).containing(end - start);
  return found !== undefined && found.index > 0 ? start + found.index : end;
}

/** Empty if fence lines would take half of each piece: then the block continues as plain text. */
function opening(fence: Fence | undefined, limit: number, unit: Unit): string {
  if (fence === undefined) return "";
  const { indent, mark, language } = fence;
  const lines = [`${indent}${mark}${language}\n`, `${indent}${mark}\n`];
  return lines.find((line) => sizeOf(line + line, unit) * 2 <= limit) ?? "";
}

function closing(fence: Fence | undefined, text: string, limit: number, unit: Unit): string {
  if (fence === undefined || opening(fence, limit, unit) === "") return "";
  return `${text.endsWith("\n") ? "" : "\n"}${fence.indent}${fence.mark}`;
}
