import { GRAPH } from "../words/graph.ts";
import { heightOf, NODE_WIDTH } from "./auto-layout.ts";
import { flowOrder, startOf } from "./flow-order.ts";
import type { FlowEdge } from "./graph-edge.tsx";
import type { FlowNode, NodeData, NodeMark } from "./graph-node.tsx";
import { edgeKey, type Graph, type GraphNode, type Places, portOf } from "./graph-types.ts";
import { factsOf, nameOf } from "./node-facts.ts";
import { drawnPorts } from "./ports.ts";

/** Inputs of drawing the nodes. */
export interface NodeSources {
  readonly graph: Graph;
  readonly places: Places;
  readonly marks?: ReadonlyMap<string, NodeMark> | undefined;
  readonly findings?: ReadonlyMap<string, "error" | "warning"> | undefined;
  readonly selected: readonly string[];
  readonly onAdd?: ((id: string, port: string) => void) | undefined;
}

/** Converts the nodes of a graph for the library, in the order of the flow, which is that of Tab. Unchanged nodes stay the same objects. */
export function flowNodes({ graph, places, marks, findings, selected, onAdd }: NodeSources, before: readonly FlowNode[]): FlowNode[] {
  const old = new Map(before.map((node) => [node.id, node]));
  const chosen = new Set(selected);
  const order = flowOrder(graph);
  const start = startOf(graph);
  const leads = new Map<string, GraphNode[]>();
  const led = new Map<string, Set<string>>();
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  for (const edge of graph.edges) {
    const to = byId.get(edge.to);
    if (to === undefined) continue;
    leads.set(edge.from, [...(leads.get(edge.from) ?? []), to]);
    led.set(edge.from, (led.get(edge.from) ?? new Set()).add(portOf(edge)));
  }
  return order.map((node, index): FlowNode => {
    const { id } = node;
    const ports = drawnPorts(node, graph);
    const height = heightOf(ports.side.length);
    const data: NodeData = {
      node,
      ports,
      height,
      led: led.get(id) ?? new Set(),
      entry: node.kind === "trigger",
      idle: marks !== undefined && !marks.has(id),
      ...(marks?.get(id) === undefined ? {} : { mark: marks.get(id) }),
      ...(findings?.get(id) === undefined ? {} : { finding: findings.get(id) }),
      ...(onAdd === undefined ? {} : { onAdd }),
    };
    const [x, y] = places.get(id) ?? [0, 0];
    const known = old.get(id);
    const facts = known !== undefined && isSameData(known.data, data) ? known.data : data;
    const ariaLabel = spoken(node, { at: index + 1, of: order.length, leads: leads.get(id) ?? [], finding: data.finding, start: start === id });
    const isSelected = chosen.has(id);
    if (
      known !== undefined &&
      facts === known.data &&
      known.position.x === x &&
      known.position.y === y &&
      (known.selected ?? false) === isSelected &&
      known.ariaLabel === ariaLabel
    )
      return known;
    return { ...known, id, type: "workflow", position: { x, y }, width: NODE_WIDTH, height, data: facts, selected: isSelected, ariaLabel };
  });
}

const setsEqual = (one: ReadonlySet<string>, other: ReadonlySet<string>) => one.size === other.size && [...one].every((entry) => other.has(entry));

function isSameData(one: NodeData, other: NodeData): boolean {
  const marks = one.mark === other.mark || (one.mark?.state === other.mark?.state && one.mark?.note === other.mark?.note);
  const ports = one.ports.side.join() === other.ports.side.join() && one.ports.foot.join() === other.ports.foot.join();
  return (
    one.node === other.node &&
    ports &&
    setsEqual(one.led, other.led) &&
    one.idle === other.idle &&
    one.finding === other.finding &&
    marks &&
    one.onAdd === other.onAdd
  );
}

function spoken(
  node: GraphNode,
  { at, of, leads, finding }: { at: number; of: number; leads: readonly GraphNode[]; finding: "error" | "warning" | undefined; start: boolean },
): string {
  const ways = leads.length === 0 ? GRAPH.leadsNowhere : GRAPH.leadsTo([...new Set(leads.map(nameOf))].join(", "));
  return [nameOf(node), factsOf(node), GRAPH.step(at, of), ways, ...(finding === undefined ? [] : [GRAPH[finding]])].join(", ");
}

/** The edges of a graph as the library draws them; those to nodes that do not exist are left out. */
export function flowEdges(graph: Graph, taken: ReadonlySet<string> | undefined, selected: readonly string[]): FlowEdge[] {
  const ids = new Set(graph.nodes.map(({ id }) => id));
  const seen = new Set<string>();
  return graph.edges.flatMap((edge): FlowEdge[] => {
    const [id, port] = [edgeKey(edge), portOf(edge)];
    if (!ids.has(edge.from) || !ids.has(edge.to) || seen.has(id)) return [];
    seen.add(id);
    const data = { port, ...(taken === undefined ? {} : { taken: taken.has(`${edge.from}.${port}`) }) };
    return [{ id, type: "workflow", source: edge.from, sourceHandle: port, target: edge.to, data, selected: selected.includes(id) }];
  });
}
