import { type Graph, type GraphNode, portOf } from "./graph-types.ts";
import { portsOf } from "./ports.ts";

/** Where the tokens of a graph begin. */
export const startOf = ({ nodes, start }: Graph): string | undefined => start ?? (nodes.find(({ kind }) => kind === "trigger") ?? nodes[0])?.id;

/** Edges by the node they leave, in the order of its ports. */
export function waysOf({ nodes, edges }: Graph): ReadonlyMap<string, readonly string[]> {
  const ways = new Map<string, { to: string; rank: number }[]>(nodes.map(({ id }) => [id, []]));
  const ports = new Map(nodes.map((node) => [node.id, portsOf(node).ports]));
  for (const edge of edges) {
    const rank = ports.get(edge.from)?.indexOf(portOf(edge)) ?? -1;
    if (ways.has(edge.to)) ways.get(edge.from)?.push({ to: edge.to, rank: rank < 0 ? 100 : rank });
  }
  return new Map([...ways].map(([id, to]) => [id, to.sort((one, other) => one.rank - other.rank).map(({ to: node }) => node)]));
}

/**
 * The nodes in the order in which a run comes to them: each after those that lead to it, but for edges that lead back; nodes that nothing
 * leads to come last, as the file has them.
 */
export function flowOrder(graph: Graph): readonly GraphNode[] {
  const ways = waysOf(graph);
  const done: string[] = [];
  const seen = new Set<string>();
  const visit = (start: string) => {
    if (seen.has(start)) return;
    seen.add(start);
    // With a stack of its own: a chain may have 500 nodes.
    const stack = [{ id: start, left: [...(ways.get(start) ?? [])] }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      // From the last way: the order is turned round in the end.
      const next = top.left.pop();
      if (next === undefined) {
        done.push(top.id);
        stack.pop();
      } else if (!seen.has(next)) {
        seen.add(next);
        stack.push({ id: next, left: [...(ways.get(next) ?? [])] });
      }
    }
  };
  const start = startOf(graph);
  if (start !== undefined && ways.has(start)) visit(start);
  const reached = done.reverse();
  const rest = graph.nodes.filter(({ id }) => !seen.has(id));
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  return [...reached.map((id) => byId.get(id) as GraphNode), ...rest];
}
