import { yamlTrouble } from "@svc/sdk/foreign-text";
import { parseDocument, stringify } from "yaml";

/** A node: something that work is for. */
export interface GraphNode {
  readonly id: string;
  readonly title: string;
  /** Id of its parent; absent for a root. */
  readonly parent?: string;
  /** Ids of related nodes. */
  readonly links: readonly string[];
  /** Words that people ask with. */
  readonly keywords: readonly string[];
  readonly text: string;
}

/** A change of the graph that somebody proposes. */
export interface GraphChange {
  readonly change: "add" | "edit" | "remove";
  /** For `remove` its id alone counts. */
  readonly node: GraphNode;
  /** From 0 to 1, as its author says. */
  readonly confidence: number;
  readonly by?: string;
  readonly reason?: string;
  /** Comment of the reviewing agent. */
  readonly review?: string;
}

/** The value of a file, or its error with the position. */
export type Read<T> = { readonly value: T; readonly problem?: undefined } | { readonly value?: undefined; readonly problem: string };

/** Of one file. */
export const MAX_BYTES = 65_536;
/** Format of an id. */
export const ID = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
const LONGEST_TITLE = 120;
const LONGEST_TEXT = 4_000;
const MOST_NAMES = 50;

/** A node out of the text of its file. */
export function readNode(id: string, text: string): Read<GraphNode> {
  const { value, problem } = readYaml(text);
  return problem === undefined ? nodeOf(id, value) : { problem };
}

/** A change out of the text of a draft. */
export function readChange(text: string): Read<GraphChange> {
  const { value, problem } = readYaml(text);
  return problem === undefined ? changeOf(value) : { problem };
}

/** A change out of a value that an agent or a person has made. */
export function changeOf(given: unknown): Read<GraphChange> {
  const { change, id, confidence, by, reason, review, ...rest } = (given ?? {}) as Record<string, unknown>;
  if (change !== "add" && change !== "edit" && change !== "remove") return { problem: "its change is none of add, edit and remove" };
  if (typeof id !== "string" || !ID.test(id)) return { problem: "its id is not made of up to 64 lower-case letters, digits, '-', '_' and '.'" };
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) return { problem: "its confidence is no number from 0 to 1" };
  const read = nodeOf(id, change === "remove" ? { title: id, ...rest } : rest);
  if (read.value === undefined) return read;
  const words = Object.fromEntries(
    Object.entries({ by, reason, review }).flatMap(([key, one]) => (typeof one === "string" ? [[key, one.slice(0, 1_000)]] : [])),
  );
  return { value: { change, node: read.value, confidence, ...words } };
}

function nodeOf(id: string, value: Record<string, unknown>): Read<GraphNode> {
  const { title, parent, links = [], keywords = [], text = "" } = value;
  if (typeof title !== "string" || title.trim() === "") return { problem: "it has no title" };
  if (parent !== undefined && parent !== null && (typeof parent !== "string" || !ID.test(parent))) return { problem: "its parent is no id" };
  if (!isNames(links) || links.some((link) => !ID.test(link))) return { problem: "its links are no list of ids" };
  if (!isNames(keywords)) return { problem: "its keywords are no list of words" };
  if (typeof text !== "string") return { problem: "its text is no text" };
  return {
    value: {
      id,
      title: title.trim().slice(0, LONGEST_TITLE),
      ...(typeof parent === "string" ? { parent } : {}),
      links: links.slice(0, MOST_NAMES),
      keywords: keywords.slice(0, MOST_NAMES),
      text: text.trim().slice(0, LONGEST_TEXT),
    },
  };
}

const isNames = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((one) => typeof one === "string");

function readYaml(text: string): Read<Record<string, unknown>> {
  const trouble = yamlTrouble(text);
  if (trouble !== undefined) return { problem: `line 1: ${trouble}` };
  const document = parseDocument(text, { schema: "core", uniqueKeys: true, logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) return { problem: `line ${error.linePos?.[0].line ?? 1}: ${error.message.split("\n")[0]?.replace(/ at line .*$/, "")}` };
  try {
    const value = document.toJS({ maxAliasCount: 0 }) as unknown;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: "line 1: it holds no keys" };
    return { value: value as Record<string, unknown> };
  } catch (problem) {
    return { problem: `line 1: it is no plain YAML (${(problem as Error).message})` };
  }
}

/** The text of a node's file. */
export const nodeText = ({ id: _, links, keywords, text, ...rest }: GraphNode): string =>
  stringify({ ...rest, ...(links.length === 0 ? {} : { links }), ...(keywords.length === 0 ? {} : { keywords }), ...(text === "" ? {} : { text }) });

/** The text of a draft's file. */
export const changeText = ({ node: { id, ...node }, change, ...rest }: GraphChange): string => stringify({ change, id, ...rest, ...node });
