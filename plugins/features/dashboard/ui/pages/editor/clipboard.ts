import { type GraphEdge, type GraphNode, graphAt, type Places, readGraph } from "../../graph/graph-types.ts";
import type { EditorModel } from "./editor-model.ts";

/** Clipboard format of nodes: text, so that they can be pasted in other tabs and into a file as well. */
interface Copied {
  readonly svcWorkflowNodes: {
    readonly nodes: readonly GraphNode[];
    readonly edges: readonly GraphEdge[];
    readonly places: Readonly<Record<string, readonly [number, number]>>;
  };
}

/** The selected nodes as text, with the edges between them; undefined where nothing is selected. */
export function copiedText({ definition, state: { scope, selected, places } }: EditorModel): string | undefined {
  const graph = graphAt(definition, scope);
  const chosen = new Set(selected);
  const nodes = graph?.nodes.filter(({ id }) => chosen.has(id)) ?? [];
  if (graph === undefined || nodes.length === 0) return undefined;
  const edges = graph.edges.filter(({ from, to }) => chosen.has(from) && chosen.has(to));
  const at = Object.fromEntries(selected.flatMap((id) => (places.has(id) ? [[id, places.get(id) as readonly [number, number]]] : [])));
  return JSON.stringify({ svcWorkflowNodes: { nodes, edges, places: at } } satisfies Copied);
}

/** Parses the output of `copiedText`; undefined for any other text. */
export function readCopied(text: string): { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[]; readonly places: Places } | undefined {
  try {
    const { svcWorkflowNodes: given } = JSON.parse(text) as Partial<Copied>;
    if (given === undefined || given === null) return undefined;
    const { nodes, edges } = readGraph(given).definition;
    const places = new Map(
      Object.entries(given.places ?? {}).filter(([, place]) => Array.isArray(place) && place.length === 2 && place.every(Number.isFinite)),
    );
    return { nodes, edges, places };
  } catch {
    return undefined;
  }
}
