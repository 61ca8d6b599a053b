import { isRecord } from "../definition/json.ts";
import { expressionError } from "./expression-error.ts";
import { runExpression } from "./expression-run.ts";
import { parseExpression } from "./parsed-expression.ts";
import { plainValue, Room } from "./plain-value.ts";
import { secretReference, secretText, withoutReferences } from "./secret-references.ts";
import { isTemplate, piecesOf } from "./template.ts";

/** Values that expressions can read, by name: `input`, `in`, `steps`, `run`; `item` and `index` within a forEach; `values` in a submitTransition. */
export type Names = Readonly<Record<string, unknown>>;

/** Options of evaluating templates. */
export interface EvaluateOptions {
  /** The time that `$now()` and `$millis()` give, in ms: that of the claim. */
  readonly at: number;
  /** `secrets.<NAME>` becomes `{"$secret": NAME}`: for the input of actions. Elsewhere a secret is refused. */
  readonly secrets?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A value with every `{{ }}` in its texts evaluated. A text that is exactly one expression becomes its value, any other a text. What an
 * expression does not find leaves out the key of an object; elsewhere it throws `EXPR_UNDEFINED`. Names are only read. Throws errors with a
 * code of `ExpressionCode`.
 */
export async function evaluate(template: unknown, names: Names, options: EvaluateOptions): Promise<unknown> {
  const value = await new Evaluator(names, options).value(template);
  if (value === undefined) throw undefinedValue(typeof template === "string" ? template : "the template");
  return value;
}

/** A template that must give true or false: throws `EXPR_TYPE` for anything else. */
export async function evaluateCondition(template: string, names: Names, options: EvaluateOptions): Promise<boolean> {
  const value = await evaluate(template, names, options);
  if (typeof value === "boolean") return value;
  throw expressionError("EXPR_TYPE", `${template} gives ${kindOf(value)}; a condition gives true or false, as in {{ input.amount > 100 }}.`);
}

class Evaluator {
  readonly #names: Names;
  readonly #options: EvaluateOptions;
  readonly #room = new Room();

  constructor(names: Names, options: EvaluateOptions) {
    this.#names = names;
    this.#options = options;
  }

  async value(template: unknown): Promise<unknown> {
    if (typeof template === "string") return isTemplate(template) ? this.#text(template) : template;
    if (Array.isArray(template)) {
      const list: unknown[] = [];
      for (const entry of template) {
        const value = await this.value(entry);
        if (value === undefined) throw undefinedValue(String(entry));
        list.push(value);
      }
      return list;
    }
    if (!isRecord(template)) return template;
    const object: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(template)) {
      if (this.#options.secrets === true) withoutReferences({ [key]: null });
      const value = await this.value(entry);
      if (value !== undefined) object[key] = value;
    }
    return object;
  }

  async #text(template: string): Promise<unknown> {
    const pieces = piecesOf(template);
    const [only] = pieces;
    if (pieces.length === 1) {
      if (typeof only !== "object") return only;
      const value = await this.#expression(only.source);
      if (this.#options.secrets === true && parseExpression(only.source).secret === undefined) withoutReferences(value);
      return value;
    }
    const parts: unknown[] = [];
    for (const piece of pieces) {
      if (typeof piece === "string") {
        parts.push(piece);
        continue;
      }
      const { secret } = parseExpression(piece.source);
      const value = await this.#expression(piece.source);
      if (value === undefined) throw undefinedValue(`{{${piece.source}}}`);
      parts.push(secret !== undefined || typeof value === "string" ? value : JSON.stringify(value));
    }
    return secretText(parts);
  }

  async #expression(source: string): Promise<unknown> {
    const { secrets, signal, at } = this.#options;
    signal?.throwIfAborted();
    const expression = parseExpression(source);
    if (expression.secret !== undefined) {
      if (secrets === true) return secretReference(expression.secret);
      throw expressionError("EXPR_SECRET", `{{ ${source.trim()} }}: secrets can be read in the input of an action only.`);
    }
    const value = await runExpression(expression, this.#names, at);
    if (value === undefined) return undefined;
    return plainValue(value, this.#room);
  }
}

const undefinedValue = (what: string) =>
  expressionError("EXPR_UNDEFINED", `${what.slice(0, 200)} has no value: what it reads does not exist. Give a default, as in {{ input.x ? input.x : 0 }}.`);

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `${typeof value} ${JSON.stringify(value).slice(0, 80)}`;
}
