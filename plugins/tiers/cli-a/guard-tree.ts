import { shellQuoted } from "@svc/sdk/engine";

/*
 * A small part of the shell's language, read into a tree. What is judged is the tree, and what runs is the tree printed anew, each word
 * in single quotes: the words that the model wrote never reach a shell. So a misreading here cannot become a command that was not judged.
 *
 *   script    pipelines joined by  &&  ||  ;  newline
 *   pipeline  commands joined by  |
 *   command   plain words, '..', ".." without $ and `, escapes, globs; 2>&1, >/dev/null, 2>/dev/null, < file; comments
 *
 * Nothing else is read: no variables, substitutions, groups, here-documents, brace lists, assignments, background, continued lines.
 */

/** A word as the command gets it. */
export interface Word {
  readonly text: string;
  /** Set where unquoted `*`, `?` or `[` are in it: what a file name must match, for the word's part behind its last slash. */
  readonly glob?: RegExp;
}

/** One program of a command line, with its words and redirections. */
export interface Command {
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}

/** A redirection that may be in a command: silenced, joined, or read from a file. */
export type Redirect = { readonly kind: "quiet"; readonly from: "1" | "2" } | { readonly kind: "join" } | { readonly kind: "read"; readonly file: Word };

/** Commands whose output goes from one to the next. */
export interface Pipeline {
  readonly commands: readonly Command[];
  /** Joint before it; the first one has `;`. */
  readonly joint: ";" | "&&" | "||";
}

/** Told to the model: which part of the text is not read. */
export class Unreadable extends Error {}

/** Characters. Longer commands are scripts. */
const LONGEST = 8000;

/** Reads a text. Throws `Unreadable`. */
export function readShell(text: string): readonly Pipeline[] {
  if (text.length > LONGEST) throw new Unreadable(`it is longer than ${LONGEST} characters`);
  if (/[\u0000-\u0008\u000b-\u001f\u007f\u0085\u2028\u2029]/.test(text)) throw new Unreadable("it holds control characters");
  if (!text.isWellFormed()) throw new Unreadable("it holds half a character");
  return new Reader(text).script();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  script(): readonly Pipeline[] {
    const pipelines: Pipeline[] = [];
    let joint: Pipeline["joint"] = ";";
    for (;;) {
      this.#skip(true);
      if (this.#at >= this.#text.length) {
        if (joint !== ";") throw new Unreadable("it ends where a command is expected");
        return pipelines;
      }
      pipelines.push({ commands: this.#pipeline(), joint });
      this.#skip(false);
      joint = this.#joint();
    }
  }

  #joint(): Pipeline["joint"] {
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest === "&&" || rest === "||") {
      this.#at += 2;
      return rest;
    }
    if (rest === ";;") throw new Unreadable("';;' is not read");
    if (rest.startsWith(";") || rest.startsWith("\n")) this.#at += 1;
    else if (rest !== "") throw new Unreadable(`'${rest[0]}' is not read here`);
    return ";";
  }

  #pipeline(): Command[] {
    const commands = [this.#command()];
    while (this.#text[this.#at] === "|" && this.#text[this.#at + 1] !== "|") {
      this.#at += 1;
      this.#skip(true);
      commands.push(this.#command());
    }
    return commands;
  }

  #command(): Command {
    const words: Word[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      this.#skip(false);
      const redirect = this.#redirect();
      if (redirect !== undefined) redirects.push(redirect);
      else if (this.#at >= this.#text.length || /[;&|\n]/.test(this.#text[this.#at] as string)) break;
      else words.push(this.#word());
    }
    if (words.length === 0) throw new Unreadable("a command is missing");
    return { words, redirects };
  }

  /** Blanks and comments; newlines too where they mean nothing. */
  #skip(newlines: boolean): void {
    for (;;) {
      const sign = this.#text[this.#at];
      if (sign === " " || sign === "\t" || (newlines && sign === "\n")) this.#at += 1;
      else if (sign === "#") while (this.#at < this.#text.length && this.#text[this.#at] !== "\n") this.#at += 1;
      else return;
    }
  }

  #redirect(): Redirect | undefined {
    const rest = this.#text.slice(this.#at, this.#at + 40);
    const join = /^2>&1(?=[\s;|&]|$)/.exec(rest);
    const quiet = /^([12]?)>>?[ \t]*\/dev\/null(?=[\s;|&]|$)/.exec(rest);
    const read = /^0?<(?![<>&(])[ \t]*/.exec(rest);
    const found = join ?? quiet ?? read;
    if (found === null) {
      if (/^\d*[<>]/.test(rest)) throw new Unreadable("of redirections only '2>&1', '>/dev/null', '2>/dev/null' and '< file' are read");
      return undefined;
    }
    this.#at += found[0].length;
    if (join !== null) return { kind: "join" };
    if (quiet !== null) return { kind: "quiet", from: quiet[1] === "2" ? "2" : "1" };
    if (this.#at >= this.#text.length || /[\s;|&<>#]/.test(this.#text[this.#at] as string)) throw new Unreadable("a file is missing behind '<'");
    return { kind: "read", file: this.#word() };
  }

  #word(): Word {
    // Each character with whether it was quoted: a glob is made of those that were not.
    const signs: { readonly sign: string; readonly plain: boolean }[] = [];
    const begin = this.#at;
    const push = (text: string, plain: boolean) => {
      for (const sign of text) signs.push({ sign, plain });
    };
    for (; this.#at < this.#text.length; ) {
      const sign = this.#text[this.#at] as string;
      if (/[ \t\n;|&]/.test(sign)) break;
      if (sign === "'") push(this.#single(), false);
      else if (sign === '"') push(this.#double(), false);
      else if (sign === "\\") push(this.#escaped(), false);
      else {
        this.#refuse(sign, begin);
        push(sign, true);
        this.#at += 1;
      }
    }
    const text = signs.map(({ sign }) => sign).join("");
    const glob = globOf(signs);
    return glob === undefined ? { text } : { text, glob };
  }

  /** An unquoted character that the shell would make something of. */
  #refuse(sign: string, begin: number): void {
    if (sign === "$" || sign === "`") throw new Unreadable("variables and substitutions are not read");
    if (sign === "(" || sign === ")") throw new Unreadable("groups and functions are not read");
    if (sign === "<" || sign === ">") throw new Unreadable("of redirections only '2>&1', '>/dev/null', '2>/dev/null' and '< file' are read");
    if ((sign === "{" || sign === "}") && !/^\{\}(?=[\s;|&]|$)/.test(this.#text.slice(begin))) throw new Unreadable("brace lists and groups are not read");
    if (sign === "~" && this.#at === begin) throw new Unreadable("'~' is not read; write the path");
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end === -1) throw new Unreadable("a quote is not closed");
    const text = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return text;
  }

  #double(): string {
    let text = "";
    for (this.#at += 1; ; this.#at += 1) {
      const sign = this.#text[this.#at];
      const next = this.#text[this.#at + 1];
      if (sign === undefined) throw new Unreadable("a quote is not closed");
      if (sign === '"') break;
      if (sign === "$" || sign === "`") throw new Unreadable("variables and substitutions are not read");
      if (sign === "\\" && next === "\n") throw new Unreadable("continued lines are not read");
      if (sign === "\\" && next !== undefined && '$`"\\'.includes(next)) {
        text += next;
        this.#at += 1;
      } else text += sign;
    }
    this.#at += 1;
    return text;
  }

  #escaped(): string {
    const sign = [...this.#text.slice(this.#at + 1, this.#at + 3)][0];
    if (sign === undefined || sign === "\n") throw new Unreadable("continued lines are not read");
    this.#at += 1 + sign.length;
    return sign;
  }
}

/** Returns the pattern of names that match the last part of the word; undefined if it contains no glob. */
function globOf(signs: readonly { readonly sign: string; readonly plain: boolean }[]): RegExp | undefined {
  const first = signs.findIndex(({ sign, plain }) => plain && /[*?[]/.test(sign));
  // An option is never taken for a pattern of names.
  if (first === -1 || signs[0]?.sign === "-") return undefined;
  const slash = signs.findLastIndex(({ sign }) => sign === "/");
  if (slash > first) throw new Unreadable("'*', '?' and '[' are read in the last part of a path only");
  let source = "";
  for (let at = slash + 1; at < signs.length; at++) {
    const { sign, plain } = signs[at] as { sign: string; plain: boolean };
    if (!plain) source += escaped(sign);
    else if (sign === "*") source += ".*";
    else if (sign === "?") source += ".";
    else if (sign === "[") {
      const end = signs.findIndex((each, place) => place > at + 1 && each.plain && each.sign === "]");
      const inner = end === -1 ? [] : signs.slice(at + 1, end);
      const negated = inner[0]?.plain && /[!^]/.test(inner[0].sign);
      const body = inner.slice(negated ? 1 : 0);
      if (body.length === 0 || body.some((each) => !/[\w.-]/.test(each.sign))) throw new Unreadable("of '[..]' only letters, digits and ranges are read");
      const set = body.map(({ sign: each }) => each).join("");
      if (!/^(\w-\w|[\w.])+$/.test(set)) throw new Unreadable("of '[..]' only letters, digits and ranges are read");
      source += `[${negated ? "^" : ""}${set}]`;
      at = end;
    } else source += escaped(sign);
  }
  const hidden = signs[slash + 1]?.sign === "." ? "" : "(?!\\.)";
  try {
    return new RegExp(`^${hidden}${source}$`, "su");
  } catch {
    throw new Unreadable("of '[..]' only letters, digits and ranges are read");
  }
}

const escaped = (sign: string): string => sign.replace(/[\\^$.*+?()[\]{}|/-]/, (each) => (each === "-" ? "\\x2d" : `\\${each}`));

/** A command that has been judged, as it is to run: the words are final. */
export interface Judged {
  readonly words: readonly string[];
  readonly redirects: readonly (
    | { readonly kind: "quiet"; readonly from: "1" | "2" }
    | { readonly kind: "join" }
    | { readonly kind: "read"; readonly file: string }
  )[];
  /** Words of ours, as they are, that run where it succeeded. */
  readonly then?: string;
}

/** The tree as a text for bash. `cd` is the one word that stands for the shell's own; where it fails nothing further runs. */
export function printShell(pipelines: readonly { readonly commands: readonly Judged[]; readonly joint: Pipeline["joint"] }[]): string {
  const printed = pipelines.map(({ commands, joint }, at) => {
    const line = commands.map(printCommand).join(" | ");
    return at === 0 ? line : `${joint === ";" ? "\n" : ` ${joint} `}${line}`;
  });
  return printed.join("");
}

function printCommand({ words, redirects, then }: Judged): string {
  const line = shellQuoted(words);
  const behind = redirects.map((redirect) =>
    redirect.kind === "join" ? " 2>&1" : redirect.kind === "quiet" ? ` ${redirect.from}>/dev/null` : ` <${shellQuoted([redirect.file])}`,
  );
  const whole = line + behind.join("");
  if (words[0] === "cd") return `{ builtin ${whole} || exit 1; }`;
  return then === undefined ? whole : `{ ${whole} && ${then}; }`;
}
