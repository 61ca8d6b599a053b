import type { Definition, Edge, Node } from "./definition.ts";
import { distances, immediateDominators, reversed, type Ways } from "./dominators.ts";

/** A definition as the engine reads it. */
export interface Graph {
  readonly definition: Definition;
  /** All nodes, also those of bodies. */
  readonly places: ReadonlyMap<string, Place>;
  readonly trigger: string;
}

/** A node in its graph. */
export interface Place {
  readonly node: Node;
  /** Order by distance from the start, then in the file; over the nodes of one graph. */
  readonly rank: number;
  /** The edges of each port that has one, in file order. */
  readonly ports: ReadonlyMap<string, readonly EdgeTo[]>;
  /** The splits of joins among its dominators, itself included: what a token at it remembers. */
  readonly splits: readonly string[];
  /** The joins that have this node as their split. */
  readonly closes: readonly string[];
  readonly join?: JoinPlace;
}

/** An edge as its source sees it. */
export interface EdgeTo {
  readonly to: string;
  /** Its place among the edges into `to`, in file order. */
  readonly index: number;
}

/** A join in its graph. */
export interface JoinPlace {
  /** Null only for a join that starts a body. */
  readonly split: string | null;
  /** R(J): the nodes from which it can be reached by a way that goes neither through the split nor through the join again. */
  readonly region: ReadonlySet<string>;
  readonly wait: "all" | number;
  readonly cancelRest: boolean;
}

const graphs = new WeakMap<Definition, Graph>();

/** The graph of a definition; the same object gives the same graph, so that a host which keeps definitions by hash pays once. */
export function graphOf(definition: Definition): Graph {
  const known = graphs.get(definition);
  if (known !== undefined) return known;
  const places = new Map<string, Place>();
  const trigger = definition.nodes.find(({ kind }) => kind === "trigger")?.id;
  if (trigger === undefined) throw new Error(`the workflow '${definition.id}' has no trigger; its schema asks for exactly one`);
  addPlaces(places, trigger, definition.nodes, definition.edges);
  const graph = { definition, places, trigger };
  graphs.set(definition, graph);
  return graph;
}

/** A node that must be there, since the state comes from the same definition. */
export function placeOf(graph: Graph, id: string): Place {
  const place = graph.places.get(id);
  if (place === undefined) throw new Error(`the workflow '${graph.definition.id}' has no node '${id}'`);
  return place;
}

/** The ports by which a submitted task may leave. */
export function transitionsOf({ node, ports }: Place): readonly string[] {
  if (node.kind === "approval") return ["approve", "reject"];
  if (node.kind !== "userTask") return [];
  const literal = node.submitTransition === undefined || node.submitTransition.includes("{{") ? [] : [node.submitTransition];
  return [...new Set(["out", ...literal, ...ports.keys()])].filter((port) => port !== "due" && port !== "timeout" && port !== "error");
}

function addPlaces(places: Map<string, Place>, start: string, nodes: readonly Node[], edges: readonly Edge[]): void {
  const next = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const ports = new Map<string, Map<string, EdgeTo[]>>(nodes.map(({ id }) => [id, new Map()]));
  const into = new Map<string, number>();
  for (const { from, to, fromPort = "out" } of edges) {
    const index = into.get(to) ?? 0;
    into.set(to, index + 1);
    next.get(from)?.push(to);
    const own = ports.get(from);
    const list = own?.get(fromPort);
    if (list === undefined) own?.set(fromPort, [{ to, index }]);
    else list.push({ to, index });
  }
  const ways = { start, next };
  const dominators = immediateDominators(ways);
  const joins = joinPlaces(nodes, ways, dominators);
  const splits = new Set([...joins.values()].map(({ split }) => split));
  const ranks = ranksOf(nodes, ways);
  for (const node of nodes) {
    const join = joins.get(node.id);
    places.set(node.id, {
      node,
      rank: ranks.get(node.id) as number,
      ports: ports.get(node.id) as Map<string, EdgeTo[]>,
      splits: chain(node.id, dominators).filter((one) => splits.has(one)),
      closes: [...joins].filter(([, { split }]) => split === node.id).map(([id]) => id),
      ...(join === undefined ? {} : { join }),
    });
    if (node.kind === "forEach") addPlaces(places, node.do.start, node.do.nodes, node.do.edges ?? []);
  }
}

function joinPlaces(nodes: readonly Node[], ways: Ways, dominators: ReadonlyMap<string, string | null>): Map<string, JoinPlace> {
  const before = reversed(ways.next);
  const joins = new Map<string, JoinPlace>();
  for (const node of nodes) {
    if (node.kind !== "join") continue;
    const split = node.of ?? dominators.get(node.id) ?? null;
    const { wait = "all", cancelRest = false } = node;
    joins.set(node.id, { split, region: regionOf(node.id, split, before), wait: wait === "any" ? 1 : wait, cancelRest });
  }
  return joins;
}

/** Backward search from the join that does not go on past the split or the join. */
function regionOf(join: string, split: string | null, before: ReadonlyMap<string, readonly string[]>): Set<string> {
  const region = new Set<string>();
  const open = [join];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const from of before.get(node) ?? []) {
      if (from === join || region.has(from)) continue;
      region.add(from);
      if (from !== split) open.push(from);
    }
  }
  return region;
}

/** A node and its dominators, nearest first. */
function chain(node: string, dominators: ReadonlyMap<string, string | null>): string[] {
  const found = [node];
  for (let one = dominators.get(node); one !== undefined && one !== null; one = dominators.get(one)) found.push(one);
  return found;
}

function ranksOf(nodes: readonly Node[], ways: Ways): ReadonlyMap<string, number> {
  const far = distances(ways);
  const distance = (id: string) => far.get(id) ?? nodes.length;
  // Sorting is stable: nodes at the same distance stay in file order.
  const order = nodes.map(({ id }) => id).sort((one, other) => distance(one) - distance(other));
  return new Map(order.map((id, at) => [id, at]));
}
