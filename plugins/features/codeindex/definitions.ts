import type { Node, QueryMatch } from "@vscode/tree-sitter-wasm";

/** Something that code defines. */
export interface Definition {
  readonly name: string;
  /** `function`, `class`, `method`, `variable`, ... */
  readonly kind: string;
  /** From 1. */
  readonly line: number;
  readonly endLine: number;
  /** Enclosing definition: `Shop.Cart`. Empty at the top. */
  readonly container: string;
  /** Its first line. */
  readonly text: string;
}

/** A place in code. */
export interface Found {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

interface Piece {
  readonly kind: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly endLine: number;
}

/** Kinds that are local to what they stand in, when that is a function. */
const LOCAL: ReadonlySet<string> = new Set(["variable", "constant"]);
const FUNCTIONS: ReadonlySet<string> = new Set(["function", "method", "scope"]);
const TYPES: ReadonlySet<string> = new Set(["struct", "union", "enum", "class"]);
const LONGEST_NAME = 200;
const LONGEST_TEXT = 200;
const MOST = 20_000;

/** The definitions among the matches of a language's query; local variables are left out. */
export function definitionsIn(matches: readonly QueryMatch[], code: string): readonly Definition[] {
  const pieces: Piece[] = [];
  // Of several patterns that fit a name, the one that stands first in the query says what it is.
  const named = new Map<number, Piece & { readonly pattern: number }>();
  for (const { captures, patternIndex: pattern } of matches) {
    const whole = captures.find(({ name }) => name !== "name" && name !== "declarator");
    if (whole === undefined) continue;
    const declared = captures.find(({ name }) => name === "declarator")?.node;
    const node = declared === undefined ? captures.find(({ name }) => name === "name")?.node : nameIn(declared);
    const { startIndex: start, endIndex: end, startPosition, endPosition } = whole.node;
    if (whole.name === "scope") {
      pieces.push({ kind: "scope", name: "", start, end, line: startPosition.row + 1, endLine: endPosition.row + 1 });
      continue;
    }
    if (node === undefined || (named.get(node.startIndex)?.pattern ?? pattern + 1) <= pattern) continue;
    const name = plain(node.text);
    if (name === "" || name.length > LONGEST_NAME) continue;
    const kind = declared === undefined ? whole.name : kindOf(whole.name, declared);
    named.set(node.startIndex, { kind, name, start, end, line: node.startPosition.row + 1, endLine: endPosition.row + 1, pattern });
  }
  pieces.push(...named.values());
  return nested(pieces, code.split("\n")).slice(0, MOST);
}

function nested(pieces: Piece[], lines: readonly string[]): Definition[] {
  pieces.sort((left, right) => left.start - right.start || right.end - left.end);
  const around: Piece[] = [];
  const definitions: Definition[] = [];
  for (const piece of pieces) {
    while (around.length > 0 && (around.at(-1) as Piece).end <= piece.start) around.pop();
    const { name, kind, line, endLine } = piece;
    const isLocal = LOCAL.has(kind) && around.some((one) => FUNCTIONS.has(one.kind));
    if (kind !== "scope" && !isLocal) {
      const container = around
        // `typedef struct point {} point_t` defines both side by side.
        .filter((one, at, all) => one.name !== "" && one.start !== piece.start && !(one.kind === "type" && TYPES.has((all[at + 1] ?? piece).kind)))
        .map((one) => one.name)
        .join(".");
      const inClass = kind === "function" && ["class", "struct", "interface"].includes(around.at(-1)?.kind ?? "");
      definitions.push({ name, kind: inClass ? "method" : kind, line, endLine, container, text: (lines[line - 1] ?? "").trim().slice(0, LONGEST_TEXT) });
    }
    around.push(piece);
  }
  return definitions;
}

/** The name within a declarator of C: behind pointers, arrays, parameters and scopes. */
function nameIn(declarator: Node): Node | undefined {
  let at: Node | null = declarator;
  for (let depth = 0; at !== null && depth < 30; depth += 1) {
    const next: Node | null =
      at.childForFieldName("declarator") ?? (at.type === "qualified_identifier" || at.type.startsWith("template_") ? at.childForFieldName("name") : null);
    if (next === null) {
      if (/identifier$|^destructor_name$|^operator_name$|^operator_cast$/.test(at.type)) return at;
      // A reference or a pointer holds its declarator without a field's name.
      const inner: Node | undefined = at.namedChildren.find((child) => child !== null && /declarator$|identifier$/.test(child.type)) ?? undefined;
      if (inner === undefined) return undefined;
      at = inner;
    } else at = next;
  }
  return undefined;
}

/** A declaration of a function is no variable. */
function kindOf(kind: string, declarator: Node): string {
  if (kind !== "variable" && kind !== "field") return kind;
  for (let at: Node | null = declarator; at !== null; at = at.childForFieldName("declarator")) {
    if (at.type === "function_declarator") return kind === "field" ? "method" : "function";
  }
  return kind;
}

/** Without the quotes of a name in quotes. */
const plain = (name: string): string =>
  name
    .replace(/^["'`]|["'`]$/g, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
