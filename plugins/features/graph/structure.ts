import type { GraphChange, GraphNode } from "./graph-node.ts";
import type { GraphSettings } from "./settings.ts";

/** The nodes by id. */
export type Nodes = ReadonlyMap<string, GraphNode>;

/** Why a change cannot be made, approved or not; undefined where it can. */
export function troubleWith({ change, node }: GraphChange, nodes: Nodes): string | undefined {
  const there = nodes.get(node.id);
  if (change === "add" && there !== undefined) return `there is a node '${node.id}' already`;
  if (change !== "add" && there === undefined) return `there is no node '${node.id}'`;
  if (change === "remove") {
    const child = [...nodes.values()].find(({ parent }) => parent === node.id);
    return child === undefined ? undefined : `'${child.id}' is a part of it`;
  }
  for (const other of [...(node.parent === undefined ? [] : [node.parent]), ...node.links]) {
    if (other === node.id) return "it names itself";
    if (!nodes.has(other)) return `it names '${other}', which is not there`;
  }
  // A part of one of its own parts.
  const seen = new Set<string>();
  for (let at = node.parent; at !== undefined && !seen.has(at); at = nodes.get(at)?.parent) {
    if (at === node.id) return "it would be a part of itself";
    seen.add(at);
  }
  return undefined;
}

/** A new node below one that is there: nothing else becomes another. */
export const extendsLeaves = ({ change, node }: GraphChange, nodes: Nodes): boolean =>
  change === "add" && node.parent !== undefined && nodes.has(node.parent) && !nodes.has(node.id);

/** Whether a change that can be made is approved without review (OPS-07): by its structure, or by its confidence. */
export function isApproved(
  change: GraphChange,
  nodes: Nodes,
  { autoApproveStructure, autoApproveConfidence }: Pick<GraphSettings, "autoApproveStructure" | "autoApproveConfidence">,
): boolean {
  const byStructure = autoApproveStructure === "any" || (autoApproveStructure === "extend-leaves" && extendsLeaves(change, nodes));
  return byStructure || change.confidence >= autoApproveConfidence;
}
