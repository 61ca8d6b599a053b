import type * as Yaml from "yaml";
import { type Finding, type Problem, pointerKeys, pointerPart } from "./problem.ts";
import { yaml } from "./yaml-library.ts";

/** A definition with fewer has 500 nodes of 20 lines. What the library does with hostile text grows faster than its length: 80,000 keys keep it busy for a minute. */
const MAX_LEXEMES = 60_000;
const MAX_ALIASES = 100;
/** Values after aliases are written out, and how deep they nest. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;
/** Signs such as `-` in one line outside of brackets, and spaces before the first of a line. */
const MAX_SIGNS = 50;
const MAX_INDENT = 200;
const HOSTILE: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);
const CORE_TAG = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

/** A place in a text, from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A text that was read as YAML 1.2 core. JSON is such a text. */
export interface YamlSource {
  /** Value as JSON; undefined if it cannot be parsed. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Where the value at a JSON pointer stands, or the nearest one around it. */
  place(pointer: string): Place;
}

/** Reads one document. Never throws for what the text says. */
export function readYaml(text: string): YamlSource {
  const lines = new (yaml().LineCounter)();
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const failed = (message: string, offset = 0): YamlSource => ({
    value: undefined,
    problems: [{ message, pointer: "", ...at(offset), severity: "error", code: "SYNTAX" }],
    place: () => ({ line: 1, column: 1 }),
  });
  let documents: readonly Yaml.Document.Parsed[];
  try {
    documents = documentsOf(text, lines);
  } catch (error) {
    return failed(error instanceof RangeError ? "The file is nested too deep." : (error as Error).message);
  }
  const [document, second] = documents;
  if (document === undefined || document.contents === null) return failed("The file is empty; write a workflow.");
  if (second !== undefined) return failed("The file holds several documents; write one workflow a file.", second.range[0]);
  const [error] = document.errors;
  if (error !== undefined) return failed(error.message.split(/ at line \d+|\n/)[0] ?? error.message, error.pos[0]);
  const reader = new ValueReader(document);
  const value = reader.read();
  const problems = reader.findings.map(({ offset, ...finding }): Problem => ({ ...finding, ...at(offset) }));
  return { value: problems.some(({ severity }) => severity === "error") ? undefined : value, problems, place: (pointer) => at(offsetOf(document, pointer)) };
}

function documentsOf(text: string, lines: Yaml.LineCounter): readonly Yaml.Document.Parsed[] {
  const { Lexer, Parser, Composer } = yaml();
  const parser = new Parser(lines.addNewLine);
  // Keys are compared in ValueReader: the library compares each with each.
  const composer = new Composer<Yaml.ParsedNode, true>({ version: "1.2", schema: "core", merge: false, uniqueKeys: false, customTags: [], lineCounter: lines });
  const documents: Yaml.Document.Parsed[] = [];
  const compose = (tokens: Iterable<Yaml.CST.Token>) => {
    for (const token of tokens) for (const document of composer.next(token)) if (documents.length < 2) documents.push(document as Yaml.Document.Parsed);
  };
  lines.addNewLine(0);
  const nesting = new Nesting();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > MAX_LEXEMES) throw new Error(`The file has more than ${MAX_LEXEMES} words and signs; make several workflows of it.`);
    nesting.see(lexeme);
    compose(parser.next(lexeme));
  }
  compose(parser.end());
  for (const document of composer.end(false, text.length)) documents.push(document as Yaml.Document.Parsed);
  return documents;
}

/**
 * Measures the nesting depth before the library parses the text: the library recurses for each level, and where the stack ends while V8 compiles a
 * regular expression, V8 ends the process.
 */
class Nesting {
  #brackets = 0;
  #signs = 0;
  #column = 0;

  see(lexeme: string): void {
    if (lexeme === "\n" || lexeme === "\r\n") this.#signs = this.#column = 0;
    else this.#column += lexeme.length;
    if (lexeme === "[" || lexeme === "{") this.#brackets += 1;
    else if ((lexeme === "]" || lexeme === "}") && this.#brackets > 0) this.#brackets -= 1;
    // In blocks a line opens a level for each of its signs, at a column above that of the level around it.
    const opens = lexeme === "-" || lexeme === "?" || lexeme === ":" || lexeme.startsWith("&") || lexeme.startsWith("!");
    if (opens && this.#brackets === 0) this.#signs += 1;
    const indent = this.#column === lexeme.length && lexeme.trim() === "" ? lexeme.length : 0;
    if (this.#brackets > MAX_DEPTH || this.#signs > MAX_SIGNS || indent > MAX_INDENT) throw new Error(`Values are nested more than ${MAX_DEPTH} levels deep.`);
  }
}

type Placed = Finding & { readonly offset: number };

/** Makes JSON of a document: the library's own has neither an end of aliases within aliases nor an eye on keys. */
class ValueReader {
  readonly findings: Placed[] = [];
  readonly #document: Yaml.Document.Parsed;
  readonly #open = new Set<Yaml.Node>();
  #values = 0;
  #aliases = 0;

  constructor(document: Yaml.Document.Parsed) {
    this.#document = document;
  }

  read(): unknown {
    return this.#value(this.#document.contents, "");
  }

  #refuse(message: string, pointer: string, node: Yaml.Node | null, code = "SYNTAX"): undefined {
    if (this.findings.length < 20) this.findings.push({ message, pointer, severity: "error", code, offset: node?.range?.[0] ?? 0 });
    return undefined;
  }

  #value(node: Yaml.Node | null, pointer: string): unknown {
    const { isAlias, isMap, isScalar, isSeq } = yaml();
    this.#values += 1;
    if (this.#values > MAX_VALUES)
      return this.#values === MAX_VALUES + 1 ? this.#refuse(`The file holds more than ${MAX_VALUES} values.`, pointer, node) : undefined;
    if (node === null) return null;
    if (isAlias(node)) return this.#alias(node, pointer);
    if (node.tag !== undefined && !CORE_TAG.test(node.tag))
      return this.#refuse(`The tag ${node.tag} is not taken; only those of YAML's core are.`, pointer, node);
    if (isScalar(node)) return this.#scalar(node.value, pointer, node);
    if (!isMap(node) && !isSeq(node)) return this.#refuse("This is neither a value, a list nor an object.", pointer, node);
    if (this.#open.has(node)) return this.#refuse("An alias stands within what it stands for.", pointer, node);
    if (this.#open.size >= MAX_DEPTH) return this.#refuse(`Values are nested more than ${MAX_DEPTH} levels deep.`, pointer, node);
    this.#open.add(node);
    const value = isSeq(node)
      ? node.items.map((item, index) => this.#value(item as Yaml.Node | null, `${pointer}/${index}`) ?? null)
      : this.#object(node as Yaml.YAMLMap<Yaml.Node, Yaml.Node | null>, pointer);
    this.#open.delete(node);
    return value;
  }

  #alias(node: Yaml.Alias, pointer: string): unknown {
    this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES)
      return this.#aliases === MAX_ALIASES + 1 ? this.#refuse(`The file has more than ${MAX_ALIASES} aliases.`, pointer, node) : undefined;
    const target = node.resolve(this.#document);
    return target === undefined ? this.#refuse(`The alias *${node.source} stands for nothing.`, pointer, node) : this.#value(target, pointer);
  }

  #scalar(value: unknown, pointer: string, node: Yaml.Node): unknown {
    if (typeof value === "number" && !Number.isFinite(value)) return this.#refuse("A number must be finite.", pointer, node);
    if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value;
    return this.#refuse("This value is none of JSON.", pointer, node);
  }

  #object(node: Yaml.YAMLMap<Yaml.Node, Yaml.Node | null>, pointer: string): unknown {
    const object: Record<string, unknown> = {};
    for (const { key, value } of node.items) {
      if (!yaml().isScalar(key) || key.value === null) {
        this.#refuse("A key must be a text.", pointer, key);
        continue;
      }
      const name = String(key.value);
      const inner = `${pointer}/${pointerPart(name)}`;
      if (HOSTILE.has(name)) this.#refuse(`The key ${name} is not taken.`, inner, key, "KEY");
      else if (Object.hasOwn(object, name)) this.#refuse(`The key ${name} stands here twice.`, inner, key, "DUPLICATE_KEY");
      else object[name] = this.#value(value, inner) ?? null;
    }
    return object;
  }
}

/** Where in the text a pointer leads, as far as it leads. */
function offsetOf(document: Yaml.Document.Parsed, pointer: string): number {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  let node: Yaml.Node | null | undefined = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const part of pointerKeys(pointer)) {
    if (isAlias(node)) node = node.resolve(document) as Yaml.Node | undefined;
    if (isSeq(node)) node = node.items[Number(part)] as Yaml.Node | undefined;
    else if (isMap(node)) {
      const pair: Yaml.Pair | undefined = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
      offset = (pair?.key as Yaml.Node | undefined)?.range?.[0] ?? offset;
      node = pair?.value as Yaml.Node | null | undefined;
    } else node = undefined;
    if (node === undefined || node === null) break;
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}
