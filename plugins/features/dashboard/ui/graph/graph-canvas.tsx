import "@xyflow/react/dist/base.css";
import "./graph.css";
import {
  applyEdgeChanges,
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  ConnectionMode,
  type EdgeChange,
  MiniMap,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { type DragEvent, type FocusEvent, type KeyboardEvent, type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { classes } from "../kit/class-names.ts";
import { GRAPH } from "../words/graph.ts";
import { GRID, NODE_WIDTH } from "./auto-layout.ts";
import { flowEdges, flowNodes } from "./flow-elements.ts";
import { GraphControls } from "./graph-controls.tsx";
import { type FlowEdge, WorkflowEdge } from "./graph-edge.tsx";
import { type FlowNode, type NodeMark, WorkflowNode } from "./graph-node.tsx";
import type { Graph, Places } from "./graph-types.ts";

/** Operations of a person on a graph besides viewing it. */
export interface GraphEditing {
  /** Nodes stand elsewhere now. */
  onMove(places: Places): void;
  onConnect(from: string, port: string, to: string): void;
  /** A node is wanted after this port. */
  onAdd(id: string, port: string): void;
  /** A kind was dragged here from the palette. */
  onDropKind(kind: string, at: readonly [x: number, y: number]): void;
}

/** Properties of a graph. */
export interface GraphCanvasProps {
  readonly graph: Graph;
  /** Of all its nodes. */
  readonly places: Places;
  readonly marks?: ReadonlyMap<string, NodeMark>;
  /** `<from>.<port>` that a run went along; with `marks`, the other edges are dashed. */
  readonly taken?: ReadonlySet<string>;
  readonly findings?: ReadonlyMap<string, "error" | "warning">;
  readonly selected: readonly string[];
  readonly selectedEdges?: readonly string[];
  onSelect(nodes: readonly string[], edges: readonly string[]): void;
  /** The body of a node is wanted. */
  onOpen?(id: string): void;
  /** Brought into sight whenever it changes: a node, and a number that tells one wish from the next. */
  readonly focus?: { readonly id: string; readonly wish: number };
  /** Asked for whenever it grows: all of the graph. */
  readonly fit?: number;
  readonly editing?: GraphEditing;
  onKeyDown?(event: KeyboardEvent): void;
  readonly label: string;
}

/** The type that a kind is dragged under. */
export const DRAGGED_KIND = "application/x-svc-node-kind";
const NODE_TYPES = { workflow: WorkflowNode };
const EDGE_TYPES = { workflow: WorkflowEdge };
const NONE: readonly string[] = [];
const GRID_STEP: [number, number] = [GRID, GRID];
/** The library's own sentences tell keys that are others here. */
const SAID = { "node.a11yDescription.default": "", "node.a11yDescription.keyboardDisabled": "", "edge.a11yDescription.default": "" };
const OPENED_AT_LEAST = 0.8;
const TEXT_FROM = 0.5;
const MAP_FROM = 8;

/** One graph, drawn: a level of a workflow without the levels below. */
export function GraphCanvas(props: GraphCanvasProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas(props: GraphCanvasProps) {
  const { graph, selected, onSelect, onOpen, focus, fit = 0, editing, onKeyDown, label } = props;
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const frame = useRef<HTMLDivElement>(null);
  const far = useStore(({ transform }) => transform[2] < TEXT_FROM);
  const onAdd = useRef(editing?.onAdd);
  onAdd.current = editing?.onAdd;
  const add = useCallback((id: string, port: string) => onAdd.current?.(id, port), []);
  const editable = editing !== undefined;
  const { nodes, edges, latest, onNodesChange, onEdgesChange } = useElements(props, editable ? add : undefined);

  const showAll = useCallback(() => void flow.fitView({ padding: 0.15, maxZoom: 1 }), [flow]);
  const shown = useRef(fit);
  useEffect(() => {
    if (fit === shown.current) return;
    shown.current = fit;
    showAll();
  }, [fit, showAll]);
  const bring = useCallback(
    (id: string) => {
      const place = latest.current.nodes.find((node) => node.id === id);
      if (place === undefined) return;
      void flow.setCenter(place.position.x + NODE_WIDTH / 2, place.position.y + (place.height ?? 48) / 2, {
        zoom: Math.max(OPENED_AT_LEAST, flow.getZoom()),
      });
    },
    [flow, latest],
  );
  useEffect(() => {
    if (focus !== undefined) bring(focus.id);
  }, [focus, bring]);
  /** At 80 % or more: what does not fit then begins at what matters. */
  const onInit = () => {
    const all = flow.getNodesBounds(latest.current.nodes);
    const box = frame.current?.getBoundingClientRect();
    const fits = box !== undefined && all.width * OPENED_AT_LEAST < box.width * 0.9 && all.height * OPENED_AT_LEAST < box.height * 0.9;
    if (fits) return showAll();
    const first = [focus?.id, ...selected].find((id) => latest.current.nodes.some((node) => node.id === id));
    if (first !== undefined) {
      void flow.setViewport({ x: 0, y: 0, zoom: OPENED_AT_LEAST });
      bring(first);
      return;
    }
    const [start] = latest.current.nodes;
    const middle = (box?.height ?? 0) / 2;
    const [x, y] =
      start === undefined ? [0, 0] : [start.position.x, all.height * OPENED_AT_LEAST < 2 * middle ? all.y + all.height / 2 : start.position.y + 24];
    void flow.setViewport({ x: GRID * 3 - x * OPENED_AT_LEAST, y: middle - y * OPENED_AT_LEAST, zoom: OPENED_AT_LEAST });
  };
  /** A node that Tab comes to is the selected one, and in sight. */
  const onFocus = ({ target }: FocusEvent) => {
    const id = target instanceof HTMLElement && target.matches(".react-flow__node:focus-visible") ? target.dataset["id"] : undefined;
    const box = frame.current?.getBoundingClientRect();
    if (id === undefined || box === undefined) return;
    // The browser scrolls the clipped graph to what it focuses, and the library scrolls it back a moment later.
    target.closest(".react-flow")?.scrollTo(0, 0);
    const { left, right, top, bottom } = target.getBoundingClientRect();
    const out = left < box.left || right > box.right || top < box.top || bottom > box.bottom;
    // The controls and the map lie on the graph.
    const covered = !target.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    if (out || covered) bring(id);
    keepInSight(frame.current, target);
    if (selected.length !== 1 || selected[0] !== id) onSelect([id], []);
  };
  const onConnect = ({ source, sourceHandle, target }: Connection) => editing?.onConnect(source, sourceHandle ?? "out", target);
  const onDrop = (event: DragEvent) => {
    const kind = event.dataTransfer.getData(DRAGGED_KIND);
    if (kind === "" || editing === undefined) return;
    event.preventDefault();
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }, { snapToGrid: false });
    editing.onDropKind(kind, [x - NODE_WIDTH / 2, y - 24]);
  };
  const moved = (_event: unknown, _node: unknown, dragged: readonly FlowNode[]) =>
    editing?.onMove(new Map(dragged.map(({ id, position }) => [id, [Math.round(position.x), Math.round(position.y)] as const])));
  const withMap = useMemo(() => graph.nodes.length >= MAP_FROM, [graph.nodes.length]);
  const open = (_event: MouseEvent, { id }: FlowNode) => onOpen?.(id);

  return (
    <div
      ref={frame}
      className={classes("graph-canvas", far && "graph-far", editable && "graph-editable")}
      onKeyDown={onKeyDown}
      onFocus={onFocus}
      onDragOver={(event) => {
        if (!editable || !event.dataTransfer.types.includes(DRAGGED_KIND)) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
      }}
      onDrop={onDrop}
    >
      <ReactFlow<FlowNode, FlowEdge>
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onConnect={onConnect}
        onNodeDragStop={moved}
        onSelectionDragStop={(event, dragged) => moved(event, undefined, dragged)}
        onNodeDoubleClick={open}
        onInit={onInit}
        connectionMode={ConnectionMode.Strict}
        connectionRadius={24}
        nodesDraggable={editable}
        nodesConnectable={editable}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={["Control", "Meta"]}
        panActivationKeyCode={null}
        snapToGrid
        snapGrid={GRID_STEP}
        minZoom={0.1}
        maxZoom={2}
        zoomOnScroll={editable}
        preventScrolling={editable}
        zoomOnDoubleClick={false}
        elevateNodesOnSelect={false}
        ariaLabelConfig={SAID}
        aria-label={label}
        proOptions={{ hideAttribution: true }}
      >
        <Background variant={BackgroundVariant.Dots} gap={GRID} size={1} />
        {withMap && <MiniMap pannable zoomable ariaLabel={GRAPH.map} nodeClassName={mapClass} nodeBorderRadius={6} />}
      </ReactFlow>
      <GraphControls onFit={showAll} />
      {graph.nodes.length === 0 && <p className="graph-empty">{GRAPH.empty}</p>}
    </div>
  );
}

/** Content above the graph about the selected node appears later, and pushes the graph away: scroll it back for this many frames. */
const SETTLES_FRAMES = 60;

function keepInSight(frame: Element | null, focused: Element, left = SETTLES_FRAMES): void {
  if (left === 0 || document.activeElement !== focused) return;
  frame?.scrollIntoView({ block: "nearest" });
  requestAnimationFrame(() => keepInSight(frame, focused, left - 1));
}

/** Nodes and edges as the library holds them, while they are dragged as well. */
function useElements(
  { graph, places, marks, taken, findings, selected, selectedEdges = NONE, onSelect }: GraphCanvasProps,
  onAdd: ((id: string, port: string) => void) | undefined,
) {
  const nodesOf = (before: readonly FlowNode[]) => flowNodes({ graph, places, marks, findings, selected, onAdd }, before);
  const edgesOf = () => flowEdges(graph, marks === undefined ? undefined : (taken ?? new Set()), selectedEdges);
  const [nodes, setNodes] = useState(() => nodesOf([]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: what nodes are made of
  useEffect(() => setNodes(nodesOf), [graph, places, marks, findings, selected, onAdd]);
  const [edges, setEdges] = useState(edgesOf);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what edges are made of
  useEffect(() => setEdges(edgesOf), [graph, marks, taken, selectedEdges]);
  const latest = useRef({ nodes, edges });
  latest.current = { nodes, edges };
  const report = () =>
    onSelect(
      latest.current.nodes.filter((node) => node.selected).map(({ id }) => id),
      latest.current.edges.filter((edge) => edge.selected).map(({ id }) => id),
    );
  return {
    nodes,
    edges,
    latest,
    onNodesChange(changes: NodeChange<FlowNode>[]) {
      latest.current.nodes = applyNodeChanges(changes, latest.current.nodes);
      setNodes(latest.current.nodes);
      if (changes.some(({ type }) => type === "select")) report();
    },
    onEdgesChange(changes: EdgeChange<FlowEdge>[]) {
      latest.current.edges = applyEdgeChanges(changes, latest.current.edges);
      setEdges(latest.current.edges);
      if (changes.some(({ type }) => type === "select")) report();
    },
  };
}

const mapClass = ({ data }: FlowNode): string => (data.mark === undefined ? "graph-map-node" : `graph-map-node graph-map-${data.mark.state}`);
