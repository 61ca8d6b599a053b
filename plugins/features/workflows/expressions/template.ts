import { expressionError } from "./expression-error.ts";
import { type Expression, parseExpression } from "./parsed-expression.ts";
import { signsOf } from "./source-signs.ts";

/** A piece of a text with expressions: text as it is, or an expression with the offset of its source in the text. */
export type Piece = string | { readonly source: string; readonly offset: number };

/** Whether a text may hold an expression, or the mark `\{{` of one that is none. */
export const isTemplate = (text: string): boolean => text.includes("{{");

/** Takes a text apart at its `{{ }}`. Throws `EXPR_PARSE` for one that is not closed. */
export function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let plain = "";
  let from = 0;
  while (from < text.length) {
    const open = text.indexOf("{{", from);
    if (open < 0) break;
    if (text[open - 1] === "\\" && open > from) {
      plain += `${text.slice(from, open - 1)}{{`;
      from = open + 2;
      continue;
    }
    const close = endOf(text, open + 2);
    if (close < 0) throw expressionError("EXPR_PARSE", `The {{ at character ${open + 1} has no }}; write \\{{ for the text itself.`, { offset: open });
    plain += text.slice(from, open);
    if (plain !== "") pieces.push(plain);
    plain = "";
    pieces.push({ source: text.slice(open + 2, close), offset: open + 2 });
    from = close + 2;
  }
  plain += text.slice(from);
  if (plain !== "" || pieces.length === 0) pieces.push(plain);
  return pieces;
}

/** The single expression of a text that is nothing else. */
export function soleExpression(text: string): Expression | undefined {
  if (!text.startsWith("{{")) return undefined;
  const [piece, ...rest] = piecesOf(text);
  return rest.length === 0 && typeof piece === "object" ? parseExpression(piece.source) : undefined;
}

/** Where the `}}` of an expression stands: not one within a text, a name in backticks, a comment, a regular expression or an object. */
function endOf(text: string, from: number): number {
  let depth = 0;
  for (const { char, at } of signsOf(text, from)) {
    if (char === "{") depth++;
    else if (char === "}" && depth > 0) depth--;
    else if (char === "}" && text[at + 1] === "}") return at;
  }
  return -1;
}
