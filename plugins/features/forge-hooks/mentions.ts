import type { MentionGrammar } from "@svc/sdk";
import { type NoteText, readNote } from "./note-text.ts";
import { PLAIN } from "./text-scan.ts";

/** A name behind an `@`, where people read it. */
export interface Mention {
  /** In lower case. */
  readonly name: string;
  /** Where its `@` stands, and where the name ends. */
  readonly at: number;
  readonly end: number;
}

/** The names that a note mentions, in order; code, quotes, links and HTML that is not shown are passed over. */
export function mentionsIn(text: string, grammar: MentionGrammar): readonly Mention[] {
  return mentionsOf(readNote(text, grammar), grammar).mentions;
}

/** The same of a text that was read, with the units looked at. */
export function mentionsOf(
  { text, places, steps: before }: NoteText,
  grammar: MentionGrammar,
): { readonly mentions: readonly Mention[]; readonly steps: number } {
  const is = classesOf(grammar);
  const mentions: Mention[] = [];
  let steps = before;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    steps += 1;
    if (places[at] !== PLAIN) continue;
    const before = text[at - 1];
    if (before !== undefined && (is.word(before) || is.notAfter(before))) continue;
    if (!is.first(text[at + 1])) continue;
    let end = at + 2;
    while (is.rest(text[end])) end += 1;
    steps += end - at;
    while (end > at + 1 && !is.last(text[end - 1])) end -= 1;
    if (end === at + 1 || is.notBefore(text[end])) continue;
    if (grammar.dotted && text[end] === "." && is.word(text[end + 1])) continue;
    const name = text.slice(at + 1, end).toLowerCase();
    if (!grammar.suffixes.some((suffix) => name.endsWith(suffix))) mentions.push({ name, at, end });
  }
  return { mentions, steps };
}

type Test = (sign: string | undefined) => boolean;
type Classes = Readonly<Record<"first" | "rest" | "last" | "notBefore" | "notAfter" | "word", Test>>;

const made = new WeakMap<MentionGrammar, Classes>();

function classesOf(grammar: MentionGrammar): Classes {
  const known = made.get(grammar);
  if (known !== undefined) return known;
  const { first, rest, last, notBefore, notAfter } = grammar;
  const classes: Classes = {
    first: classOf(first),
    rest: classOf(rest),
    last: classOf(last),
    notBefore: classOf(notBefore),
    notAfter: classOf(notAfter),
    word: classOf("A-Za-z0-9_"),
  };
  made.set(grammar, classes);
  return classes;
}

function classOf(inside: string): Test {
  if (inside === "") return () => false;
  const pattern = new RegExp(`^[${inside}]$`);
  const table = Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code)));
  return (sign) => sign !== undefined && table[sign.charCodeAt(0)] === true;
}
