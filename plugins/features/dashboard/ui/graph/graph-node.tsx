import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { classes } from "../kit/class-names.ts";
import { Glyph, type State } from "../kit/glyph.tsx";
import { GRAPH } from "../words/graph.ts";
import { PORT_GAP } from "./auto-layout.ts";
import type { GraphNode } from "./graph-types.ts";
import { factsOf, nameOf } from "./node-facts.ts";
import type { DrawnPorts } from "./ports.ts";

/** State of a node in a run. */
export interface NodeMark {
  readonly state: State;
  /** Beside the state: until when, which try. */
  readonly note?: string;
}

/** Data of a drawn node; the same object while it is unchanged. */
export interface NodeData extends Record<string, unknown> {
  readonly node: GraphNode;
  readonly ports: DrawnPorts;
  readonly height: number;
  /** Ports that lead somewhere. */
  readonly led: ReadonlySet<string>;
  readonly entry: boolean;
  readonly mark?: NodeMark;
  /** A run is drawn, and it did not come here. */
  readonly idle: boolean;
  readonly finding?: "error" | "warning";
  readonly onAdd?: (id: string, port: string) => void;
}

/** A node as the graph library holds it. */
export type FlowNode = Node<NodeData, "workflow">;

/** A node with its ports: those that a run takes at the right, those for what goes wrong or late at the foot. */
export const WorkflowNode = memo(function WorkflowNode({ id, data, selected, isConnectable }: NodeProps<FlowNode>) {
  const { node, ports, height, led, entry, mark, idle, finding, onAdd } = data;
  const top = (index: number) => `calc(50% + ${(index - (ports.side.length - 1) / 2) * PORT_GAP}px)`;
  const name = nameOf(node);
  return (
    <div
      className={classes("graph-node", selected && "graph-node-selected", mark !== undefined && `graph-node-${mark.state}`, idle && "graph-node-idle")}
      style={{ height }}
      title={`${name}\n${factsOf(node)}${mark?.note === undefined ? "" : `\n${mark.note}`}`}
    >
      {!entry && <Handle type="target" position={Position.Left} isConnectable={isConnectable} className="graph-port" />}
      <div className="graph-node-name">
        <bdi className="cut grow">{name}</bdi>
        {mark !== undefined && <Glyph state={mark.state} />}
        {mark === undefined && finding !== undefined && <Glyph state={finding === "error" ? "failed" : "waiting"} label={GRAPH[finding]} />}
      </div>
      <div className="graph-node-facts cut">{factsOf(node)}</div>
      {ports.side.map((port, index) => (
        <Handle
          key={port}
          id={port}
          type="source"
          position={Position.Right}
          style={{ top: top(index) }}
          isConnectable={isConnectable}
          className="graph-port"
          title={port}
        />
      ))}
      {ports.foot.map((port, index) => (
        <Handle
          key={port}
          id={port}
          type="source"
          position={Position.Bottom}
          style={{ left: `calc(100% - ${20 + index * PORT_GAP}px)` }}
          isConnectable={isConnectable}
          className={classes("graph-port", "graph-port-foot", `graph-port-${port}`, !led.has(port) && "graph-port-free")}
          title={port}
        />
      ))}
      {onAdd !== undefined &&
        ports.side.map((port, index) =>
          led.has(port) ? null : (
            <button
              key={port}
              type="button"
              tabIndex={-1}
              className="graph-add nodrag nopan"
              style={{ top: top(index) }}
              aria-label={GRAPH.addAfter(port)}
              title={GRAPH.addAfter(port)}
              onClick={(event) => {
                event.stopPropagation();
                onAdd(id, port);
              }}
            >
              +
            </button>
          ),
        )}
    </div>
  );
});
