/** Class of a position of a text: the author's words, foreign ones (a quote, a link, HTML), or code. */
export const PLAIN = 0;
/** A quote, the words of a link, an address, HTML that is not shown. */
export const HIDDEN = 1;
/** A block or a span of code. */
export const CODE = 2;

/** A text that is read from its start to its end, with what stands where and a count of the looks at its units. */
export class TextScan {
  readonly text: string;
  readonly places: Uint8Array;
  steps = 0;
  /** Where the next sign of a kind is, from a place on that only grows: each unit is looked at once a kind. */
  readonly #ahead = new Map<string, number>();

  constructor(text: string) {
    this.text = text;
    this.places = new Uint8Array(text.length);
  }

  /** Notes what stands from `from` up to `to`. */
  mark(from: number, to: number, kind: number): void {
    this.places.fill(kind, from, to);
    this.steps += to - from;
  }

  /** Where `sign` stands next at or after `from`, -1 for nowhere; `from` only grows from call to call. */
  next(sign: string, from: number): number {
    const known = this.#ahead.get(sign);
    if (known === -1 || (known !== undefined && known >= from)) return known;
    const found = this.text.indexOf(sign, from);
    this.steps += (found === -1 ? this.text.length : found) - from;
    this.#ahead.set(sign, found);
    return found;
  }

  /** Whether the sign, in lower case, stands there. */
  contains(sign: string, from: number, to: number): boolean {
    this.steps += to - from;
    return this.text.slice(from, to).toLowerCase().includes(sign);
  }

  /** Returns the length of the run of that character. */
  run(at: number, sign: string, end: number): number {
    let next = at;
    while (next < end && this.text[next] === sign) next += 1;
    this.steps += next - at;
    return next - at;
  }

  /** Whether there is nothing but space. */
  isBlank(from: number, to: number): boolean {
    let at = from;
    while (at < to && isSpace(this.text[at])) at += 1;
    this.steps += at - from;
    return at >= to;
  }

  /** The one of these tags that opens at `at`. */
  tagAt<T extends string>(at: number, tags: readonly T[]): T | undefined {
    return tags.find((tag) => {
      const next = this.text[at + 1 + tag.length];
      return this.text.slice(at + 1, at + 1 + tag.length).toLowerCase() === tag && (next === undefined || next === ">" || isSpace(next));
    });
  }
}

/** A digit of ASCII. */
export const isDigit = (sign: string | undefined): boolean => sign !== undefined && sign >= "0" && sign <= "9";
/** A space, a tab or a line break. */
export const isSpace = (sign: string | undefined): boolean => sign === " " || sign === "\t" || sign === "\n" || sign === "\r";
/** A letter or digit of ASCII, or `_`. */
export const isWord = (sign: string | undefined): boolean => sign !== undefined && /^\w$/.test(sign);
