/** A node of a workflow as its definition has it; which fields there are depends on the kind. */
export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly label?: string;
  readonly [field: string]: unknown;
}

/** From a port of one node to another node of the same graph; `fromPort` is `out` unless said otherwise. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly fromPort?: string;
}

/** A graph: the one of a workflow, or the body of a `forEach`, which has a `start`. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly start?: string;
}

/** A definition with its graph; its other fields are for forms. */
export interface GraphDefinition extends Graph {
  readonly [field: string]: unknown;
}

/** Ids of the `forEach` nodes that lead to a body, the outermost first; empty for the graph of the workflow. */
export type Scope = readonly string[];

/** Where nodes stand: their upper left corners, by id. Ids are unique over all bodies. */
export type Places = ReadonlyMap<string, readonly [x: number, y: number]>;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

/** The port that an edge leaves by. */
export const portOf = ({ fromPort = "out" }: GraphEdge): string => fromPort;

/** Tells edges of one graph apart. */
export const edgeKey = (edge: GraphEdge): string => `${edge.from}.${portOf(edge)}>${edge.to}`;

/**
 * Returns the drawable part of a value. `whole` is false if it contains more than that, such as a node without an id: then a change of the graph
 * would lose something.
 */
export function readGraph(value: unknown): { readonly definition: GraphDefinition; readonly whole: boolean } {
  if (!isRecord(value)) return { definition: { nodes: [], edges: [] }, whole: false };
  const { graph, whole } = partsOf(value);
  return { definition: { ...value, ...graph } as GraphDefinition, whole };
}

function partsOf(value: Readonly<Record<string, unknown>>): { readonly graph: Graph; readonly whole: boolean } {
  const [givenNodes, givenEdges] = [value["nodes"] ?? [], value["edges"] ?? []];
  const nodes: GraphNode[] = [];
  const seen = new Set<string>();
  let whole = Array.isArray(givenNodes) && Array.isArray(givenEdges);
  for (const node of Array.isArray(givenNodes) ? givenNodes : []) {
    if (!isRecord(node) || typeof node["id"] !== "string" || typeof node["kind"] !== "string" || seen.has(node["id"])) {
      whole = false;
      continue;
    }
    seen.add(node["id"]);
    if (node["kind"] === "forEach" && isRecord(node["do"])) {
      const body = partsOf(node["do"]);
      whole &&= body.whole;
      nodes.push({ ...node, do: { ...node["do"], ...body.graph } } as unknown as GraphNode);
    } else nodes.push(node as GraphNode);
  }
  const edges = (Array.isArray(givenEdges) ? givenEdges : []).filter((edge): edge is GraphEdge => {
    const fits =
      isRecord(edge) && typeof edge["from"] === "string" && typeof edge["to"] === "string" && ["string", "undefined"].includes(typeof edge["fromPort"]);
    whole &&= fits;
    return fits;
  });
  return { graph: { nodes, edges }, whole };
}

/** The body of a `forEach`; undefined for other nodes. */
export function bodyOf(node: GraphNode | undefined): Graph | undefined {
  const body = node?.["do"];
  if (node?.kind !== "forEach" || !isRecord(body)) return undefined;
  return { nodes: [], edges: [], ...body } as Graph;
}

/** Returns the graph at a scope; undefined if it no longer exists. */
export function graphAt(definition: Graph, scope: Scope): Graph | undefined {
  let graph: Graph | undefined = definition;
  for (const id of scope) graph = bodyOf(graph?.nodes.find((node) => node.id === id));
  return graph;
}

/** Returns the scope of a node; undefined for an unknown id. */
export function scopeOf(definition: Graph, id: string): Scope | undefined {
  if (definition.nodes.some((node) => node.id === id)) return [];
  for (const node of definition.nodes) {
    const body = bodyOf(node);
    const inner = body === undefined ? undefined : scopeOf(body, id);
    if (inner !== undefined) return [node.id, ...inner];
  }
  return undefined;
}

/** All nodes, those in bodies too. */
export function allNodes({ nodes }: Graph): readonly GraphNode[] {
  return nodes.flatMap((node) => {
    const body = bodyOf(node);
    return body === undefined ? [node] : [node, ...allNodes(body)];
  });
}

/** The places that a stored layout names; whatever else it holds is left out. */
export function readPlaces(layout: unknown): Places {
  const nodes = isRecord(layout) && isRecord(layout["nodes"]) ? layout["nodes"] : {};
  return new Map(
    Object.entries(nodes).flatMap(([id, place]) =>
      Array.isArray(place) && place.length === 2 && place.every((part) => Number.isFinite(part) && Math.abs(part as number) < 1_000_000)
        ? [[id, [place[0], place[1]] as const] as const]
        : [],
    ),
  );
}
