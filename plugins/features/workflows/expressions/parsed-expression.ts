import { expressionError, fromThrown } from "./expression-error.ts";
import { CONCAT } from "./guarded-builtins.ts";
import { type AstNode, jsonata, type Parsed, REMOVED } from "./jsonata-library.ts";
import { compileRegex, SafeRegex } from "./safe-regex.ts";
import { requireShallow } from "./source-signs.ts";

const MAX_SOURCE = 8_192;
/** Milliseconds that one expression may take. */
export const TIMEOUT_MS = 200;
const OPTIONS = { timeout: TIMEOUT_MS, stack: 200, sequence: 100_000, RegexEngine: SafeRegex };

/** A parsed expression, with its static facts. */
export interface Expression {
  readonly text: string;
  /** The secret it stands for: it is exactly `secrets.<NAME>`. */
  readonly secret?: string;
  /** The names that it reads at the top, such as `steps`. */
  readonly names: ReadonlySet<string>;
  /** Ids of nodes, from `steps.<id>`. */
  readonly steps: ReadonlySet<string>;
  /** The expression is a path such as `a.b`, which unwraps a list of one. */
  readonly losesList: boolean;
  readonly parsed: Parsed;
  /** Nodes of its tree whose value is called as a function. */
  readonly called: WeakSet<object>;
}

const kept = new Map<string, Expression>();
const KEPT = 1_000;

/** Reads an expression, or finds it read. Throws `EXPR_PARSE` or `EXPR_SECRET`, where known with the `offset` in the text. */
export function parseExpression(text: string): Expression {
  const known = kept.get(text);
  const expression = known ?? read(text);
  kept.delete(text);
  kept.set(text, expression);
  const [oldest] = kept.keys();
  if (oldest !== undefined && kept.size > KEPT) kept.delete(oldest);
  return expression;
}

function read(text: string): Expression {
  if (Buffer.byteLength(text) > MAX_SOURCE) throw expressionError("EXPR_PARSE", `An expression has at most ${MAX_SOURCE} bytes; this one has more.`);
  requireShallow(text);
  const parsed = parsedBy(text);
  const ast = parsed.ast();
  const reader = new TreeReader(text);
  reader.read(ast);
  const secret = secretOf(ast);
  if (secret === undefined && reader.names.has("secrets"))
    throw expressionError("EXPR_SECRET", `{{ ${text.trim()} }}: a secret stands alone, as in "Bearer {{ secrets.TOKEN }}"; nothing can be done with it.`);
  const { names, steps, called } = reader;
  return { text, names, steps, called, parsed, losesList: losesList(ast), ...(secret === undefined ? {} : { secret }) };
}

function parsedBy(text: string): Parsed {
  try {
    return jsonata()(text, OPTIONS);
  } catch (error) {
    const thrown = fromThrown(error, text);
    throw Object.assign(thrown, { code: "EXPR_PARSE" });
  }
}

/** Goes over a tree once: finds what it reads, refuses what has no place here, and puts a function in place of `&`. */
class TreeReader {
  readonly names = new Set<string>();
  readonly steps = new Set<string>();
  readonly called = new WeakSet<object>();
  readonly #text: string;
  readonly #seen = new WeakSet<object>();

  constructor(text: string) {
    this.#text = text;
  }

  /** `inner`: what stands there is read from an entry of a list, not from the names at the top. */
  read(part: unknown, inner = false): void {
    if (typeof part !== "object" || part === null || part instanceof RegExp || this.#seen.has(part)) return;
    this.#seen.add(part);
    if (Array.isArray(part)) {
      for (const entry of part) this.read(entry, inner);
      return;
    }
    const node = part as AstNode;
    this.#judge(node);
    if (node.type === "binary" && node.value === "&") becomeConcat(node);
    if (node.procedure !== undefined) this.called.add(node.procedure);
    if (node.type === "name" && !inner) this.names.add(String(node.value));
    for (const [key, inside] of Object.entries(node)) {
      if (key === "steps" && Array.isArray(inside)) this.#path(inside as AstNode[], inner);
      else this.read(inside, inner || INNER.has(key));
    }
  }

  #path(steps: AstNode[], inner: boolean): void {
    const [first, second] = steps;
    if (!inner && first?.type === "name" && first.value === "steps" && second?.type === "name") this.steps.add(String(second.value));
    steps.forEach((step, index) => {
      this.read(step, index === 0 ? inner : true);
    });
    // $$ is all names.
    if (first?.type === "variable" && first.value === "$" && second?.type === "name") this.names.add(String(second.value));
  }

  #judge({ type, value, position = 0, signature }: AstNode): void {
    const refuse = (what: string) => expressionError("EXPR_PARSE", `{{ ${this.#text.trim()} }}: ${what}`, { offset: position });
    if (type === "variable" && (REMOVED as readonly unknown[]).includes(value)) throw refuse(`$${String(value)} is not available in workflows.`);
    // The only operator that writes into a value in place: into one that a run keeps, too.
    if (type === "transform") throw refuse("the transform operator | | | is not available in workflows; use $merge.");
    const { definition = "" } = (signature ?? {}) as { readonly definition?: string };
    // JSONata makes a regular expression of JavaScript from it, which may try for hours how arguments fit.
    if ((definition.match(/[+?-]/g) ?? []).length > 2) throw refuse("the signature of a function has more than two of + ? -.");
    if (type !== "regex") return;
    try {
      const { source, flags } = value as RegExp;
      compileRegex(source, flags.replace("g", ""));
    } catch (error) {
      throw refuse(`the regular expression cannot be used: ${(error as Error).message.replace(/^error parsing regexp: /, "")}.`);
    }
  }
}

/** Parts of a node that are read from each entry of what the node gives. */
const INNER: ReadonlySet<string> = new Set(["predicate", "stages", "group", "terms"]);

/** The operator makes one text of two without a look at the length; a function of ours looks. */
function becomeConcat(node: AstNode): void {
  const { lhs, rhs } = node;
  node.type = "function";
  node.value = "(";
  node.procedure = { type: "variable", value: CONCAT };
  node.arguments = [lhs as AstNode, rhs as AstNode];
  delete node.lhs;
  delete node.rhs;
}

function secretOf({ type, steps }: AstNode): string | undefined {
  if (type !== "path" || steps?.length !== 2) return undefined;
  const [first, second] = steps as [AstNode, AstNode];
  const plain = [first, second].every((step) => step.type === "name" && step["stages"] === undefined && step["predicate"] === undefined);
  return plain && first.value === "secrets" ? String(second.value) : undefined;
}

/** Steps at the beginning of a path that give an object and no list. */
const OBJECTS: Readonly<Record<string, number>> = { steps: 3, input: 1, in: 1, item: 1, run: 1, values: 1 };

/** A path through a list gives what it finds there, and of one the one itself. */
function losesList(ast: AstNode): boolean {
  const { type, steps = [] } = ast;
  if (type !== "path" || ast["keepSingletonArray"] === true) return false;
  const objects = OBJECTS[String(steps[0]?.value)];
  if (steps[0]?.type !== "name" || objects === undefined) return false;
  return steps.length > objects + 1 || steps.some((step) => step["stages"] !== undefined || step["predicate"] !== undefined);
}
