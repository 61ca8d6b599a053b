import { isFields } from "../../forms/form-path.ts";
import { TEXT } from "../../words/admin.ts";

/** Where a text is no JSON, and why. Lines and columns from 1. */
export interface TextProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Parses a text of svc.json; comments are allowed, as in the daemon. */
export function readText(text: string): { readonly value: Readonly<Record<string, unknown>> } | { readonly problem: TextProblem } {
  const bare = withoutComments(text);
  try {
    const value: unknown = JSON.parse(bare);
    if (isFields(value)) return { value };
    return { problem: { message: TEXT.wholeObject, line: 1, column: 1 } };
  } catch {
    const { at, wanted } = faultIn(bare);
    const before = text.slice(0, at).split("\n");
    return { problem: { message: TEXT.expected(wanted, tokenAt(bare, at)), line: before.length, column: (before.at(-1)?.length ?? 0) + 1 } };
  }
}

/** Comments as spaces, so that every place stays where it is. */
const withoutComments = (text: string): string =>
  text.replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|^\uFEFF/g, (part) => (part.startsWith('"') ? part : part.replace(/[^\n]/g, " ")));

const tokenAt = (text: string, at: number): string => /^(?:\w+|[^\s])/.exec(text.slice(at))?.[0] ?? "";

interface Fault {
  readonly at: number;
  readonly wanted: keyof typeof TEXT.wanted;
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const PLAIN = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y;

/** Where a text that is no JSON stops being one: browsers do not all say it. */
function faultIn(text: string): Fault {
  let at = 0;
  const skip = () => {
    while (/[ \t\r\n]/.test(text[at] ?? "")) at += 1;
  };
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const stop = (wanted: Fault["wanted"]): never => {
    throw { at, wanted } satisfies Fault;
  };
  const several = (end: "}" | "]", one: () => void): void => {
    at += 1;
    skip();
    if (text[at] === end) {
      at += 1;
      return;
    }
    for (;;) {
      one();
      skip();
      if (text[at] === end) break;
      if (text[at] !== ",") stop(end === "}" ? "commaOrBrace" : "commaOrBracket");
      at += 1;
      skip();
    }
    at += 1;
  };
  const value = (): void => {
    skip();
    if (text[at] === "{")
      several("}", () => {
        if (!take(STRING)) stop("name");
        skip();
        if (text[at] !== ":") stop("colon");
        at += 1;
        value();
      });
    else if (text[at] === "[") several("]", value);
    else if (!take(STRING) && !take(PLAIN)) stop("value");
  };
  try {
    value();
    skip();
    return { at, wanted: "end" };
  } catch (fault) {
    return fault as Fault;
  }
}
