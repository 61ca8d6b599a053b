import { bodyOf, edgeKey, type Graph, type GraphDefinition, type GraphEdge, type GraphNode } from "../../graph/graph-types.ts";

/** One thing that two definitions differ in. */
export interface Change {
  readonly what: "node" | "edge" | "field";
  readonly how: "added" | "removed" | "changed";
  /** The node, the edge as `a.port > b`, or the field at the top. */
  readonly name: string;
  /** Of a changed node: its fields that differ. */
  readonly fields?: readonly string[];
}

/** Whether two values of JSON are the same. The order of keys does not count. */
export function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [ours, theirs] = [Object.keys(one), Object.keys(other)];
  return ours.length === theirs.length && ours.every((key) => Object.hasOwn(other, key) && same(one[key as never], other[key as never]));
}

const record = (value: object): Readonly<Record<string, unknown>> => value as Record<string, unknown>;

/** Keys of either that differ. */
export const differing = (one: object, other: object): readonly string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !same(record(one)[key], record(other)[key]));

/** Returns the changes between two definitions, by nodes, edges and fields; the order of nodes in the file does not count. */
export function changesOf(before: GraphDefinition, after: GraphDefinition): readonly Change[] {
  if (before === after) return [];
  const top = differing(before, after).filter((field) => field !== "nodes" && field !== "edges");
  return [
    ...top.map(
      (field): Change => ({ what: "field", how: !Object.hasOwn(before, field) ? "added" : Object.hasOwn(after, field) ? "changed" : "removed", name: field }),
    ),
    ...graphChanges(before, after),
  ];
}

function graphChanges(before: Graph, after: Graph): readonly Change[] {
  const changes: Change[] = [];
  const theirs = new Map(before.nodes.map((node) => [node.id, node]));
  const ours = new Map(after.nodes.map((node) => [node.id, node]));
  for (const [id, node] of ours) {
    const old = theirs.get(id);
    if (old === undefined) changes.push({ what: "node", how: "added", name: id });
    else if (old !== node) changes.push(...nodeChanges(old, node));
  }
  for (const id of theirs.keys()) if (!ours.has(id)) changes.push({ what: "node", how: "removed", name: id });
  // An edge goes with its node: it is told only where both ends are there before and after.
  const told = ({ from, to }: GraphEdge) => theirs.has(from) && theirs.has(to) && ours.has(from) && ours.has(to);
  const oldEdges = new Map(before.edges.map((edge) => [edgeKey(edge), edge]));
  const newEdges = new Map(after.edges.map((edge) => [edgeKey(edge), edge]));
  for (const [key, edge] of newEdges) if (!oldEdges.has(key) && told(edge)) changes.push({ what: "edge", how: "added", name: shown(edge) });
  for (const [key, edge] of oldEdges) if (!newEdges.has(key) && told(edge)) changes.push({ what: "edge", how: "removed", name: shown(edge) });
  return changes;
}

function nodeChanges(before: GraphNode, after: GraphNode): readonly Change[] {
  const fields = differing(before, after);
  const [old, body] = [bodyOf(before), bodyOf(after)];
  const inside = old !== undefined && body !== undefined && fields.includes("do");
  const own = inside ? fields.filter((field) => field !== "do") : fields;
  const inner = inside
    ? [...(old.start === body.start ? [] : [{ what: "node", how: "changed", name: after.id, fields: ["do.start"] } as const]), ...graphChanges(old, body)]
    : [];
  return own.length === 0 ? inner : [{ what: "node", how: "changed", name: after.id, fields: own }, ...inner];
}

const shown = ({ from, to, fromPort }: GraphEdge): string => `${from}${fromPort === undefined || fromPort === "out" ? "" : `.${fromPort}`} > ${to}`;
