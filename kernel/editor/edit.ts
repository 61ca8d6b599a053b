import type { ObjectSchema, Schema } from "@svc/sdk";
import type { Node } from "jsonc-parser";
import { type ConfigPath, formatPath, parsePath, valueAt } from "../base/config-path.ts";
import { parseText } from "../base/config-text/parse.ts";
import { fail } from "../base/errors.ts";
import { branches } from "../base/schema/schema-walk.ts";
import type { ComposedSchema } from "../core/config/compose.ts";
import { schemasAt, suggestion } from "./setting-schema.ts";

/** A text in which one setting was changed; every other character is as it was. */
export interface Edit {
  readonly text: string;
  readonly path: ConfigPath;
  /** As written, with `${NAME}` references; undefined if absent. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The value at `path` of a checked or raw configuration; undefined for an absent one. Throws `SVC_CONFIG_PATH` and `SVC_CONFIG_KEY`. */
export function getValue(value: unknown, path: string): unknown {
  return valueAt(value, parsePath(path));
}

/**
 * Sets one setting in the text of svc.json, its type decided by the schema (CFG-21): a chat id stays a text, objects and lists are
 * given as JSON. Nothing is validated beyond the type: check the new text before it is saved. Throws `SVC_CONFIG_PATH` for an
 * unknown setting, `SVC_CONFIG_VALUE` for a value of the wrong type, `SVC_CONFIG_KEY` for the forbidden names.
 */
export function setValue(text: string, path: string, value: string, composed: ComposedSchema): Edit {
  const { tree, raw } = parseText(text, "svc.json");
  const segments = indexed(parsePath(path), raw, composed.root);
  const schemas = requireSetting(path, segments, composed);
  const after = typed(schemas, value, formatPath(segments));
  const changed = put(text, tree, segments, after);
  // A value passed as JSON may contain something that a configuration must not.
  parseText(changed, "svc.json");
  return { text: changed, path: segments, before: valueAt(raw, segments), after };
}

/** Removes one setting from the text of svc.json; a path that does not exist leaves the text unchanged. Throws `SVC_CONFIG_PATH` and `SVC_CONFIG_KEY`. */
export function removeValue(text: string, path: string): Edit {
  const { tree, raw } = parseText(text, "svc.json");
  const segments = indexed(parsePath(path), raw);
  const before = valueAt(raw, segments);
  return { text: before === undefined ? text : cut(text, tree, segments), path: segments, before, after: undefined };
}

/**
 * Returns the text with a value at a path, whose list positions are numbers; missing parents are created. Throws `SVC_CONFIG_VALUE` if the value
 * cannot be put there.
 */
export function putValue(text: string, path: ConfigPath, value: unknown): string {
  return put(text, parseText(text, "svc.json").tree, path, value);
}

/** Returns the text without the value at a path. */
export function cutValue(text: string, path: ConfigPath): string {
  const { tree, raw } = parseText(text, "svc.json");
  return valueAt(raw, path) === undefined ? text : cut(text, tree, path);
}

/** The schemas of a setting. Throws `SVC_CONFIG_PATH` for an unknown one. */
export function requireSetting(path: string, segments: ConfigPath, composed: ComposedSchema): readonly Schema[] {
  const schemas = schemasAt(composed.root, segments);
  if (schemas.length > 0) return schemas;
  const near = suggestion(composed.root, segments);
  throw fail("SVC_CONFIG_PATH", { path, reason: `there is no such setting${near === undefined ? "" : `; did you mean '${near}'?`}` });
}

/** `boards.0.id` and `boards[0].id` are the same where `boards` is a list, or would be one. */
function indexed(path: ConfigPath, raw: unknown, root?: ObjectSchema): ConfigPath {
  const segments: (string | number)[] = [];
  for (const segment of path) {
    const holder = valueAt(raw, segments);
    const isList = holder === undefined && root !== undefined ? typesOf(schemasAt(root, segments)).has("array") : Array.isArray(holder);
    segments.push(isList && /^\d+$/.test(String(segment)) ? Number(segment) : String(segment));
  }
  return segments;
}

const typesOf = (schemas: readonly Schema[]): ReadonlySet<string> => new Set(schemas.flatMap(branches).flatMap((schema) => schema.type ?? []));

function typed(schemas: readonly Schema[], value: string, path: string): unknown {
  const types = typesOf(schemas);
  const free = types.size === 0;
  const takes = (type: string) => free || types.has(type);
  if ((takes("number") || takes("integer")) && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value) && Number.isFinite(Number(value)))
    return Number(value);
  if (takes("boolean") && (value === "true" || value === "false")) return value === "true";
  if (takes("null") && value === "null") return null;
  const opening = value.trimStart().charAt(0);
  // Where no schema decides, quotes say that digits are a text.
  if ((takes("array") && opening === "[") || (takes("object") && opening === "{") || (free && opening === '"')) {
    try {
      return JSON.parse(value);
    } catch {
      // A string may begin like JSON; for other types the error below names the expected type.
    }
  }
  if (takes("string")) return value;
  const wanted = [...types].map((type) => WANTED[type] ?? type).join(" or ");
  throw fail("SVC_CONFIG_VALUE", { path, reason: `must be ${wanted}` });
}

const WANTED: Readonly<Record<string, string>> = {
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: 'a list as JSON, such as ["one", "two"]',
  object: 'an object as JSON, such as {"key": "value"}',
};

function put(text: string, tree: Node, path: ConfigPath, value: unknown): string {
  let node = tree;
  for (const [depth, segment] of path.entries()) {
    const child = childAt(node, segment);
    if (child === undefined) {
      const nested = path
        .slice(depth + 1)
        .reduceRight<unknown>((inner, key) => (typeof key === "number" ? firstOf(key, inner, path) : { [key]: inner }), value);
      return insert(text, node, segment, nested, formatPath(path.slice(0, depth)));
    }
    node = child;
  }
  return splice(text, node.offset, node.offset + node.length, write(value, text, indentAt(text, node.offset), isInline(text, node)));
}

/** A list that does not exist yet starts with entry 0. */
function firstOf(index: number, entry: unknown, path: ConfigPath): readonly unknown[] {
  if (index !== 0) throw fail("SVC_CONFIG_VALUE", { path: formatPath(path), reason: `has no entry ${index}; the next one is 0` });
  return [entry];
}

function childAt(node: Node, segment: string | number): Node | undefined {
  if (node.type === "array") return typeof segment === "number" ? node.children?.[segment] : undefined;
  return node.children?.find(({ children }) => node.type === "object" && children?.[0]?.value === segment)?.children?.[1];
}

function insert(text: string, parent: Node, segment: string | number, value: unknown, where: string): string {
  const isList = parent.type === "array";
  if (isList ? segment !== (parent.children?.length ?? 0) : parent.type !== "object") {
    throw fail("SVC_CONFIG_VALUE", {
      path: where,
      reason: isList ? `has no entry ${segment}; the next one is ${parent.children?.length ?? 0}` : "is no object that could hold it",
    });
  }
  const name = isList ? "" : `${JSON.stringify(segment)}: `;
  const last = parent.children?.at(-1);
  const end = parent.offset + parent.length;
  if (last === undefined) {
    const [open, close] = isList ? "[]" : "{}";
    if (!text.includes("\n")) return splice(text, parent.offset, end, `${open}${name}${JSON.stringify(value)}${close}`);
    const outer = indentAt(text, parent.offset);
    const inner = outer + unitOf(text);
    return splice(text, parent.offset, end, `${open}${lineEnd(text)}${inner}${name}${write(value, text, inner, false)}${lineEnd(text)}${outer}${close}`);
  }
  const at = last.offset + last.length;
  if (isInline(text, parent)) return splice(text, at, at, `, ${name}${JSON.stringify(value)}`);
  const indent = indentAt(text, last.offset);
  return splice(text, at, at, `,${lineEnd(text)}${indent}${name}${write(value, text, indent, false)}`);
}

function cut(text: string, tree: Node, path: ConfigPath): string {
  let parent = tree;
  for (const segment of path.slice(0, -1)) parent = childAt(parent, segment) ?? parent;
  const children = parent.children ?? [];
  const segment = path.at(-1);
  const index = parent.type === "array" ? Number(segment) : children.findIndex(({ children: pair }) => pair?.[0]?.value === segment);
  const child = children[index] as Node;
  const [previous, next] = [children[index - 1], children[index + 1]];
  if (previous !== undefined) return splice(text, previous.offset + previous.length, child.offset + child.length, "");
  if (next !== undefined) return splice(text, child.offset, next.offset, "");
  return splice(text, parent.offset, parent.offset + parent.length, parent.type === "array" ? "[]" : "{}");
}

const splice = (text: string, from: number, to: number, content: string): string => text.slice(0, from) + content + text.slice(to);
const lineEnd = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");
const unitOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
const isInline = (text: string, node: Node): boolean => !text.slice(node.offset, node.offset + node.length).includes("\n") && (node.children?.length ?? 0) > 0;

/** The white space at the start of the line. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

function write(value: unknown, text: string, indent: string, inline: boolean): string {
  if (inline || !text.includes("\n")) return JSON.stringify(value);
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", `${lineEnd(text)}${indent}`);
}
