/** One word of a command. Where it is not `literal`, the shell makes something of it that cannot be known beforehand. */
export interface Word {
  readonly text: string;
  /** No variable, substitution or brace list in it. */
  readonly literal: boolean;
  /** It begins with an unquoted `*`, `?` or `[`: file names come in its place, which may look like options. */
  readonly globs: boolean;
}

/** A simple command with what is read and written around it. */
export interface Command {
  readonly assignments: readonly Word[];
  readonly words: readonly Word[];
  /** Files written by `>`, `>>`, `>|`, `<>` or `&>`; not those read, and not copies of open files such as `2>&1`. */
  readonly writes: readonly Word[];
}

/** A shell text taken apart: every simple command in it, those in substitutions and groups too, in the order of their start. */
export interface Script {
  readonly commands: readonly Command[];
  /** Some words or steps depend on what commands print, on variables, loops or conditions. */
  readonly dynamic: boolean;
}

const KEYWORDS = new Set(["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "time", "{", "}"]);
const UNREAD = new Set(["case", "esac", "function", "coproc", "select"]);
const BLANK = /[ \t]/;
const OPERATOR = /[;&|()<>\n]/;

/**
 * Takes a shell text apart as bash reads it. Undefined when it cannot be read for certain: then nothing may be concluded from it.
 */
export function parseShell(text: string): Script | undefined {
  try {
    return new Parser(text).script();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

class Unreadable extends Error {}

class Parser {
  readonly #text: string;
  #at = 0;
  #dynamic = false;
  #depth = 0;
  readonly #commands: Command[] = [];
  #documents: { readonly end: string; readonly tabs: boolean; readonly plain: boolean }[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  script(): Script {
    this.#list("");
    return { commands: this.#commands, dynamic: this.#dynamic };
  }

  #peek(length = 1): string {
    return this.#text.substr(this.#at, length);
  }

  /** Commands up to `closing`, which is consumed. */
  #list(closing: "" | ")" | "`"): void {
    if (++this.#depth > 50) throw new Unreadable();
    for (;;) {
      this.#command(closing);
      const sign = this.#peek();
      if (sign === closing) {
        this.#at += closing.length;
        this.#depth--;
        if (closing === "" && this.#documents.length > 0) throw new Unreadable();
        return;
      }
      if (sign === "" || sign === ")" || sign === "`") throw new Unreadable();
      this.#at++;
      if (sign === "\n") this.#hereDocuments();
    }
  }

  #command(closing: string): void {
    const words: Word[] = [];
    const assignments: Word[] = [];
    const writes: Word[] = [];
    for (;;) {
      this.#blanks();
      const sign = this.#peek();
      if (sign === "" || (sign === "`" && closing === "`") || /[;\n)]/.test(sign)) break;
      if (sign === "#") {
        while (this.#peek() !== "" && this.#peek() !== "\n") this.#at++;
        continue;
      }
      if (/^&>|^[<>]/.test(this.#peek(2))) {
        this.#redirect(writes);
        continue;
      }
      if (sign === "&" || sign === "|") break;
      if (sign === "(") {
        // After a word it is a function or an array.
        if (words.length > 0 || assignments.length > 0) throw new Unreadable();
        this.#dynamic = true;
        this.#at++;
        this.#list(")");
        continue;
      }
      const digits = /^\d+(?=[<>])/.exec(this.#text.slice(this.#at, this.#at + 8));
      if (digits) {
        this.#at += digits[0].length;
        continue;
      }
      const begin = this.#at;
      const word = this.#word(closing);
      const raw = this.#text.slice(begin, this.#at);
      if (words.length === 0 && KEYWORDS.has(raw)) this.#dynamic = true;
      else if (words.length === 0 && UNREAD.has(raw)) throw new Unreadable();
      else if (words.length === 0 && /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/.test(raw)) assignments.push(word);
      else words.push(word);
    }
    if (words.length > 0 || assignments.length > 0 || writes.length > 0) this.#commands.push({ assignments, words, writes });
  }

  #blanks(): void {
    for (;;) {
      if (BLANK.test(this.#peek())) this.#at++;
      else if (this.#peek(2) === "\\\n") this.#at += 2;
      else return;
    }
  }

  #redirect(writes: Word[]): void {
    const operator = /^(&>>|&>|<<<|<<-|<<|<>|<&|<\(|<|>>|>&|>\||>\(|>)/.exec(this.#text.slice(this.#at, this.#at + 3))?.[0] as string;
    this.#at += operator.length;
    if (operator === "<(" || operator === ">(") {
      this.#dynamic = true;
      this.#list(")");
      return;
    }
    this.#blanks();
    const begin = this.#at;
    const target = this.#word("");
    if (this.#at === begin) throw new Unreadable();
    if (operator === "<<" || operator === "<<-") {
      this.#documents.push({ end: target.text, tabs: operator === "<<-", plain: /["'\\]/.test(this.#text.slice(begin, this.#at)) });
    } else if (operator !== "<" && operator !== "<<<" && !(/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(target.text))) writes.push(target);
  }

  #hereDocuments(): void {
    for (const { end, tabs, plain } of this.#documents.splice(0)) {
      const begin = this.#at;
      for (;;) {
        if (this.#at >= this.#text.length) throw new Unreadable();
        const stop = this.#text.indexOf("\n", this.#at);
        const line = this.#text.slice(this.#at, stop === -1 ? undefined : stop);
        const from = this.#at;
        this.#at = stop === -1 ? this.#text.length : stop + 1;
        if ((tabs ? line.replace(/^\t+/, "") : line) !== end) continue;
        if (!plain) this.#expandable(this.#text.slice(begin, from));
        // The newline also ends the command that the document belongs to.
        break;
      }
    }
  }

  /** A text in which only `$` and backquotes count. */
  #expandable(body: string): void {
    const inner = new Parser(`: "${body.replaceAll('"', "")}"`);
    const { commands } = inner.script();
    this.#commands.push(...commands.slice(0, -1));
    if (inner.#dynamic) this.#dynamic = true;
  }

  #word(closing: string): Word {
    let text = "";
    let literal = true;
    const first = this.#peek();
    const begin = this.#at;
    for (;;) {
      const sign = this.#peek();
      if (sign === "" || BLANK.test(sign) || OPERATOR.test(sign) || (sign === "`" && closing === "`")) break;
      if (sign === "'") {
        const end = this.#text.indexOf("'", this.#at + 1);
        if (end === -1) throw new Unreadable();
        text += this.#text.slice(this.#at + 1, end);
        this.#at = end + 1;
      } else if (sign === '"') {
        this.#at++;
        while (this.#peek() !== '"') {
          if (this.#peek() === "") throw new Unreadable();
          if (this.#peek() === "\\" && /^\\[$`"\\\n]/.test(this.#peek(2))) {
            text += this.#peek(2)[1] === "\n" ? "" : this.#peek(2)[1];
            this.#at += 2;
          } else if (this.#expansion(closing)) literal = false;
          else text += this.#text[this.#at++];
        }
        this.#at++;
      } else if (sign === "\\") {
        text += this.#peek(2)[1] === "\n" ? "" : (this.#peek(2)[1] ?? "");
        this.#at += 2;
      } else if (this.#peek(2) === "$'" || this.#peek(2) === '$"') throw new Unreadable();
      else if (this.#expansion(closing)) literal = false;
      else {
        if (sign === "{" && /^\{[^\s{}]*(,|\.\.)[^\s]*\}/.test(this.#text.slice(this.#at))) {
          literal = false;
          this.#dynamic = true;
        }
        text += sign;
        this.#at++;
      }
    }
    if (first === "~" && this.#at > begin) text = text.startsWith("~/") || text === "~" ? `/~${text.slice(1)}` : text;
    return { text, literal, globs: /[*?[]/.test(first) };
  }

  /** Consumes a `$...` or a backquoted command; false when there is none here. */
  #expansion(closing: string): boolean {
    const sign = this.#peek();
    if (sign === "`") {
      if (closing === "`") throw new Unreadable();
      this.#dynamic = true;
      this.#at++;
      this.#list("`");
      return true;
    }
    if (sign !== "$") return false;
    const rest = this.#text.slice(this.#at);
    if (rest.startsWith("$((")) {
      const end = rest.indexOf("))");
      if (end === -1 || /[$`]/.test(rest.slice(3, end).replace(/\$\w+/g, ""))) throw new Unreadable();
      this.#at += end + 2;
    } else if (rest.startsWith("$(")) {
      this.#at += 2;
      this.#list(")");
    } else {
      const variable = /^\$(\w+|[?!$#@*-]|\{[^{}$`]*\})/.exec(rest);
      if (variable === null) {
        if (rest.startsWith("${")) throw new Unreadable();
        return false;
      }
      this.#at += variable[0].length;
    }
    this.#dynamic = true;
    return true;
  }
}
