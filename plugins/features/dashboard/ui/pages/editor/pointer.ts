import { allNodes, bodyOf, type Graph, type GraphDefinition, type Scope } from "../../graph/graph-types.ts";
import type { Problem } from "./editor-types.ts";

/** Where in a graph a problem is: which node of which graph, and below it which field. */
export interface Whereabouts {
  readonly scope: Scope;
  /** Absent: the workflow as a whole, or an edge. */
  readonly node?: string;
  /** As forms write it: `cases[0].when`; empty for the node as a whole. */
  readonly field: string;
}

const keysOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Resolves a pointer of the check. */
export function whereIs(definition: GraphDefinition, pointer: string): Whereabouts {
  let keys = keysOf(pointer);
  let graph: Graph | undefined = definition;
  const scope: string[] = [];
  for (;;) {
    const [list, index, ...rest] = keys;
    if (list === "edges") {
      const edge = graph?.edges[Number(index)];
      return { scope, ...(edge === undefined ? {} : { node: edge.from }), field: "" };
    }
    const node = list === "nodes" ? graph?.nodes[Number(index)] : undefined;
    if (node === undefined) return { scope, ...(scope.length === 0 ? {} : { node: scope.at(-1) as string, scope: scope.slice(0, -1) }), field: fieldOf(keys) };
    if (rest[0] !== "do" || bodyOf(node) === undefined || rest.length < 2) return { scope, node: node.id, field: fieldOf(rest) };
    scope.push(node.id);
    graph = bodyOf(node);
    keys = rest.slice(1);
  }
}

const fieldOf = (keys: readonly string[]): string =>
  keys.reduce((text, key) => (/^\d+$/.test(key) ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`), "");

/** Returns the worst severity of each node; a `forEach` includes its body. */
export function findingsByNode(definition: GraphDefinition, problems: readonly Problem[]): ReadonlyMap<string, "error" | "warning"> {
  const found = new Map<string, "error" | "warning">();
  const known = new Set(allNodes(definition).map(({ id }) => id));
  for (const { pointer, severity } of problems) {
    const { node, scope } = whereIs(definition, pointer);
    for (const id of [...scope, ...(node === undefined ? [] : [node])]) if (known.has(id) && found.get(id) !== "error") found.set(id, severity);
  }
  return found;
}
