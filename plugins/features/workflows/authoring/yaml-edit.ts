import type * as Yaml from "yaml";
import { isRecord } from "../definition/json.ts";
import { yaml } from "../definition/yaml-library.ts";

/** A value as YAML, without aliases and folded lines. */
export const yamlText = (value: object): string => yaml().stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });

/**
 * Returns the YAML text with another value: unchanged parts keep their formatting and comments. The nodes of a definition are matched by their ids,
 * so that a comment stays with its node. `before` must be a text that was read without an error.
 */
export function editYaml(before: string, value: Readonly<Record<string, unknown>>): string {
  const document = yaml().parseDocument(before, { version: "1.2", schema: "core", merge: false });
  // An alias that is written out would be changed in two places.
  if (document.errors.length > 0 || !yaml().isMap(document.contents) || /[&*][^\s]/.test(withoutScalars(document))) return yamlText(value);
  setMap(document, document.contents, value);
  return document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER, ...manners(before) });
}

/** Detects the author's formatting: a change of one node must not reformat the rest. */
const manners = (text: string): Yaml.ToStringOptions => ({
  flowCollectionPadding: !/\{[^\s{}]/.test(text) || /\{ +\S/.test(text.replace(/\{\{.*?\}\}/g, "")),
  indentSeq: !/^(\w+):[ \t]*(?:#.*)?\n(?:#.*\n)*- /m.test(text),
});

/**
 * Why a change of the value cannot be written into the text without taking away something that its author wrote; undefined where it can.
 * Lines and columns count from 1.
 */
export function lockOf(text: string): { readonly line: number; readonly column: number; readonly reason: string } | undefined {
  const lines = new (yaml().LineCounter)();
  const document = yaml().parseDocument(text, { version: "1.2", schema: "core", merge: false, lineCounter: lines });
  let found: Yaml.Node | undefined;
  yaml().visit(document, {
    Alias(_key, node) {
      found = node;
      return yaml().visit.BREAK;
    },
  });
  if (found === undefined) return undefined;
  const { line, col } = lines.linePos(found.range?.[0] ?? 0);
  return { line, column: col, reason: `the alias *${(found as Yaml.Alias).source} stands for what is written elsewhere` };
}

/** `*` where the document holds an alias, and nothing where it does not. */
function withoutScalars(document: Yaml.Document): string {
  let found = "";
  yaml().visit(document, {
    Alias() {
      found = "*x";
    },
  });
  return found;
}

function setMap(document: Yaml.Document, map: Yaml.YAMLMap, value: Readonly<Record<string, unknown>>): void {
  for (const key of map.items.map((pair) => String(yaml().isScalar(pair.key) ? pair.key.value : pair.key))) if (!Object.hasOwn(value, key)) map.delete(key);
  for (const [key, entry] of Object.entries(value)) {
    const node = map.get(key, true) as Yaml.Node | undefined;
    const kept = node === undefined ? undefined : setNode(document, node, entry);
    if (kept === undefined) map.set(key, document.createNode(entry));
  }
}

/** The node with the value, where it can hold it; undefined where another one is needed. */
function setNode(document: Yaml.Document, node: Yaml.Node, value: unknown): Yaml.Node | undefined {
  const { isMap, isScalar, isSeq } = yaml();
  if (isMap(node) && isRecord(value)) {
    setMap(document, node, value);
    return node;
  }
  if (isSeq(node) && Array.isArray(value)) {
    setList(document, node, value);
    return node;
  }
  if (!isScalar(node) || (typeof value === "object" && value !== null)) return undefined;
  if (node.value !== value) {
    // Do not keep the number format of the old value, such as 0x10.
    if (typeof value !== "string") delete node.format;
    delete (node as { source?: string }).source;
    node.value = value;
  }
  return node;
}

function setList(document: Yaml.Document, list: Yaml.YAMLSeq, values: readonly unknown[]): void {
  const before = [...list.items] as (Yaml.Node | null)[];
  const byId = new Map(before.flatMap((node) => (yaml().isMap(node) && typeof node.get("id") === "string" ? [[node.get("id"), node] as const] : [])));
  list.items = values.map((value, index) => {
    const id = isRecord(value) ? value["id"] : undefined;
    const node = typeof id === "string" ? byId.get(id) : before[index];
    return (node === undefined || node === null ? undefined : setNode(document, node, value)) ?? document.createNode(value);
  });
}
