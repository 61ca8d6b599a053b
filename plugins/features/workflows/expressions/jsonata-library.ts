import { createRequire } from "node:module";

/** A node of JSONata's tree, as far as it is read here. */
export interface AstNode {
  type: string;
  value?: unknown;
  position?: number;
  lhs?: AstNode;
  rhs?: AstNode;
  procedure?: AstNode;
  arguments?: AstNode[];
  steps?: AstNode[];
  [part: string]: unknown;
}

/** The used part of a parsed JSONata expression. */
export interface Parsed {
  ast(): AstNode;
  assign(name: string | symbol, value: unknown): void;
  evaluate(input: unknown): Promise<unknown>;
}

/** A built-in function, as JSONata binds it to its name. */
export interface Builtin {
  readonly _jsonata_function: true;
  readonly implementation: (this: unknown, ...given: unknown[]) => unknown;
  readonly signature?: unknown;
}

type Jsonata = (text: string, options?: object) => Parsed;

let library: Jsonata | undefined;

/** JSONata, loaded with the first expression. */
export function jsonata(): Jsonata {
  // Required: a CommonJS package, read once more for the names of its exports when it is imported.
  library ??= createRequire(import.meta.url)("jsonata") as Jsonata;
  return library;
}

/** Functions bound before an expression runs. Others do not exist for it. */
const NAMES = [
  ...["sum", "count", "max", "min", "average", "string", "substring", "substringBefore", "substringAfter", "lowercase", "uppercase", "length"],
  ...["trim", "pad", "match", "contains", "replace", "split", "join", "formatNumber", "formatBase", "formatInteger", "parseInteger", "number"],
  ...["floor", "ceil", "round", "abs", "sqrt", "power", "boolean", "not", "map", "zip", "filter", "single", "reduce", "sift", "keys", "lookup"],
  ...["append", "exists", "spread", "merge", "reverse", "each", "error", "assert", "type", "sort", "distinct", "base64encode", "base64decode"],
  ...["encodeUrlComponent", "encodeUrl", "decodeUrlComponent", "decodeUrl", "toMillis", "fromMillis", "clone", "now", "millis"],
];

/** Functions of JSONata that no expression has: what they give is not the same twice, or is code. */
export const REMOVED = ["eval", "random", "shuffle"] as const;

let builtins: Promise<ReadonlyMap<string, Builtin>> | undefined;

/** The built-in functions as they are, by name. */
export function builtinFunctions(): Promise<ReadonlyMap<string, Builtin>> {
  builtins ??= Promise.all(NAMES.map(async (name) => [name, (await jsonata()(`$${name}`).evaluate(undefined)) as Builtin] as const)).then(
    (entries) => new Map(entries),
  );
  return builtins;
}
