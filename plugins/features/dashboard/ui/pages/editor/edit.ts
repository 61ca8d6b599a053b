import { startOf } from "../../graph/flow-order.ts";
import {
  allNodes,
  bodyOf,
  edgeKey,
  type Graph,
  type GraphDefinition,
  type GraphEdge,
  type GraphNode,
  graphAt,
  portOf,
  type Scope,
} from "../../graph/graph-types.ts";

/** One change that a person makes. `scope` says in which graph. */
export type Edit =
  | { readonly type: "add"; readonly scope: Scope; readonly node: GraphNode; readonly from?: { readonly id: string; readonly port: string } }
  | { readonly type: "connect"; readonly scope: Scope; readonly edge: GraphEdge }
  | { readonly type: "disconnect"; readonly scope: Scope; readonly edges: readonly GraphEdge[] }
  | { readonly type: "remove"; readonly scope: Scope; readonly ids: readonly string[] }
  | { readonly type: "change"; readonly scope: Scope; readonly id: string; readonly node: GraphNode }
  | { readonly type: "rename"; readonly scope: Scope; readonly id: string; readonly to: string }
  | { readonly type: "paste"; readonly scope: Scope; readonly graph: Graph }
  | { readonly type: "start"; readonly scope: Scope; readonly id: string }
  | { readonly type: "top"; readonly fields: Readonly<Record<string, unknown>> };

/** Applies an edit to a definition: returns the same object if the edit changes nothing. Untouched parts stay the same objects. */
export function applyEdit(definition: GraphDefinition, edit: Edit): GraphDefinition {
  if (edit.type === "top") return { ...without(definition, Object.keys(edit.fields)), ...defined(edit.fields) } as GraphDefinition;
  const { scope } = edit;
  const graph = graphAt(definition, scope);
  if (graph === undefined) return definition;
  const next = edit.type === "rename" ? renamed(graph, edit.id, edit.to) : edited(graph, edit);
  if (next === graph) return definition;
  const whole = withGraph(definition, scope, next);
  // Expressions anywhere may name the node.
  return edit.type === "rename" ? withNames(whole, edit.id, edit.to) : whole;
}

function edited(graph: Graph, edit: Exclude<Edit, { type: "top" | "rename" }>): Graph {
  switch (edit.type) {
    case "add": {
      const nodes = [...graph.nodes, edit.node];
      const edge = edit.from === undefined ? undefined : edgeOf(edit.from.id, edit.from.port, edit.node.id);
      const next = { ...graph, nodes, edges: edge === undefined ? graph.edges : [...graph.edges, edge] };
      return graph.start === undefined || graph.nodes.length > 0 ? next : { ...next, start: edit.node.id };
    }
    case "connect":
      return graph.edges.some((edge) => edgeKey(edge) === edgeKey(edit.edge)) ? graph : { ...graph, edges: [...graph.edges, edit.edge] };
    case "disconnect": {
      const gone = new Set(edit.edges.map(edgeKey));
      const edges = graph.edges.filter((edge) => !gone.has(edgeKey(edge)));
      return edges.length === graph.edges.length ? graph : { ...graph, edges };
    }
    case "remove":
      return removed(graph, new Set(edit.ids));
    case "change":
      return { ...graph, nodes: graph.nodes.map((node) => (node.id === edit.id ? edit.node : node)) };
    case "paste":
      return { ...graph, nodes: [...graph.nodes, ...edit.graph.nodes], edges: [...graph.edges, ...edit.graph.edges] };
    case "start":
      return graph.start === edit.id ? graph : { ...graph, start: edit.id };
  }
}

/** An edge as a file has it: without the port that is meant anyway. */
export const edgeOf = (from: string, port: string, to: string): GraphEdge => ({ from, ...(port === "out" ? {} : { fromPort: port }), to });

function removed(graph: Graph, ids: ReadonlySet<string>): Graph {
  const nodes = graph.nodes.filter(({ id }) => !ids.has(id));
  if (nodes.length === graph.nodes.length) return graph;
  const edges = graph.edges.filter(({ from, to }) => !ids.has(from) && !ids.has(to));
  const next = { ...graph, nodes, edges };
  if (graph.start === undefined || !ids.has(graph.start)) return next;
  // A body begins with what came after its first node.
  const heir = graph.edges.find(({ from, to }) => from === graph.start && !ids.has(to))?.to ?? nodes[0]?.id;
  return heir === undefined ? next : { ...next, start: heir };
}

function renamed(graph: Graph, id: string, to: string): Graph {
  if (id === to || !graph.nodes.some((node) => node.id === id)) return graph;
  const name = (one: string) => (one === id ? to : one);
  const nodes = graph.nodes.map((node) => {
    const { of, nodes: canceled } = node;
    const next = { ...node, id: name(node.id), ...(of === id ? { of: to } : {}) };
    return node.kind === "cancelNodes" && Array.isArray(canceled) ? { ...next, nodes: canceled.map((one) => (one === id ? to : one)) } : next;
  });
  const edges = graph.edges.map((edge) => (edge.from === id || edge.to === id ? { ...edge, from: name(edge.from), to: name(edge.to) } : edge));
  return { ...graph, nodes, edges, ...(graph.start === id ? { start: to } : {}) };
}

/** `steps.<id>` and `run.visits.<id>` within braces, in all texts. */
function withNames(definition: GraphDefinition, id: string, to: string): GraphDefinition {
  const named = new RegExp(`\\b(steps|visits)\\.${id}(?![\\w-])`, "g");
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(/\{\{[\s\S]*?\}\}/g, (expression) => expression.replace(named, `$1.${to}`));
    if (Array.isArray(value)) {
      const next = value.map(walk);
      return next.some((one, index) => one !== value[index]) ? next : value;
    }
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, one]) => [key, walk(one)] as const);
    return entries.some(([key, one]) => one !== (value as Record<string, unknown>)[key]) ? Object.fromEntries(entries) : value;
  };
  return walk(definition) as GraphDefinition;
}

/** The definition with another graph at a scope. */
export function withGraph(definition: GraphDefinition, scope: Scope, graph: Graph): GraphDefinition {
  const [first, ...rest] = scope;
  if (first === undefined) return { ...definition, ...graph };
  const nodes = definition.nodes.map((node) => {
    const body = node.id === first ? bodyOf(node) : undefined;
    return body === undefined ? node : { ...node, do: withGraph(body as GraphDefinition, rest, graph) };
  });
  return { ...definition, nodes };
}

/** Initial fields of new nodes by kind; the check reports missing ones. */
const BEGINNINGS: Readonly<Record<string, (id: string) => Readonly<Record<string, unknown>>>> = {
  agent: () => ({ message: "" }),
  action: () => ({ action: "", input: {} }),
  set: () => ({ value: "{{ in }}" }),
  branch: () => ({ cases: [{ port: "yes", when: "{{ true }}" }] }),
  multiChoice: () => ({ cases: [{ port: "yes", when: "{{ true }}" }] }),
  forEach: (id) => ({ items: "{{ in }}", do: { start: `${id}Item`, nodes: [{ id: `${id}Item`, kind: "set", value: "{{ item }}" }], edges: [] } }),
  userTask: () => ({ title: "", assignee: "", form: [] }),
  approval: () => ({ title: "", assignee: "", timeout: "3d" }),
  timer: () => ({ for: "1h" }),
  waitSignal: () => ({ signal: "" }),
  emitSignal: () => ({ signal: "" }),
  subProcess: () => ({ workflow: "" }),
  cancelNodes: () => ({ nodes: [] }),
};

/** A node of a kind under an id that nothing has yet. */
export function newNode(definition: Graph, kind: string): GraphNode {
  const id = freeId(definition, kind === "trigger" ? "start" : kind);
  return { id, kind, ...BEGINNINGS[kind]?.(id) };
}

/** The wished id, or the first free one with a number behind it. */
export function freeId(definition: Graph, wished: string, taken: ReadonlySet<string> = new Set(allNodes(definition).map(({ id }) => id))): string {
  if (!taken.has(wished)) return wished;
  const [, stem = wished] = /^(.*?)\d*$/.exec(wished) ?? [];
  for (let number = 2; ; number += 1) if (!taken.has(`${stem}${number}`)) return `${stem}${number}`;
}

/** Nodes with the edges between them, under ids that are free in the definition. */
export function copyOf(
  definition: Graph,
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
): { readonly graph: Graph; readonly ids: ReadonlyMap<string, string> } {
  const taken = new Set(allNodes(definition).map(({ id }) => id));
  const ids = new Map<string, string>();
  const name = (id: string) => {
    const free = freeId(definition, id, taken);
    taken.add(free);
    ids.set(id, free);
    return free;
  };
  const copied = (graph: Graph): Graph => {
    for (const { id } of graph.nodes) name(id);
    const inside = graph.nodes.map((node): GraphNode => {
      const body = bodyOf(node);
      const id = ids.get(node.id) as string;
      const of = typeof node["of"] === "string" ? { of: ids.get(node["of"]) ?? node["of"] } : {};
      return { ...node, ...of, id, ...(body === undefined ? {} : { do: copied(body) }) };
    });
    const between = graph.edges.flatMap((edge): GraphEdge[] => {
      const [from, to] = [ids.get(edge.from), ids.get(edge.to)];
      return from === undefined || to === undefined ? [] : [edgeOf(from, portOf(edge), to)];
    });
    return { ...graph, nodes: inside, edges: between, ...(graph.start === undefined ? {} : { start: ids.get(graph.start) ?? graph.start }) };
  };
  // A workflow has one trigger.
  return { graph: copied({ nodes: nodes.filter(({ kind }) => kind !== "trigger"), edges }), ids };
}

/** Whether a graph of the definition begins with this node. */
export const isStart = (graph: Graph, id: string): boolean => startOf(graph) === id;

const without = (value: object, keys: readonly string[]): object => Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
const defined = (fields: Readonly<Record<string, unknown>>): object => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The wished id of a workflow, or the first free one with a number behind it. */
export async function freeWorkflowId(wished: string, isTaken: (id: string) => Promise<boolean>): Promise<string> {
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? wished : `${wished}-${number}`;
    if (!(await isTaken(id))) return id;
  }
}
