import { CODE, HIDDEN, isSpace, isWord, PLAIN, type TextScan } from "./text-scan.ts";

const TAGS = ["code", "pre", "a", "kbd", "samp", "script", "style"] as const;

/** Where runs of backticks of a length stand, in order, and how many of them are behind. */
type TickRuns = Map<number, { readonly at: number[]; next: number }>;

/** Code spans, links, addresses and inline HTML of one paragraph. */
export function readInline(scan: TextScan, start: number, end: number): void {
  const ticks = tickRuns(scan, start, end);
  const open: number[] = [];
  const links: [number, number][] = [];
  for (let at = start; at < end; ) {
    scan.steps += 1;
    const sign = scan.text[at] as string;
    if (sign === "\\") {
      if (scan.text[at + 1] === "@") scan.places[at + 1] = HIDDEN;
      at += 2;
    } else if (sign === "`") at = pastSpan(scan, at, end, ticks);
    else if (sign === "<") at = pastHtml(scan, at, end);
    else if (sign === ":" && scan.text.startsWith("://", at) && isWord(scan.text[at - 1])) at = pastAddress(scan, at, end);
    else if (sign === "[") {
      open.push(at);
      at += 1;
    } else if (sign === "]") {
      const from = open.pop();
      const next = scan.text[at + 1];
      const close = from === undefined ? -1 : next === "(" ? scan.next(")", at + 2) : next === "[" ? scan.next("]", at + 2) : -1;
      if (close === -1 || close >= end || from === undefined) at += 1;
      else {
        links.push([from, close + 1]);
        at = close + 1;
      }
    } else at += 1;
  }
  hideLinks(scan, links);
}

/** Where runs of backticks of each length stand, in order. */
function tickRuns(scan: TextScan, start: number, end: number): TickRuns {
  const runs: TickRuns = new Map();
  for (let at = start; at < end; ) {
    scan.steps += 1;
    const length = scan.text[at] === "`" ? scan.run(at, "`", end) : 0;
    if (length === 0) {
      at += 1;
      continue;
    }
    const known = runs.get(length);
    if (known === undefined) runs.set(length, { at: [at], next: 0 });
    else known.at.push(at);
    at += length;
  }
  return runs;
}

/** Past the code span that begins here, or past backticks that nothing closes. */
function pastSpan(scan: TextScan, at: number, end: number, ticks: TickRuns): number {
  const length = scan.run(at, "`", end);
  const runs = ticks.get(length);
  if (runs === undefined) return at + length;
  while (runs.next < runs.at.length && (runs.at[runs.next] as number) < at + length) {
    runs.next += 1;
    scan.steps += 1;
  }
  const closing = runs.at[runs.next];
  if (closing === undefined) return at + length;
  scan.places.fill(CODE, at, closing + length);
  scan.steps += closing - at;
  return closing + length;
}

function pastHtml(scan: TextScan, at: number, end: number): number {
  const tag = scan.text.startsWith("<!--", at) ? undefined : scan.tagAt(at, TAGS);
  if (tag === undefined && !scan.text.startsWith("<!--", at)) return at + 1;
  const close = scan.next(tag === undefined ? "-->" : `</${tag}`, at + 2);
  if (close === -1 || close >= end) return at + 1;
  scan.places.fill(HIDDEN, at, close);
  scan.steps += close - at;
  return close + 2;
}

function pastAddress(scan: TextScan, at: number, end: number): number {
  let next = at;
  while (next < end && !isSpace(scan.text[next]) && scan.text[next] !== "<" && scan.text[next] !== ")") next += 1;
  scan.places.fill(HIDDEN, at, next);
  scan.steps += next - at;
  return next;
}

/** Marks the links, which may lie in each other, in one pass over what they span. */
function hideLinks(scan: TextScan, links: readonly (readonly [number, number])[]): void {
  const sorted = [...links].sort(([left], [right]) => left - right);
  let done = 0;
  for (const [from, to] of sorted) {
    for (let at = Math.max(from, done); at < to; at += 1) {
      scan.steps += 1;
      if (scan.places[at] === PLAIN) scan.places[at] = HIDDEN;
    }
    done = Math.max(done, to);
  }
}
