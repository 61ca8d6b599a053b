import type { Executed, GraphEdge, GraphNode } from "./run-types.ts";

/** A node with its place: the ids of the `forEach` nodes around it, and the edges of its own graph. */
export interface PlacedNode {
  readonly node: GraphNode;
  readonly around: readonly string[];
  readonly edges: readonly GraphEdge[];
}

/** All nodes of a definition by id, those in bodies behind their `forEach`, in the order of the file. */
export function nodesOf({ nodes, edges }: Executed["definition"]): ReadonlyMap<string, PlacedNode> {
  const placed = new Map<string, PlacedNode>();
  const walk = (some: readonly GraphNode[], ways: readonly GraphEdge[], around: readonly string[]) => {
    for (const node of some) {
      placed.set(node.id, { node, around, edges: ways });
      if (node.do !== undefined) walk(node.do.nodes, node.do.edges ?? [], [...around, node.id]);
    }
  };
  walk(nodes, edges, []);
  return placed;
}

/** Returns the display name of a node. */
export const labelOf = (node: GraphNode | undefined, id: string): string => (node?.label === undefined || node.label === "" ? id : node.label);
