import { createRequire } from "node:module";
import type * as Jsonc from "jsonc-parser";
import type { Node, ParseError } from "jsonc-parser";
import { type ConfigPath, isForbiddenKey, isRecord } from "../config-path.ts";
import { fail } from "../errors.ts";

/** jsonc-parser, loaded when a text is wrong or a position in it is needed. */
const parser = (): typeof Jsonc => createRequire(import.meta.url)("jsonc-parser") as typeof Jsonc;

/** Lines and columns count from 1; columns in UTF-16 units, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A text that is one JSON object. */
export interface ParsedText {
  readonly tree: Node;
  readonly raw: Record<string, unknown>;
  /** Finds the key at `path`, or the entry of a list; undefined if the text has none. */
  locate(path: ConfigPath): Position | undefined;
}

/** Maximum nesting depth: protects the parser's stack against a malicious text. */
const MAX_DEPTH = 64;

// The scanner's tokens; its enum exists at compile time only.
const OPENING: ReadonlySet<number> = new Set([1, 3]);
const CLOSING: ReadonlySet<number> = new Set([2, 4]);
const END = 17;

const COMMENT = "comments are not allowed in svc.json, which is plain JSON; take it out, or keep notes in a file beside it";

const REASONS: Readonly<Record<string, string>> = {
  InvalidSymbol: "there is something here that is no JSON",
  InvalidNumberFormat: "this number is not written as JSON wants it",
  PropertyNameExpected: 'a key in double quotes, such as "node", is missing here (a comma too many before it?)',
  ValueExpected: "a value is missing here",
  ColonExpected: "a colon is missing here",
  CommaExpected: "a comma is missing here",
  CloseBraceExpected: "a closing } is missing: the file seems to be cut off",
  CloseBracketExpected: "a closing ] is missing: the file seems to be cut off",
  EndOfFileExpected: "there is more text after the end of the configuration",
  InvalidCommentToken: COMMENT,
  UnexpectedEndOfComment: COMMENT,
  UnexpectedEndOfString: "this text has no closing quote",
  UnexpectedEndOfNumber: "this number is cut off",
  InvalidUnicode: "this \\u escape is not complete",
  InvalidEscapeCharacter: "this backslash escapes nothing that JSON knows",
  InvalidCharacter: "a control character must be written as an escape, such as \\n",
};

/**
 * Parses plain JSON, keeping positions. Throws `SVC_CONFIG_SYNTAX` with `file`, `line` and `column` for text that is not a JSON object, a
 * key that appears twice and nesting too deep, and `SVC_CONFIG_KEY` for a forbidden key.
 */
export function parseText(text: string, file: string): ParsedText {
  const raw = plainObject(text);
  if (raw === undefined) return parsePlaces(text, file);
  let places: ParsedText | undefined;
  const read = (): ParsedText => (places ??= parsePlaces(text, file));
  return {
    raw,
    get tree() {
      return read().tree;
    },
    locate: (path) => read().locate(path),
  };
}

/** The object in a text, without positions; undefined where it is wrong in any way, which `parsePlaces` then explains. */
function plainObject(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let keys = 0;
  const isUsable = (at: unknown, depth: number): boolean => {
    if (typeof at !== "object" || at === null) return true;
    if (depth > MAX_DEPTH) return false;
    const names = Array.isArray(at) ? [] : Object.keys(at);
    keys += names.length;
    return !names.some(isForbiddenKey) && Object.values(at).every((inner) => isUsable(inner, depth + 1));
  };
  if (!isRecord(value) || !isUsable(value, 1)) return undefined;
  // Of a key that appears twice only the last is left.
  const colons = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
  return colons === keys ? value : undefined;
}

function parsePlaces(text: string, file: string): ParsedText {
  const { findNodeAtLocation, parseTree, printParseErrorCode } = parser();
  const position = (offset: number): Position => {
    const before = text.slice(0, offset);
    const start = before.lastIndexOf("\n") + 1;
    return { line: before.split("\n").length, column: offset - start + 1 };
  };
  const refuse = (offset: number, reason: string): Error => {
    const at = position(offset);
    return fail("SVC_CONFIG_SYNTAX", { where: `${file}:${at.line}:${at.column}`, reason, file, ...at });
  };

  const tooDeep = firstTooDeep(text);
  if (tooDeep !== undefined) throw refuse(tooDeep, `it is nested deeper than ${MAX_DEPTH} levels`);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false });
  const [error] = errors;
  if (error !== undefined) throw refuse(error.offset, foreign(text, error.offset) ?? REASONS[printParseErrorCode(error.error)] ?? "this is no JSON");
  if (tree?.type !== "object") throw refuse(tree?.offset ?? 0, "the whole configuration must be one object { ... }");

  const read = (node: Node): unknown => {
    if (node.type === "array") return (node.children ?? []).map(read);
    if (node.type !== "object") return node.value;
    const object: Record<string, unknown> = {};
    for (const { children } of node.children ?? []) {
      const [name, value] = children as [Node, Node];
      const key = name.value as string;
      if (isForbiddenKey(key)) {
        const at = position(name.offset);
        throw fail("SVC_CONFIG_KEY", { where: `${file}:${at.line}:${at.column}`, key, file, ...at });
      }
      if (Object.hasOwn(object, key)) throw refuse(name.offset, `the key "${key}" appears twice in the same object; keep one`);
      object[key] = read(value);
    }
    return object;
  };

  return {
    tree,
    raw: read(tree) as Record<string, unknown>,
    locate(path) {
      const node = findNodeAtLocation(tree, [...path]);
      if (node === undefined) return undefined;
      const name = node.parent?.type === "property" ? node.parent : node;
      return position(name.offset);
    },
  };
}

/** Explains a mistake that comes from another language (YAML, JavaScript, Python); undefined for any other. */
function foreign(text: string, offset: number): string | undefined {
  const rest = text.slice(offset, offset + 200);
  if (!/^\s*[{[]/.test(text) && /^\s*(?:---|#|[A-Za-z_][\w-]*\s*[:=])/.test(text))
    return 'this is no JSON (YAML or TOML?); svc.json is one object: { "node": { ... } }';
  if (rest.startsWith("'")) return "texts and keys stand in double quotes, not in single ones";
  if (rest.startsWith("#")) return COMMENT;
  if (/^[\u201c\u201d\u201e]/.test(rest)) return 'these are typographic quotes; JSON knows the straight one only: "';
  const [, word, colon] = /^([A-Za-z_$][\w$-]*)(\s*:)?/.exec(rest) ?? [];
  if (word === undefined) return undefined;
  if (colon !== undefined) return `the key ${word} must stand in double quotes: "${word}"`;
  if (/^[+-]?(?:NaN|Infinity)$/.test(word)) return `${word} is no number that JSON knows`;
  if (/^(?:true|false|null|none|undefined)$/i.test(word)) return `'${word}' is no value that JSON knows; it knows true, false and null`;
  return "a text must stand in double quotes";
}

/** The parser recurses, so the depth is found by the scanner, which does not. */
function firstTooDeep(text: string): number | undefined {
  const scanner = parser().createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== END; token = scanner.scan()) {
    if (CLOSING.has(token)) depth -= 1;
    else if (OPENING.has(token)) {
      depth += 1;
      if (depth > MAX_DEPTH) return scanner.getTokenOffset();
    }
  }
  return undefined;
}

/**
 * Copies a value that was passed in code, as JSON would: undefined members are omitted. Throws `SVC_CONFIG_SYNTAX` naming the place for values
 * without a JSON form (functions, NaN, cycles), `SVC_CONFIG_KEY` for a forbidden key.
 */
export function copyPlain(value: unknown): Record<string, unknown> {
  const where = "the configuration value";
  const copy = (from: unknown, path: string, depth: number): unknown => {
    const refuse = (reason: string) => fail("SVC_CONFIG_SYNTAX", { where: path === "" ? where : `${where} at ${path}`, reason });
    if (depth > MAX_DEPTH) throw refuse(`it is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
    if (from === null || typeof from === "string" || typeof from === "boolean" || (typeof from === "number" && Number.isFinite(from))) return from;
    if (Array.isArray(from)) return from.map((item, index) => copy(item, `${path}[${index}]`, depth + 1));
    const prototype = typeof from === "object" ? Object.getPrototypeOf(from) : undefined;
    if (!isRecord(from) || (prototype !== null && Object.getPrototypeOf(prototype) !== null)) throw refuse("JSON cannot hold this value");
    const object: Record<string, unknown> = {};
    for (const key of Object.keys(from)) {
      if (isForbiddenKey(key)) throw fail("SVC_CONFIG_KEY", { where: path === "" ? where : path, key });
      if (from[key] !== undefined) object[key] = copy(from[key], path === "" ? key : `${path}.${key}`, depth + 1);
    }
    return object;
  };
  if (!isRecord(value)) throw fail("SVC_CONFIG_SYNTAX", { where, reason: "the whole configuration must be one object { ... }" });
  return copy(value, "", 1) as Record<string, unknown>;
}
