import { useReactFlow, useStore } from "@xyflow/react";
import { GRAPH } from "../words/graph.ts";

/** Smaller, larger, all of it. */
export function GraphControls({ onFit }: { onFit(): void }) {
  const zoom = useStore(({ transform }) => Math.round(transform[2] * 100));
  const flow = useReactFlow();
  return (
    <div className="graph-controls" role="group" aria-label={GRAPH.zoom}>
      <button type="button" aria-label={GRAPH.zoomOut} title={GRAPH.zoomOut} onClick={() => void flow.zoomOut()}>
        −
      </button>
      <output className="figure">{zoom}%</output>
      <button type="button" aria-label={GRAPH.zoomIn} title={GRAPH.zoomIn} onClick={() => void flow.zoomIn()}>
        +
      </button>
      <button type="button" title={GRAPH.fitAll} onClick={onFit}>
        {GRAPH.fit}
      </button>
    </div>
  );
}
