import type { Node } from "../engine/types.ts";
import { isExpressionError } from "../expressions/expression-error.ts";
import { type Expression, parseExpression } from "../expressions/parsed-expression.ts";
import { piecesOf, soleExpression } from "../expressions/template.ts";
import { isRecord } from "./json.ts";
import { type Finding, pointerPart } from "./problem.ts";

/** Names that expressions at a node may read. */
export interface ExpressionScope {
  readonly pointer: string;
  /** The node is in the body of a `forEach`. */
  readonly inBody: boolean;
  /** Ids of all nodes of the definition. */
  readonly ids: ReadonlySet<string>;
}

/** Fields that are taken as they are. */
const LITERAL: ReadonlySet<string> = new Set([
  ...["id", "kind", "label", "action", "workflow", "port", "of", "code", "timeout", "retry", "inputSchema", "outputSchema", "nodes", "do", "wait"],
  ...["contextStrategy", "onInterrupted", "onExhausted", "onItemError", "remindEvery"],
]);
const ALWAYS = ["input", "in", "steps", "run"];

/** Checks the expressions of a node; not of the nodes in its body. */
export function expressionFindings(node: Node, scope: ExpressionScope): readonly Finding[] {
  const reader = new TextReader(node, scope);
  for (const [field, value] of Object.entries(node)) {
    if (node.kind === "join" || LITERAL.has(field)) continue;
    reader.value(value, `/${field}`, field);
  }
  if (node.kind === "forEach" && typeof node.items === "string") reader.list(node.items);
  return reader.findings;
}

class TextReader {
  readonly findings: Finding[] = [];
  readonly #node: Node;
  readonly #scope: ExpressionScope;

  constructor(node: Node, scope: ExpressionScope) {
    this.#node = node;
    this.#scope = scope;
  }

  value(value: unknown, below: string, field: string): void {
    if (typeof value === "string") this.#text(value, below, field);
    else if (Array.isArray(value)) {
      value.forEach((entry, index) => {
        this.value(entry, `${below}/${index}`, field);
      });
    } else if (isRecord(value))
      for (const [key, entry] of Object.entries(value)) if (!(field === "cases" && key === "port")) this.value(entry, `${below}/${pointerPart(key)}`, field);
  }

  /** `items` of a forEach: one expression that gives a list. */
  list(text: string): void {
    const expression = attempt(() => soleExpression(text));
    if (expression === undefined && !this.findings.some(({ pointer }) => pointer.endsWith("/items")))
      this.#found("error", "EXPR_TYPE", "A text is no list; write one expression, as in {{ input.sites }}.", "/items");
    if (expression?.losesList)
      this.#found(
        "warning",
        "LIST_OF_ONE",
        `{{ ${expression.text.trim()} }} gives a list of one as the one itself; ${expression.text.trim()}[] keeps the list.`,
        "/items",
      );
  }

  #text(text: string, below: string, field: string): void {
    try {
      const condition = (field === "cases" && below.endsWith("/when")) || field === "match";
      if (condition && soleExpression(text) === undefined)
        this.#found("error", "EXPR_TYPE", `A condition is one expression, as in {{ input.amount > 100 }}; this is a text.`, below);
      for (const piece of piecesOf(text)) if (typeof piece === "object") this.#expression(parseExpression(piece.source), below, field);
    } catch (error) {
      if (!isExpressionError(error)) throw error;
      this.#found("error", error.code, error.message, below);
    }
  }

  #expression({ names, steps, secret, text }: Expression, below: string, field: string): void {
    if (secret !== undefined && !(this.#node.kind === "action" && field === "input"))
      this.#found("error", "EXPR_SECRET", `{{ ${text.trim()} }}: secrets can be read in the input of an action only.`, below);
    const known = new Set([...ALWAYS, ...(this.#scope.inBody ? ["item", "index"] : []), ...(field === "submitTransition" ? ["values"] : [])]);
    if (field === "match") known.add("payload");
    if (secret !== undefined) known.add("secrets");
    for (const name of names)
      if (!known.has(name)) this.#found("warning", "UNKNOWN_NAME", `${name} does not exist here; there are ${[...known].join(", ")}.`, below);
    for (const id of steps)
      if (!this.#scope.ids.has(id)) this.#found("error", "UNKNOWN_NODE", `{{ ${text.trim()} }} reads steps.${id}, but there is no node ${id}.`, below);
  }

  #found(severity: "error" | "warning", code: string, message: string, below: string): void {
    this.findings.push({ severity, code, message, pointer: this.#scope.pointer + below });
  }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
