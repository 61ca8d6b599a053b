import { expressionError } from "./expression-error.ts";

/** After these a `/` begins a regular expression; after a name or a value it divides. */
const BEFORE_REGEX = /[([{,;:=~&|!<>?+\-*%^]$/;
const OPERATORS = new Set("-+*/%&|<>=!~?.^@#");
const MAX_DEPTH = 100;
const MAX_OPERATORS = 1_500;

/** The characters of an expression that stand outside of texts, names in backticks, comments and regular expressions; no white space. */
export function* signsOf(text: string, from = 0): Generator<{ readonly char: string; readonly at: number }> {
  let before = "(";
  for (let at = from; at < text.length; at++) {
    const char = text[at] as string;
    if (char === " " || char === "\n" || char === "\t" || char === "\r") continue;
    const last = skip(text, at, before);
    if (last > at) {
      before = "x";
      at = last;
      continue;
    }
    before = char;
    yield { char, at };
  }
}

/**
 * Throws `EXPR_PARSE` for an expression whose parts nest too deep. JSONata calls itself for each level; where the stack ends while V8 compiles
 * a regular expression, V8 ends the process, so that nothing may come near the end of the stack.
 */
export function requireShallow(text: string): void {
  let [depth, opened, operators] = [0, 0, 0];
  for (const { char } of signsOf(text)) {
    if ("([{".includes(char)) {
      depth += 1;
      opened += 1;
    } else if (")]}".includes(char)) depth -= 1;
    else if (OPERATORS.has(char)) operators += 1;
    if (depth > MAX_DEPTH) throw expressionError("EXPR_PARSE", `An expression is nested more than ${MAX_DEPTH} levels deep.`);
    if (opened > MAX_OPERATORS || operators > MAX_OPERATORS) throw expressionError("EXPR_PARSE", `An expression has more than ${MAX_OPERATORS} operators.`);
  }
}

/** The last character of what begins at a place and is not looked into; the place itself where nothing such begins. */
function skip(text: string, at: number, before: string): number {
  const char = text[at] as string;
  if (char === '"' || char === "'" || char === "`") return closing(text, at, char);
  if (char !== "/") return at;
  if (text[at + 1] === "*") {
    const end = text.indexOf("*/", at + 2);
    return end < 0 ? text.length : end + 1;
  }
  return BEFORE_REGEX.test(before) ? closing(text, at, "/") : at;
}

function closing(text: string, open: number, mark: string): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === "\\" && mark !== "`") at++;
    else if (text[at] === mark) return at;
  }
  // An open text or pattern: the expression says so when it is parsed. A division stays one.
  return mark === "/" ? open : text.length;
}
