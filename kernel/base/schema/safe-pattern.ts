import { createRequire } from "node:module";
import type * as Re2 from "re2js";

/** A regular expression whose matching takes time linear in the text. */
export interface Pattern {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

/** Loaded with the first pattern: few configurations have one. */
const engine = (): typeof Re2.RE2JS => (createRequire(import.meta.url)("re2js") as typeof Re2).RE2JS;

const compiled = new Map<string, Pattern>();
/** Of more, the oldest is compiled again. */
const KEPT = 100;

/**
 * Compiles a regular expression from the configuration, in the syntax of RE2: as JavaScript's, without lookaround and back-references, which can make
 * a matcher run for hours. Throws the engine's error for an invalid pattern.
 */
export function compilePattern(pattern: string): Pattern {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const RE2JS = engine();
  // The translation would take it for plain text.
  if (NAMED_REFERENCE.test(withoutPairs(pattern))) throw new Error("invalid escape sequence: `\\k`");
  const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
  // Not `matcher(text).find()`, which looks for the place as well and takes up to a hundred times as long.
  const made: Pattern = { test: (text) => expression.test(text) };
  const [oldest] = compiled.keys();
  if (oldest !== undefined && compiled.size >= KEPT) compiled.delete(oldest);
  compiled.set(pattern, made);
  return made;
}

/** Why a regular expression from the configuration cannot be used; undefined when it can. */
export function patternTrouble(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, "");
    return UNSUPPORTED.test(withoutPairs(pattern)) ? `${reason}; lookaround and back-references are not taken, since matching them can take hours` : reason;
  }
}

const NAMED_REFERENCE = /\\k</;
const UNSUPPORTED = /\(\?<?[=!]|\\[1-9]|\\k</;
/** Removes escaped backslashes: a remaining one escapes the next character. */
const withoutPairs = (pattern: string): string => pattern.replaceAll("\\\\", "");
