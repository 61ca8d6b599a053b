import type { Definition, Edge, Node } from "../engine/types.ts";
import { expressionFindings } from "./expression-lint.ts";
import { fieldFindings, type Known } from "./field-lint.ts";
import { type GraphPart, graphFindings } from "./graph-lint.ts";
import type { Finding } from "./problem.ts";

interface Graph {
  readonly pointer: string;
  readonly start: string;
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

/** Checks a definition that its schema has accepted. */
export function lintFindings(definition: Definition, known: Known): readonly Finding[] {
  const trigger = definition.nodes.find(({ kind }) => kind === "trigger")?.id ?? "";
  const graphs = graphsOf({ pointer: "", start: trigger, nodes: definition.nodes, edges: definition.edges });
  const ids = new Set(graphs.flatMap(({ nodes }) => nodes.map(({ id }) => id)));
  const findings = [...repeatedIds(graphs)];
  for (const graph of graphs) {
    const own = new Set(graph.nodes.map(({ id }) => id));
    const part: GraphPart = { ...graph, elsewhere: new Set([...ids].filter((id) => !own.has(id))) };
    findings.push(...graphFindings(part));
    graph.nodes.forEach((node, index) => {
      const pointer = `${graph.pointer}/nodes/${index}`;
      findings.push(...fieldFindings(node, pointer, known), ...expressionFindings(node, { pointer, inBody: graph.pointer !== "", ids }));
    });
    findings.push(...severalEnds(graph));
  }
  const { ownerAgent } = definition;
  if (ownerAgent !== undefined && known.agents !== undefined && !known.agents.has(ownerAgent) && !ownerAgent.includes("@"))
    findings.push({ severity: "warning", code: "MISSING_AGENT", message: `There is no agent ${ownerAgent} now.`, pointer: "/ownerAgent" });
  return findings;
}

function graphsOf(graph: Graph): readonly Graph[] {
  const bodies = graph.nodes.flatMap((node, index): readonly Graph[] => {
    if (node.kind !== "forEach") return [];
    const { start, nodes, edges = [] } = node.do;
    return graphsOf({ pointer: `${graph.pointer}/nodes/${index}/do`, start, nodes, edges });
  });
  return [graph, ...bodies];
}

function repeatedIds(graphs: readonly Graph[]): readonly Finding[] {
  const seen = new Set<string>();
  return graphs.flatMap(({ pointer, nodes }) =>
    nodes.flatMap(({ id }, index): readonly Finding[] => {
      const twice = seen.has(id);
      seen.add(id);
      return twice
        ? [
            {
              severity: "error",
              code: "DUPLICATE_NODE",
              message: `There are two nodes ${id}; ids are unique over all bodies.`,
              pointer: `${pointer}/nodes/${index}/id`,
            },
          ]
        : [];
    }),
  );
}

/** Ends of which more than one may be come to in one run: where tokens part, two of them lead to different ends. */
function severalEnds({ pointer, nodes, edges }: Graph): readonly Finding[] {
  const ends = new Set(nodes.flatMap(({ id, kind }) => (kind === "end" ? [id] : [])));
  if (ends.size < 2) return [];
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const found = new Map<string, ReadonlySet<string>>();
  const endsFrom = (id: string): ReadonlySet<string> => {
    const known = found.get(id) ?? reached(id, next, ends);
    found.set(id, known);
    return known;
  };
  for (const node of nodes) {
    const own = edges.filter(({ from }) => from === node.id);
    const parts = own.some((one, at) =>
      own.some((other, place) => at < place && arePartners(node, one, other) && differ(endsFrom(one.to), endsFrom(other.to))),
    );
    if (!parts) continue;
    const message = `Tokens that part at ${node.id} may come to several nodes of kind end: the last one counts.`;
    return [{ severity: "warning", code: "SEVERAL_ENDS", message, pointer: `${pointer}/nodes/${nodes.indexOf(node)}` }];
  }
  return [];
}

const differ = (some: ReadonlySet<string>, others: ReadonlySet<string>): boolean => some.size > 0 && others.size > 0 && new Set([...some, ...others]).size > 1;

/** Whether one visit of the node may send a token along both edges. */
function arePartners({ kind }: Node, one: Edge, other: Edge): boolean {
  const [port = "out", second = "out"] = [one.fromPort, other.fromPort];
  if (port === second) return true;
  if (port === "due" || second === "due") return true;
  return kind === "multiChoice" && ![port, second].some((name) => ["else", "error", "timeout"].includes(name));
}

function reached(start: string, next: ReadonlyMap<string, readonly string[]>, ends: ReadonlySet<string>): ReadonlySet<string> {
  const seen = new Set([start]);
  for (const id of seen) for (const to of next.get(id) ?? []) seen.add(to);
  return new Set([...seen].filter((id) => ends.has(id)));
}
