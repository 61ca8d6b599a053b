const MOST_TERMS = 32;

/**
 * Converts a person's question to an FTS5 expression: any of its words, each quoted so that none is an operator. Undefined without a word. BM25 ranks
 * pieces with more and rarer words first.
 */
export function toMatch(query: string): string | undefined {
  const words = query.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const terms = [...new Set(words.map((word) => word.toLowerCase()))].slice(0, MOST_TERMS);
  return terms.length ? terms.map((term) => `"${term}"`).join(" OR ") : undefined;
}

/** Where a piece fits, from its text with the matches between `OPEN` and `CLOSE`: the line of the first one, and the words around it. */
export function locate(marked: string, startLine: number): { line: number; snippet: string } {
  const first = Math.max(0, marked.indexOf(OPEN));
  let line = startLine;
  for (let at = marked.indexOf("\n"); at !== -1 && at < first; at = marked.indexOf("\n", at + 1)) line += 1;
  const from = Math.max(0, first - BEFORE);
  const to = Math.min(marked.length, first + AFTER);
  const words = marked.slice(from, to).replace(MARKS, "").replace(HALVES, "").replace(/\s+/g, " ").trim();
  return { line, snippet: `${from > 0 ? "…" : ""}${words}${to < marked.length ? "…" : ""}` };
}

/** Control characters that no text file needs. */
export const OPEN = "\u0002";
/** The mark behind a match in a snippet; `OPEN` stands before it. */
export const CLOSE = "\u0003";
const MARKS = new RegExp(`[${OPEN}${CLOSE}]`, "g");
/** Remaining half of a surrogate pair that the cut split. */
const HALVES = /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g;
const BEFORE = 60;
const AFTER = 200;
