import { edgeKey, type GraphDefinition, type GraphEdge, type GraphNode } from "../../graph/graph-types.ts";
import { differing, same } from "./changes.ts";

/** Something that both sides have changed, each in its way. Undefined: not there. */
export interface Conflict {
  /** `<node>.<field>`, `<node>` where one side has removed it, or a field at the top. */
  readonly key: string;
  readonly base: unknown;
  readonly theirs: unknown;
  readonly yours: unknown;
}

/** Winning side by the key of a conflict; yours by default. */
export type Choices = ReadonlyMap<string, "theirs" | "yours">;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Two definitions that were made of one, as one: what only one side has changed is taken from that side, and nothing is lost. What both have
 * changed is a conflict, and is taken from the side that was chosen.
 */
export function merge(
  base: GraphDefinition,
  theirs: GraphDefinition,
  yours: GraphDefinition,
  choices: Choices = new Map(),
): {
  readonly merged: GraphDefinition;
  readonly conflicts: readonly Conflict[];
} {
  const conflicts: Conflict[] = [];
  const choose = (key: string, from: { base: unknown; theirs: unknown; yours: unknown }): unknown => {
    if (same(from.theirs, from.yours) || same(from.yours, from.base)) return from.theirs;
    if (same(from.theirs, from.base)) return from.yours;
    conflicts.push({ key, ...from });
    return choices.get(key) === "theirs" ? from.theirs : from.yours;
  };
  const fields = (prefix: string, one: Fields, other: Fields, mine: Fields, left: ReadonlySet<string>): Fields => {
    const merged: Record<string, unknown> = {};
    for (const key of new Set([...Object.keys(other), ...Object.keys(mine), ...Object.keys(one)])) {
      if (left.has(key)) continue;
      const value = choose(prefix + key, { base: one[key], theirs: other[key], yours: mine[key] });
      if (value !== undefined) merged[key] = value;
    }
    return merged;
  };
  const top = fields("", base, theirs, yours, new Set(["nodes", "edges"]));
  const [was, his, mine] = [base, theirs, yours].map(({ nodes }) => new Map(nodes.map((node) => [node.id, node])));
  const nodes: GraphNode[] = [];
  for (const id of new Set([...(his as Map<string, GraphNode>).keys(), ...(mine as Map<string, GraphNode>).keys()])) {
    const [old, other, own] = [was?.get(id), his?.get(id), mine?.get(id)];
    // Nodes of two kinds are two nodes, whatever they are called.
    if (other !== undefined && own !== undefined && old !== undefined && other.kind === own.kind)
      nodes.push(fields(`${id}.`, old, other, own, new Set()) as GraphNode);
    else {
      const value = choose(id, { base: old, theirs: other, yours: own }) as GraphNode | undefined;
      if (value !== undefined) nodes.push(value);
    }
  }
  return { merged: { ...top, nodes, edges: mergedEdges(base, theirs, yours, new Set(nodes.map(({ id }) => id))) } as GraphDefinition, conflicts };
}

/** An edge is there or not: what one side took away is gone, what one side added is there. */
function mergedEdges(base: GraphDefinition, theirs: GraphDefinition, yours: GraphDefinition, ids: ReadonlySet<string>): readonly GraphEdge[] {
  const [was, his, mine] = [base, theirs, yours].map(({ edges }) => new Map(edges.map((edge) => [edgeKey(edge), edge]))) as [
    Map<string, GraphEdge>,
    Map<string, GraphEdge>,
    Map<string, GraphEdge>,
  ];
  const edges: GraphEdge[] = [];
  for (const [key, edge] of new Map([...his, ...mine])) {
    const kept = was.has(key) ? his.has(key) && mine.has(key) : true;
    if (kept && ids.has(edge.from) && ids.has(edge.to)) edges.push(edge);
  }
  return edges;
}

/** Fields in which a definition differs from what it was made of: none where it is the same. */
export const isSame = (one: GraphDefinition, other: GraphDefinition): boolean => differing(one, other).length === 0;
