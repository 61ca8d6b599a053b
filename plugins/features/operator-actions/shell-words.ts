/**
 * Context of a character in a shell command. Only at `plain` is a quoted word one argument for certain. `unsure` is everything after the first
 * construct that starts a grammar of its own (command substitution, here-document, arithmetic, `${...}` with an operator, `$'...'`, `[[`): only a
 * shell can tell what is a quote there.
 */
export type Placement = "plain" | "single" | "double" | "escaped" | "comment" | "unsure";

const SIMPLE_VARIABLE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/y;
const ENDS_A_WORD = /[\s;&|()<>]/;

/** The placement of each character of a command, by the rules of POSIX sh. */
export function placementsOf(command: string): readonly Placement[] {
  const out: Placement[] = [];
  let state: "plain" | "double" = "plain";
  let wordStarts = true;
  const mark = (placement: Placement, length = 1) => {
    for (let count = 0; count < length; count++) out.push(placement);
  };
  while (out.length < command.length) {
    const at = out.length;
    const char = command.charAt(at);
    if (opensGrammar(command, at, state)) {
      mark("unsure", command.length - at);
    } else if (char === "\\" && at + 1 < command.length) {
      mark(state);
      mark(state === "plain" ? "escaped" : "double");
      // An escaped line end is no character at all: the word before it goes on.
      if (command.charAt(at + 1) !== "\n") wordStarts = false;
    } else if (state === "double") {
      mark("double");
      if (char === '"') state = "plain";
    } else if (char === '"') {
      mark("double");
      state = "double";
      wordStarts = false;
    } else if (char === "'") {
      const end = command.indexOf("'", at + 1);
      mark(end === -1 ? "unsure" : "single", (end === -1 ? command.length : end + 1) - at);
      wordStarts = false;
    } else if (char === "#" && wordStarts) {
      const end = command.indexOf("\n", at);
      mark("comment", (end === -1 ? command.length : end) - at);
    } else {
      mark("plain");
      wordStarts = ENDS_A_WORD.test(char);
    }
  }
  return out;
}

function opensGrammar(command: string, at: number, state: "plain" | "double"): boolean {
  const char = command.charAt(at);
  const next = command.charAt(at + 1);
  if (char === "`") return true;
  if (char === "$" && next === "(") return true;
  if (char === "$" && next === "{") {
    SIMPLE_VARIABLE.lastIndex = at;
    return !SIMPLE_VARIABLE.test(command);
  }
  if (state === "double") return false;
  if (char === "$" && (next === "'" || next === '"')) return true;
  return ["<<", "((", "[["].includes(char + next);
}

/** One word for the shell, whatever is in it. The value must not hold NUL, which no argument can. */
export function quote(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}
