import { type SvcError, svcError } from "@svc/sdk";

const NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const MORE_NUMBERS: Readonly<Record<string, string>> = { fifteen: "15", twenty: "20", thirty: "30" };

/** Words that mean nothing by themselves. */
const FILLERS = /\b(?:every|each|on|at|the|of|and|in|a|an|run|please|sharp|o'clock|hrs|month|months|year|time)\b/g;

const REPEATING =
  /\b(?:every|each|hourly|daily|weekly|monthly|quarterly|yearly|annually|weekdays?|weekends?|(?:of|in) (?:the|a) month|(?:mon|tues|wednes|thurs|fri|satur|sun|working |business )days)\b/i;

/** Does a phrase say by a word that it comes again and again? */
export const repeats = (phrase: string): boolean => REPEATING.test(phrase);

/** A phrase from which one meaning after the other is taken, until nothing is left. */
export class Spoken {
  readonly #phrase: string;
  readonly #meanings: string[] = [];
  #rest: string;

  constructor(phrase: string) {
    this.#phrase = phrase.trim();
    const plain = this.#phrase
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .replace(/[.!]+$/, "")
      .replace(/\s*(?:,|&|\+ )\s*/g, " and ")
      .replace(/\band(?: and)+\b/g, "and")
      .replace(/[–—]/g, "-");
    this.#rest = plain
      .replace(/\s+/g, " ")
      .replace(/\b[a-z]+\b(?!\/)/g, (word) => (NUMBERS.includes(word) ? String(NUMBERS.indexOf(word)) : (MORE_NUMBERS[word] ?? word)));
  }

  /** Whether a word of the phrase says that it repeats. */
  get repeats(): boolean {
    return repeats(this.#phrase);
  }

  /** Takes what matches out of the phrase. Answers its named groups, `undefined` where nothing matches. */
  take(pattern: RegExp): Readonly<Record<string, string | undefined>> | undefined {
    const found = pattern.exec(this.#rest);
    if (found === null) return undefined;
    // The separator keeps the words on both sides from being read together.
    this.#rest = `${this.#rest.slice(0, found.index)} | ${this.#rest.slice(found.index + found[0].length)}`.replace(/\s+/g, " ");
    return { ...found.groups };
  }

  /** As `take`, and leaves it where it is. */
  find(pattern: RegExp): RegExpExecArray | null {
    return pattern.exec(this.#rest);
  }

  /** Notes a meaning, for `unclear`. */
  understood(words: string): void {
    this.#meanings.push(words);
  }

  /** Returns the words that are not understood yet. */
  left(): string {
    return this.#rest.replace(FILLERS, " ").replace(/\|/g, " ").replace(/\s+/g, " ").trim();
  }

  /** The refusal of the phrase, with what was understood of it. */
  unclear(reason: string): SvcError {
    const known = this.#meanings.length === 0 ? "" : ` Understood: ${this.#meanings.join(", ")}.`;
    const end = /[?.]$/.test(reason) ? "" : ".";
    return svcError("SVC_SCHEDULE_UNCLEAR", `'${this.#phrase}' was not taken: ${reason}${end}${known}`, { status: 400, left: this.left() });
  }
}
