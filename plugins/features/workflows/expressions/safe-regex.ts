import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { underWay } from "./under-way.ts";

/** Loaded with the first regular expression: few definitions have one. */
const engine = (): typeof Re2.RE2JS => (createRequire(import.meta.url)("re2js") as typeof Re2).RE2JS;

const compiled = new Map<string, Re2.RE2JS>();
const KEPT = 200;
const MAX_PATTERN = 1_000;
/** Of a counted repetition each count is copied: `(a{1000}){1000}` would be a million of them. */
const UNSUPPORTED = /\(\?<?[=!]|\\[1-9]|\\k</;

/**
 * A pattern of JavaScript in the syntax of RE2, whose matching takes time linear in the text. Throws for lookaround and back-references,
 * which are what can keep a matcher busy for hours.
 */
export function compileRegex(source: string, flags = ""): Re2.RE2JS {
  const key = `${flags}/${source}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  if (source.length > MAX_PATTERN) throw new Error(`a regular expression has at most ${MAX_PATTERN} characters`);
  if (UNSUPPORTED.test(source.replaceAll("\\\\", ""))) throw new Error("lookaround and back-references are not taken, since matching them can take hours");
  const RE2JS = engine();
  const options = (flags.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes("m") ? RE2JS.MULTILINE : 0);
  const made = RE2JS.compile(RE2JS.translateRegExp(source), options);
  const [oldest] = compiled.keys();
  if (oldest !== undefined && compiled.size >= KEPT) compiled.delete(oldest);
  compiled.set(key, made);
  return made;
}

interface SafeMatch extends Array<string | undefined> {
  index: number;
}

/** Replacement for a RegExp in JSONata: only `exec` with `lastIndex` is used. */
export class SafeRegex {
  lastIndex = 0;
  readonly #pattern: Re2.RE2JS;
  #of: string | undefined;
  #matcher: Re2.Matcher | undefined;

  constructor({ source, flags }: RegExp) {
    this.#pattern = compileRegex(source, flags.replace("g", ""));
  }

  exec(text: string): SafeMatch | null {
    underWay().budget.alive();
    if (this.#matcher === undefined || this.#of !== text) {
      this.#matcher = this.#pattern.matcher(text);
      this.#of = text;
    }
    const matcher = this.#matcher;
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0;
      return null;
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? undefined);
    this.lastIndex = matcher.end();
    return Object.assign(groups, { index: matcher.start() });
  }
}
