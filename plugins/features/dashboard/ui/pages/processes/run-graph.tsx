import { useMemo } from "react";
import { WorkflowGraph } from "../../graph/workflow-graph.tsx";
import { PROCESSES } from "../../words/processes.ts";
import type { Executed } from "./run-types.ts";
import { glyphOf } from "./run-words.ts";
import { graphStates, type TimelineRow, takenPorts } from "./timeline-rows.ts";

/** The run drawn on its graph; the timeline tells the same as text. */
export default function RunGraph({
  executed,
  rows,
  selected,
  onSelect,
}: {
  readonly executed: Executed;
  readonly rows: readonly TimelineRow[];
  /** A node. */
  readonly selected: string | undefined;
  onSelect(node: string | undefined): void;
}) {
  const marks = useMemo(
    () =>
      new Map(Object.entries(graphStates(rows)).map(([id, { state, count }]) => [id, { state: glyphOf(state), ...(count > 1 ? { note: `${count}×` } : {}) }])),
    [rows],
  );
  const taken = useMemo(() => takenPorts(rows), [rows]);
  return (
    <WorkflowGraph
      definition={executed.definition}
      layout={executed.layout}
      marks={marks}
      taken={taken}
      selected={selected}
      onSelect={onSelect}
      label={PROCESSES.graph}
    />
  );
}
