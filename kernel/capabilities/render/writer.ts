import type { Markup } from "@svc/sdk";

/** Writes markdown elements in one platform's markup. Inner texts are already rendered; `words` and `code` receive raw text. */
export interface Writer {
  words(words: string): string;
  bold(inner: string): string;
  italic(inner: string): string;
  strike(inner: string): string;
  code(words: string): string;
  /** Also for tables: no chat has markup for those, so they are a grid of words. */
  block(words: string, language: string): string;
  link(inner: string, address: string, words: string): string;
  heading(inner: string, depth: number): string;
  quote(inner: string): string;
  readonly bullet: string;
  readonly rule: string;
}

/** No markup at all. */
export const PLAIN: Markup = {};

const writers = new WeakMap<Markup, Writer>();

/** The writer of a markup, made once for each object. */
export function writerOf(markup: Markup): Writer {
  const writer = writers.get(markup) ?? makeWriter(markup);
  writers.set(markup, writer);
  return writer;
}

function makeWriter(markup: Markup): Writer {
  const { escapes = {}, headings = [], quote = "> ", bullet = "-", rule = "---", link, linkOnce = link === undefined } = markup;
  const signs = escaping(escapes.words);
  const starts = escaping(escapes.lineStart, "^");
  const [code, ticked] = [formOf(markup.code), formOf(markup.codeWithTicks ?? markup.code)];
  const [block, named] = [formOf(markup.block), formOf(markup.blockWithLanguage ?? markup.block)];
  const [inCode, inBlock] = [escaping(escapes.code), escaping(escapes.block)];
  const [inLabel, inAddress] = [escaping(escapes.label), escaping(escapes.address)];
  const linked = formOf(link ?? "{} ({address})");
  const levels = headings.map(formOf);
  const wrapped = quote.includes("{}") ? formOf(quote) : undefined;
  return {
    words: (words) => starts(signs(words)),
    bold: formOf(markup.bold),
    italic: formOf(markup.italic),
    strike: formOf(markup.strike),
    code: (words) => (words.includes("`") ? ticked : code)(inCode(words)),
    block: (words, language) => (language === "" ? block : named)(inBlock(words), language),
    link: (inner, address, words) => (linkOnce && saysNoMore(address, words) ? words : linked(inLabel(inner), inAddress(address))),
    heading: (inner, depth) => (levels[Math.min(depth, levels.length) - 1] ?? same)(inner),
    quote: wrapped ?? ((inner) => inner.replace(/^/gm, () => quote)),
    bullet,
    rule,
  };
}

/** Fills in the words and, where the form has a place for it, the address or the language. */
type Fill = (words: string, fact?: string) => string;
type Escape = (words: string) => string;

const same = (words: string): string => words;
const saysNoMore = (address: string, words: string): boolean => words === address || `mailto:${words}` === address;

function formOf(form: string | undefined): Fill {
  if (form === undefined) return same;
  const parts = form.split(/(\{(?:address|language)?\})/);
  return (words, fact = "") => parts.map((part, at) => (at % 2 === 0 ? part : part === "{}" ? words : fact)).join("");
}

function escaping(escapes: Readonly<Record<string, string>> | undefined, where = ""): Escape {
  const signs = Object.keys(escapes ?? {}).filter((sign) => sign !== "");
  if (escapes === undefined || signs.length === 0) return same;
  const longestFirst = signs.toSorted((one, other) => other.length - one.length).map((sign) => sign.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(`${where}(?:${longestFirst.join("|")})`, "gm");
  return (words) => words.replace(pattern, (sign) => escapes[sign] as string);
}
