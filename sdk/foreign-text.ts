/** Characters that a reader does not see and a model does: controls, directions of writing, joiners, tags. */
const UNSEEN =
  /[\u0000-\u0008\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\uFE00-\uFE0F]|\uDB40[\uDC00-\uDFFF]/g;
const BREAKS = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/** Signs that may begin a role marker of a model, or a tag of a program around it, and the words that then follow. Each run of signs is read once. */
const MARKS = /<[\s</|]*(sys|assistant|user|human|developer|tool|function|instruction|important|im_|begin_of|end_of|start_of|eot|s>)?/gi;
const INST = /\[(?=\/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL))/gi;
const LONGEST_LINE = 2_000;

/**
 * Quotes foreign text as data: each line gets the prefix `| `, so that none of them can begin a heading, a role or a tag, and none can end the
 * quotation; invisible characters are removed, role markers of models broken.
 */
export function quoted(text: string, limit: number): string {
  const clean = text.replace(BREAKS, "\n").replace(UNSEEN, "").replace(MARKS, broken).replace(INST, "[ ");
  const lines = clean.slice(0, limit).split("\n");
  const more = clean.length > limit ? ["| (cut here)"] : [];
  return [...lines.map((line) => `| ${line.trimEnd().slice(0, LONGEST_LINE)}`.trimEnd()), ...more].join("\n");
}

const broken = (signs: string, word: string | undefined): string => (word === undefined && !signs.includes("|") ? signs : signs.replaceAll("<", "‹"));

/** Sanitises a foreign name for a line of our own: letters, digits and joining characters. */
export const plainName = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N} ._-]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 64) || "unnamed";

/** Stop words of a question. */
const EMPTY: ReadonlySet<string> = new Set(
  (
    "a about after again all also am an and any are as at be because been but by can could did do does done for from get give had has have he her here him his how i if in " +
    "into is it its just let like make me more my need no not now of on one or our out over please she should so some than that the their them then there these they this to too " +
    "up us use want was we were what when where which who why will with would you your"
  ).split(" "),
);
const MOST = 400;

/** Returns the words of a text for comparison: lower case, without accents, plurals as singulars. Each once. */
export function termsOf(text: string): ReadonlySet<string> {
  const words = text
    .slice(0, 20_000)
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  const terms = new Set<string>();
  for (const word of words ?? []) {
    if (word.length < 2 || EMPTY.has(word)) continue;
    terms.add(word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word);
    if (terms.size >= MOST) break;
  }
  return terms;
}

const MOST_BRACKETS = 100;
const MOST_SIGNS = 50;
const DEEPEST_INDENT = 200;
const MOST_ENTRIES = 4_000;

/**
 * Returns why a foreign text must not be passed to a YAML parser; undefined where it may be. Parsers recurse for each level of nesting, and where the
 * stack ends while V8 compiles a regular expression V8 ends the process; they also compare each key with each. Quotes are not parsed: a text with as
 * many open brackets inside them is refused, too.
 */
export function yamlTrouble(text: string): string | undefined {
  let brackets = 0;
  let entries = 0;
  for (const line of text.split(/\r\n?|\n/)) {
    const indent = line.length - line.trimStart().length;
    // In blocks a line opens a level for each of its signs.
    const signs = line.match(/(?:^|\s)[-?:](?=\s|$)/g)?.length ?? 0;
    for (const sign of line) {
      if (sign === "[" || sign === "{") brackets += 1;
      else if ((sign === "]" || sign === "}") && brackets > 0) brackets -= 1;
      if (brackets > MOST_BRACKETS) break;
    }
    entries += line.match(/,|:(?=\s|$)/g)?.length ?? 0;
    if (brackets > MOST_BRACKETS || signs > MOST_SIGNS || indent > DEEPEST_INDENT) return "it is nested too deep";
    if (entries > MOST_ENTRIES) return `it has more than ${MOST_ENTRIES} entries`;
  }
  return undefined;
}
