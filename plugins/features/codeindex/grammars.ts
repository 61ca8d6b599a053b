import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type * as TreeSitter from "@vscode/tree-sitter-wasm";
import { type Definition, definitionsIn, type Found } from "./definitions.ts";
import { LANGUAGES } from "./languages.ts";

/** Reads code: the grammars are WebAssembly, loaded with the first file of their language. Belongs into a thread of its own: it blocks. */
export interface CodeReader {
  /** Returns the definitions of the code, in the order of its lines. Throws if that takes longer than 10 s. */
  definitions(language: string, code: string): readonly Definition[];
  /** Where a name stands in the code, without comments and strings. Throws as `definitions` does. */
  places(language: string, code: string, name: string): readonly Found[];
}

interface Loaded {
  readonly language: TreeSitter.Language;
  readonly query: TreeSitter.Query;
}

interface Reading {
  matches(root: TreeSitter.Node): readonly TreeSitter.QueryMatch[];
  /** Throws if the time for the file is over. */
  requireTime(): void;
}

/** For one file: code takes some ms; what is nested without end, or no code, takes time that grows with the square of its length. */
const MOST_MS = 10_000;

/** Loads what reads code. */
export async function createCodeReader(mostMs = MOST_MS): Promise<CodeReader & { load(language: string): Promise<void> }> {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve("@vscode/tree-sitter-wasm"));
  const { Language, Parser, Query } = require("@vscode/tree-sitter-wasm") as typeof TreeSitter;
  await Parser.init({ locateFile: (file: string) => join(folder, file) });
  const parser = new Parser();
  const loaded = new Map<string, Loaded>();

  function parsed<T>(name: string, code: string, read: (root: TreeSitter.Node, reading: Reading) => T): T {
    const grammar = loaded.get(name);
    if (grammar === undefined) throw new Error(`the grammar of ${name} is not loaded`);
    parser.setLanguage(grammar.language);
    const until = performance.now() + mostMs;
    let late = false;
    const progressCallback = (): boolean => {
      late = performance.now() > until;
      return late;
    };
    const tooLong = () => new Error(`it takes longer than ${mostMs / 1000} s to read`);
    const requireTime = (): void => {
      if (progressCallback()) throw tooLong();
    };
    const matches = (root: TreeSitter.Node) => grammar.query.matches(root, { progressCallback });
    let tree: TreeSitter.Tree | null = null;
    try {
      tree = parser.parse(code, null, { progressCallback });
      if (tree === null) throw tooLong();
      const found = read(tree.rootNode, { matches, requireTime });
      if (late) throw tooLong();
      return found;
    } finally {
      tree?.delete();
      parser.reset();
    }
  }

  return {
    async load(name) {
      const known = LANGUAGES[name];
      if (loaded.has(name) || known === undefined) return;
      const language = await Language.load(readFileSync(join(folder, `tree-sitter-${known.grammar}.wasm`)));
      loaded.set(name, { language, query: new Query(language, known.query) });
    },
    definitions: (name, code) => parsed(name, code, (root, { matches }) => definitionsIn(matches(root), code)),
    places: (language, code, name) =>
      parsed(language, code, (root, { requireTime }) => {
        const lines = code.split("\n");
        const found: Found[] = [];
        for (const [row, line] of lines.entries()) {
          for (let at = line.indexOf(name); at !== -1; at = line.indexOf(name, at + name.length)) {
            requireTime();
            const node = root.descendantForPosition({ row, column: at }, { row, column: at + name.length });
            if (node?.text === name && !/comment|string|text/.test(node.type)) found.push({ line: row + 1, text: line.trim() });
          }
        }
        return found.filter(({ line }, index) => found[index - 1]?.line !== line);
      }),
  };
}
