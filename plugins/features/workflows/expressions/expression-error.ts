import { svcError } from "@svc/sdk";

/**
 * Why an expression has no value. `EXPR_PARSE`: it is not a valid expression. `EXPR_UNDEFINED`: a name does not exist. `EXPR_TYPE`: the value has the
 * wrong type. `EXPR_SIZE`, `EXPR_TIMEOUT`, `EXPR_DEPTH`: it passed a limit. `EXPR_SECRET`: a secret in a forbidden place. `EXPR_ERROR`: any other
 * error of JSONata.
 */
export type ExpressionCode = "EXPR_PARSE" | "EXPR_UNDEFINED" | "EXPR_TYPE" | "EXPR_SIZE" | "EXPR_TIMEOUT" | "EXPR_DEPTH" | "EXPR_SECRET" | "EXPR_ERROR";

/** Characters of an expression that an error quotes, and of what JSONata says. */
const QUOTED = 120;
const SAID = 500;

/** An error of an expression; `offset` is where in its text, from 0. */
export const expressionError = (code: ExpressionCode, message: string, facts: { offset?: number } = {}): Error =>
  svcError(code, message.length > SAID ? `${message.slice(0, SAID)}...` : message, facts);

/** Whether an error is one of an expression already. */
export const isExpressionError = (error: unknown): error is Error & { code: ExpressionCode; offset?: number } =>
  error instanceof Error && String((error as { code?: unknown }).code).startsWith("EXPR_");

const CODES: Readonly<Record<string, ExpressionCode>> = { D1011: "EXPR_DEPTH", D1012: "EXPR_TIMEOUT", D2014: "EXPR_SIZE", D2015: "EXPR_SIZE" };

/** Converts an error of JSONata or the JavaScript engine to one of the expression `text`. */
export function fromThrown(thrown: unknown, text: string): Error {
  if (isExpressionError(thrown)) return thrown;
  const { code = "", message = "", position } = (thrown ?? {}) as { code?: unknown; message?: unknown; position?: unknown };
  const shown = text.trim().length > QUOTED ? `${text.trim().slice(0, QUOTED)}...` : text.trim();
  const kind = thrown instanceof RangeError ? rangeCode(thrown) : (CODES[String(code)] ?? FAMILIES[String(code)[0] ?? ""] ?? "EXPR_ERROR");
  if (AUTHORED.has(String(code))) return expressionError("EXPR_ERROR", String(message));
  const offset = typeof position === "number" ? { offset: position } : {};
  return expressionError(kind, `{{ ${shown} }}: ${LIMITS[kind] ?? String(message)}`, offset);
}

/** $error and $assert: their words are the author's. */
const AUTHORED: ReadonlySet<string> = new Set(["D3137", "D3141"]);

/** The first letter of JSONata's codes. */
const FAMILIES: Readonly<Record<string, ExpressionCode>> = { S: "EXPR_PARSE", T: "EXPR_TYPE" };

/** "Invalid string length", "Invalid array length" and "Maximum call stack size exceeded" are all that a RangeError can say here. */
const rangeCode = ({ message }: RangeError): ExpressionCode => (message.includes("call stack") ? "EXPR_DEPTH" : "EXPR_SIZE");

const LIMITS: Readonly<Partial<Record<ExpressionCode, string>>> = {
  EXPR_DEPTH: "it calls itself more than 200 levels deep.",
  EXPR_TIMEOUT: "it has not ended within 200 ms; work on less data, or do it in an action.",
  EXPR_SIZE: "a list or text in it is longer than 100,000 entries or 1,000,000 characters.",
};
