import { BaseEdge, type Edge, type EdgeProps, getBezierPath, Position } from "@xyflow/react";
import { memo } from "react";
import { classes } from "../kit/class-names.ts";

/** Data of a drawn edge. */
export interface EdgeData extends Record<string, unknown> {
  readonly port: string;
  /** In a drawn run: whether it went along here. */
  readonly taken?: boolean;
}

/** An edge as the graph library holds it. */
export type FlowEdge = Edge<EdgeData, "workflow">;

/** Of what can be grasped around a port, as graph.css has it. */
const PORT_WIDTH = 24;
const PORT_HEIGHT = 20;
/** Distance of a backward edge above its ends. */
const WAY_BACK = 48;
const FAULTS: ReadonlySet<string> = new Set(["error", "timeout"]);

/** An edge with the name of its port beside where it begins. */
export const WorkflowEdge = memo(function WorkflowEdge({
  id,
  sourceX,
  sourceY,
  targetX,
  targetY,
  sourcePosition,
  targetPosition,
  selected,
  data,
}: EdgeProps<FlowEdge>) {
  const { port = "out", taken } = data ?? {};
  const atFoot = sourcePosition === Position.Bottom;
  // The library ends at the rim of the target of 24 px: the port is in its middle.
  const [fromX, fromY, toX] = [atFoot ? sourceX : sourceX - PORT_WIDTH / 2, atFoot ? sourceY - PORT_HEIGHT / 2 : sourceY, targetX + PORT_WIDTH / 2];
  const back = !atFoot && toX < fromX - WAY_BACK * 2;
  const path = back
    ? wayBack(fromX, fromY, toX, targetY)
    : getBezierPath({ sourceX: fromX, sourceY: fromY, targetX: toX, targetY, sourcePosition, targetPosition })[0];
  const kind = classes(
    "graph-edge",
    selected && "graph-edge-selected",
    taken === true && "graph-edge-taken",
    taken === false && "graph-edge-idle",
    FAULTS.has(port) && "graph-edge-fault",
  );
  return (
    <g className={kind}>
      <BaseEdge id={id} path={path} interactionWidth={16} />
      {port !== "out" && (
        <text className="graph-edge-port" x={fromX + (atFoot ? 6 : 8)} y={fromY + (atFoot ? 16 : -5)}>
          {port}
        </text>
      )}
    </g>
  );
});

/** Above all nodes between: a way straight back would run through them. */
function wayBack(fromX: number, fromY: number, toX: number, toY: number): string {
  const y = Math.min(fromY, toY) - WAY_BACK;
  return `M${fromX},${fromY} C${fromX + WAY_BACK},${fromY} ${fromX + WAY_BACK},${y} ${fromX},${y} L${toX},${y} C${toX - WAY_BACK},${y} ${toX - WAY_BACK},${toY} ${toX},${toY}`;
}
