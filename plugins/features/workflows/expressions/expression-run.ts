import { Budget, isFunction } from "./budget.ts";
import { expressionError, fromThrown } from "./expression-error.ts";
import { guardedBuiltins } from "./guarded-builtins.ts";
import type { AstNode } from "./jsonata-library.ts";
import { type Expression, TIMEOUT_MS } from "./parsed-expression.ts";
import { during, underWay } from "./under-way.ts";

const EXIT = Symbol.for("jsonata.__evaluate_exit");
/** Nodes that put a value together, and so may make much out of little. */
const MAKERS: ReadonlySet<string> = new Set(["unary", "function", "apply", "path", "condition", "block", "binary"]);

let last: Promise<unknown> = Promise.resolve();
const bound = new WeakSet<Expression>();

/**
 * Evaluates an expression with the names; undefined if it reads a missing value. Expressions run one after the other. Throws an error with a code of
 * `ExpressionCode`.
 */
export function runExpression(expression: Expression, names: object, at: number): Promise<unknown> {
  const turn = last.then(() => run(expression, names, at));
  last = turn.catch(() => undefined);
  return turn;
}

async function run(expression: Expression, names: object, at: number): Promise<unknown> {
  const builtins = await builtinsOnce();
  if (!bound.has(expression)) {
    for (const [name, value] of builtins) expression.parsed.assign(name, value);
    expression.parsed.assign(EXIT, leaving(expression));
    bound.add(expression);
  }
  const started = performance.now();
  try {
    return await during({ budget: new Budget(TIMEOUT_MS), at }, () => expression.parsed.evaluate(names));
  } catch (error) {
    throw fromThrown(error, expression.text);
  } finally {
    // JSONata never lets go of the thread by itself: after a long expression others may work.
    if (performance.now() - started > YIELD_MS) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

const YIELD_MS = 20;
let builtins: Promise<ReadonlyMap<string, unknown>> | undefined;
const builtinsOnce = () => {
  builtins ??= guardedBuiltins();
  return builtins;
};

/** Asked by JSONata for the value of each node. */
function leaving({ called, text }: Expression) {
  return (node: AstNode, _input: unknown, _environment: unknown, value: unknown): void => {
    if (called.has(node) && !isCallable(value)) {
      // JSONata would note on the value that it was called.
      throw expressionError("EXPR_ERROR", `{{ ${text.trim()} }}: it calls a value that is not a function.`);
    }
    if (typeof value === "string") {
      if (node.type !== "name" && node.type !== "variable") underWay().budget.text(value.length);
    } else if (typeof value === "object" && value !== null && MAKERS.has(node.type) && !isFunction(value)) {
      if (node.type !== "path" || (value as { sequence?: boolean }).sequence === true) underWay().budget.made(value);
    }
  };
}

/** Data that only claims to be a function is not callable. */
function isCallable(value: unknown): boolean {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null) return false;
  const { _jsonata_function: builtin, implementation, environment } = value as Record<string, unknown>;
  if (builtin === true) return typeof implementation === "function";
  return typeof (environment as { lookup?: unknown } | undefined)?.lookup === "function";
}
