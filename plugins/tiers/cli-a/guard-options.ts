/*
 * Parses a command line as a GNU program does, by a list of the permitted options. An option that is not listed, and each abbreviation, is refused:
 * so it is known of every word whether it is an option, its value or an operand, and no value can turn out to be an option after all. For the same
 * end no value and no operand may look like an option, behind `--` neither: where a table is wrong about which options take a value, each word with a
 * dash is a listed option still.
 */

/** The options of a command, in the notation of `options`. */
export interface Options {
  readonly short: ReadonlyMap<string, boolean>;
  readonly long: ReadonlyMap<string, "none" | "needed" | "joined">;
  /** `-20` is a number of lines. */
  readonly number: boolean;
  /** Options may stand behind operands. */
  readonly mixed: boolean;
}

/** A parsed command line. */
export interface Line {
  readonly options: readonly { readonly name: string; readonly value?: string }[];
  readonly operands: readonly string[];
  /** All values and operands: what may be the name of a file. */
  readonly named: readonly string[];
}

/** A command that is refused; the message says why, for the model. */
export class Refused extends Error {}

/**
 * Options written down shortly: letters of short ones, with `:` behind one that takes a value; then long ones, with `=` behind one that
 * takes a value in either form and `?` behind one that takes it only with `=`. `#` stands for a number such as `-20`.
 */
export function options(notation: string, mixed = true): Options {
  const [letters = "", ...names] = notation.split(" ");
  const short = new Map<string, boolean>();
  for (const [, letter = "", value] of letters.matchAll(/([A-Za-z0-9@,.])(:?)/g)) short.set(letter, value === ":");
  const long = new Map<string, "none" | "needed" | "joined">();
  for (const name of names) long.set(name.replace(/[=?]$/, ""), name.endsWith("=") ? "needed" : name.endsWith("?") ? "joined" : "none");
  return { short, long, number: letters.includes("#"), mixed };
}

/** Reads the words behind a command's name. Throws `Refused` naming the word. */
export function readLine({ short, long, number, mixed }: Options, words: readonly string[]): Line {
  const found: { name: string; value?: string }[] = [];
  const operands: string[] = [];
  let at = 0;
  const value = (option: string): string => {
    const next = words[++at];
    if (next === undefined) throw new Refused(`${option} lacks its value`);
    if (/^-[^\d]/.test(next)) throw new Refused(`${next.slice(0, 60)} as the value of ${option} looks like an option`);
    return next;
  };
  for (; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--") {
      const rest = words.slice(at + 1);
      const disguised = rest.find((each) => /^-./.test(each));
      if (disguised !== undefined) throw new Refused(`${disguised.slice(0, 60)} looks like an option; write ./ before a file's name`);
      operands.push(...rest);
      break;
    }
    if (word === "-" || !word.startsWith("-")) {
      if (!mixed) {
        operands.push(...words.slice(at));
        break;
      }
      operands.push(word);
    } else if (word.startsWith("--")) found.push(readLong(word));
    else if (number && /^-\d+$/.test(word)) found.push({ name: "#", value: word.slice(1) });
    else readCluster(word);
  }
  return { options: found, operands, named: [...found.flatMap(({ value: given }) => (given === undefined ? [] : [given])), ...operands] };

  function readLong(word: string): { name: string; value?: string } {
    const cut = word.indexOf("=");
    const name = word.slice(2, cut === -1 ? undefined : cut);
    const kind = long.get(name);
    if (kind === undefined || (kind === "none" && cut !== -1)) throw new Refused(`the option ${word.slice(0, 60)} is not known to only read`);
    if (cut !== -1) return { name: `--${name}`, value: word.slice(cut + 1) };
    return kind === "needed" ? { name: `--${name}`, value: value(word) } : { name: `--${name}` };
  }

  function readCluster(word: string): void {
    for (let place = 1; place < word.length; place++) {
      const letter = word[place] as string;
      const takes = short.get(letter);
      if (takes === undefined) throw new Refused(`the option -${letter} is not known to only read`);
      if (!takes) {
        found.push({ name: `-${letter}` });
        continue;
      }
      const rest = word.slice(place + 1);
      found.push({ name: `-${letter}`, value: rest === "" ? value(`-${letter}`) : rest });
      return;
    }
  }
}
