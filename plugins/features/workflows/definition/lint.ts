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

/** What is wrong with a definition that its schema has accepted. */
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

function severalEnds({ pointer, nodes }: Graph): readonly Finding[] {
  const ends = nodes.flatMap(({ kind }, index) => (kind === "end" ? [index] : []));
  if (ends.length < 2) return [];
  const message = "There are several nodes of kind end: where more than one is come to, the last counts.";
  return [{ severity: "warning", code: "SEVERAL_ENDS", message, pointer: `${pointer}/nodes/${ends[1]}` }];
}
