import type { KeyboardEvent } from "react";
import { GRID } from "../../graph/auto-layout.ts";
import { waysOf } from "../../graph/flow-order.ts";
import { graphAt } from "../../graph/graph-types.ts";
import type { EditorModel } from "./editor-model.ts";

const ARROWS: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Frames that a new node may take until it is drawn. */
const MOST_FRAMES = 60;

/** Puts the focus on the selected node, once it is drawn. */
export function focusNode({ state }: EditorModel): void {
  const [id] = state.selected;
  if (id === undefined) return;
  const look = (left: number) =>
    requestAnimationFrame(() => {
      const node = document.querySelector<HTMLElement>(`.editor-graph .react-flow__node[data-id="${CSS.escape(id)}"]`);
      if (node !== null) node.focus({ preventScroll: true });
      if ((node === null || document.activeElement !== node) && left > 0) look(left - 1);
    });
  look(MOST_FRAMES);
}

/** Keys on the graph: arrows move nodes, with Ctrl they follow edges; Del, Enter, Escape, Ctrl-A, Ctrl-D. */
export function onCanvasKey(event: KeyboardEvent, model: EditorModel, { open, closed }: { open(id: string): void; readonly closed: boolean }): void {
  const { target, key } = event;
  if (!(target instanceof HTMLElement) || target.matches("input,textarea,select") || event.altKey) return;
  const held = event.ctrlKey || event.metaKey;
  if (run(key, held, event.shiftKey, model, { open, closed, onNode: target.matches(".react-flow__node") })) event.preventDefault();
}

function run(
  key: string,
  held: boolean,
  shift: boolean,
  model: EditorModel,
  { open, closed, onNode }: { open(id: string): void; readonly closed: boolean; readonly onNode: boolean },
): boolean {
  const { selected, selectedEdges, scope } = model.state;
  const arrow = ARROWS[key];
  if (arrow !== undefined && held) return follow(model, arrow);
  if (arrow !== undefined && selected.length > 0 && !closed) {
    const by = GRID * (shift ? 4 : 1);
    model.nudge(arrow[0] * by, arrow[1] * by);
    return true;
  }
  if ((key === "Delete" || key === "Backspace") && selected.length + selectedEdges.length > 0 && !closed) {
    model.removeSelected();
    return true;
  }
  if (key === "Escape") {
    if (selected.length + selectedEdges.length > 0) model.select([], []);
    else if (scope.length > 0) model.open(scope.slice(0, -1), [scope.at(-1) as string]);
    else return false;
    return true;
  }
  if ((key === "Enter" || key === " ") && onNode && selected.length === 1) {
    // Into the form of the node, at its first field.
    document.querySelector<HTMLElement>(".editor-form-pane [data-editor=label]")?.focus();
    return true;
  }
  if (key === "o" && !held && selected.length === 1) {
    open(selected[0] as string);
    return true;
  }
  const graph = graphAt(model.definition, scope);
  if (held && key.toLowerCase() === "a" && graph !== undefined) {
    model.select(
      graph.nodes.map(({ id }) => id),
      [],
    );
    return true;
  }
  if (held && key.toLowerCase() === "d" && graph !== undefined && !closed) {
    const chosen = new Set(selected);
    model.paste(
      graph.nodes.filter(({ id }) => chosen.has(id)),
      graph.edges,
    );
    focusNode(model);
    return true;
  }
  return false;
}

/** Right and left along an edge, up and down among those beside it. */
function follow(model: EditorModel, [x, y]: readonly [number, number]): boolean {
  const { scope, selected, places } = model.state;
  const graph = graphAt(model.definition, scope);
  const [id] = selected;
  if (graph === undefined || id === undefined) return false;
  const ways = waysOf(graph);
  const before = graph.edges.filter(({ to }) => to === id).map(({ from }) => from);
  const beside = () => {
    const all = [...new Set(before.flatMap((from) => ways.get(from) ?? []))].sort((one, other) => (places.get(one)?.[1] ?? 0) - (places.get(other)?.[1] ?? 0));
    return all[all.indexOf(id) + y];
  };
  const next = x > 0 ? ways.get(id)?.[0] : x < 0 ? before[0] : beside();
  if (next === undefined) return true;
  model.select([next], [], true);
  focusNode(model);
  return true;
}
