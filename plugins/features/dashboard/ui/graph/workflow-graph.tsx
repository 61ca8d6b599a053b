import { useEffect, useMemo, useRef, useState } from "react";
import { GRAPH } from "../words/graph.ts";
import { completePlaces } from "./auto-layout.ts";
import { GraphCanvas } from "./graph-canvas.tsx";
import type { NodeMark } from "./graph-node.tsx";
import { bodyOf, type Graph, type GraphDefinition, graphAt, readGraph, readPlaces, type Scope, scopeOf } from "./graph-types.ts";
import { ScopePath } from "./scope-path.tsx";

/** A workflow to look at. It fills what it stands in. */
export interface WorkflowGraphProps {
  readonly definition: GraphDefinition;
  /** As `GET /api/workflows/:id` gives it; nodes without a place are laid out. */
  readonly layout?: unknown;
  /** A run: what became of its nodes, by id. */
  readonly marks?: ReadonlyMap<string, NodeMark>;
  /** `<from>.<port>` of the edges that the run went along. */
  readonly taken?: ReadonlySet<string>;
  /** A node; one in the body of a `forEach` opens that. */
  readonly selected?: string | undefined;
  onSelect(id: string | undefined): void;
  readonly findings?: ReadonlyMap<string, "error" | "warning">;
  readonly readOnly?: boolean;
  readonly label?: string;
}

const NONE: Graph = { nodes: [], edges: [] };

/** A workflow's graph with its bodies, to look at: one node may be selected. Editing is the editor's. */
export function WorkflowGraph({ definition, layout, marks, taken, selected, onSelect, findings, label = GRAPH.whole }: WorkflowGraphProps) {
  const whole = useMemo(() => readGraph(definition).definition, [definition]);
  const stored = useMemo(() => readPlaces(layout), [layout]);
  const [scope, setScope] = useState<Scope>([]);
  const [wish, setWish] = useState(0);
  const clicked = useRef<string>(undefined);
  useEffect(() => {
    const at = selected === undefined ? undefined : scopeOf(whole, selected);
    if (at === undefined) return;
    setScope((now) => (now.join("/") === at.join("/") ? now : at));
    // A clicked node is visible already, and must stay under the pointer.
    if (clicked.current !== selected) setWish((now) => now + 1);
    clicked.current = undefined;
  }, [selected, whole]);
  const graph = graphAt(whole, scope) ?? NONE;
  const places = useMemo(() => completePlaces(graph, stored), [graph, stored]);
  const chosen = useMemo(() => (selected === undefined ? [] : [selected]), [selected]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: brought into sight when that is wished, not whenever the selection changes
  const focus = useMemo(() => (selected === undefined ? undefined : { id: selected, wish }), [wish]);
  const open = (id: string) => {
    if (bodyOf(graph.nodes.find((node) => node.id === id)) !== undefined) setScope([...scope, id]);
  };
  return (
    <div className="graph-frame">
      <ScopePath definition={whole} scope={scope} onOpen={setScope} />
      <GraphCanvas
        key={scope.join("/")}
        graph={graph}
        places={places}
        selected={chosen}
        onSelect={([first]) => {
          if (first === selected) return;
          clicked.current = first;
          onSelect(first);
        }}
        onOpen={open}
        label={label}
        {...(focus === undefined ? {} : { focus })}
        {...(marks === undefined ? {} : { marks })}
        {...(taken === undefined ? {} : { taken })}
        {...(findings === undefined ? {} : { findings })}
      />
    </div>
  );
}
