import { type RefObject, useMemo } from "react";
import { GraphCanvas, type GraphEditing } from "../../graph/graph-canvas.tsx";
import { bodyOf, type Graph, graphAt } from "../../graph/graph-types.ts";
import { nameOf } from "../../graph/node-facts.ts";
import { drawnPorts } from "../../graph/ports.ts";
import { ScopePath } from "../../graph/scope-path.tsx";
import { Button } from "../../kit/button.tsx";
import { Pane } from "../../kit/pane.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { EDITOR } from "../../words/editor.ts";
import { focusNode, onCanvasKey } from "./canvas-keys.ts";
import type { EditorModel } from "./editor-model.ts";
import type { EditorState } from "./editor-state.ts";
import type { Desk } from "./editor-types.ts";
import { FindingsPane } from "./findings-pane.tsx";
import { Palette } from "./node-palette.tsx";
import { NodePane } from "./node-pane.tsx";
import { WorkflowPane } from "./workflow-pane.tsx";
import { YamlPane } from "./yaml-pane.tsx";

/** Content in the middle. */
export type View = "graph" | "yaml" | "both";

/** Properties shared by the panes of the editor. */
export interface EditorParts {
  readonly model: EditorModel;
  readonly state: EditorState;
  readonly desk: Desk;
  readonly view: View;
  onView(view: View): void;
  /** Asked for whenever it grows: all of the graph in sight. */
  readonly fit: number;
  readonly find: RefObject<HTMLInputElement | null>;
  /** The port that the next node comes after. */
  readonly after: { readonly id: string; readonly port: string } | undefined;
  readonly findings: ReadonlyMap<string, "error" | "warning">;
  readonly paletteOpen: boolean;
  readonly readOnly: boolean;
  onPalette(open: boolean): void;
  onAfter(after: { readonly id: string; readonly port: string } | undefined): void;
  onConnect(port?: string): void;
  onAddAfter(port?: string): void;
}

const NONE: Graph = { nodes: [], edges: [] };

/** The editor with room for panes: palette, graph or text with findings, and the form. */
export function EditorDesktop(parts: EditorParts) {
  const { model, state, desk, view, onView, find, after, paletteOpen, readOnly, onPalette, onAfter, onConnect, onAddAfter } = parts;
  const graph = graphAt(model.definition, state.scope) ?? NONE;
  const [first] = state.selected;
  const node = state.selected.length === 1 ? graph.nodes.find(({ id }) => id === first) : undefined;
  const closed = readOnly ? "locked" : model.closed();
  const changes = model.changes().length;
  const add = (kind: string) => {
    const source = after ?? portAfter(graph, node?.id);
    model.add(kind, { from: source });
    onAfter(undefined);
    onPalette(false);
    focusNode(model);
  };
  const source = after === undefined ? undefined : graph.nodes.find(({ id }) => id === after.id);
  return (
    <div className="editor" data-view={view} data-palette={paletteOpen || undefined}>
      <Pane className="editor-palette-pane" label={EDITOR.palette} flush>
        <Palette
          ref={find}
          after={after === undefined || source === undefined ? undefined : EDITOR.afterPort(nameOf(source), after.port)}
          onClearAfter={() => onAfter(undefined)}
          onAdd={add}
          hasTrigger={model.definition.nodes.some(({ kind }) => kind === "trigger")}
          inBody={state.scope.length > 0}
          closed={closed !== undefined}
        />
      </Pane>
      <section className="editor-middle" aria-label={EDITOR.graphOf(state.id)}>
        <div className="editor-bar">
          <Button className="editor-palette-button" icon="add" aria-expanded={paletteOpen} onClick={() => (paletteOpen ? onPalette(false) : onAddAfter())}>
            {EDITOR.newAfter}
          </Button>
          <span className={model.unsaved() ? "editor-unsaved" : "editor-saved"} role="status">
            {!model.unsaved()
              ? state.stored === undefined
                ? EDITOR.notSaved
                : EDITOR.saved
              : changes > 0 && state.stored !== undefined
                ? EDITOR.unsaved(changes)
                : EDITOR.unsavedText}
          </span>
          <span className="grow" />
          <Button
            kind="plain"
            icon="undo"
            disabledWhy={state.history.past.length === 0 && (state.typed === undefined || !model.unsaved()) ? EDITOR.nothingChanged : undefined}
            onClick={() => model.undo()}
          >
            {EDITOR.undo} <kbd>Ctrl Z</kbd>
          </Button>
          <Segmented
            label={EDITOR.views}
            choices={[
              { id: "graph", label: EDITOR.graph },
              { id: "yaml", label: EDITOR.yaml },
              { id: "both", label: EDITOR.both },
            ]}
            selected={view}
            onSelect={onView}
          />
        </div>
        <div className="editor-views">
          {view !== "yaml" && <GraphView key={view} {...parts} closed={closed !== undefined} graph={graph} />}
          {view !== "graph" && <YamlPane model={model} state={state} readOnly={readOnly} />}
        </div>
        <FindingsPane model={model} state={state} onText={() => view === "graph" && onView("both")} />
      </section>
      <Pane
        className="editor-form-pane"
        title={node === undefined ? (state.selected.length > 1 ? EDITOR.severalSelected(state.selected.length) : EDITOR.nothingSelected) : nameOf(node)}
        actions={node === undefined ? undefined : <span className="editor-kind-name mono">{node.kind}</span>}
      >
        {node !== undefined ? (
          <NodePane
            key={node.id}
            model={model}
            state={state}
            desk={desk}
            node={node}
            graph={graph}
            readOnly={closed !== undefined}
            onConnect={onConnect}
            onAddAfter={(port) => onAddAfter(port)}
          />
        ) : state.selected.length > 1 ? (
          <Button kind="danger" disabledWhy={closed === undefined ? undefined : EDITOR.readOnly} onClick={() => model.removeSelected()}>
            {EDITOR.removeNodes(state.selected.length)}
          </Button>
        ) : state.selectedEdges.length === 1 ? (
          <EdgeFacts model={model} graph={graph} id={state.selectedEdges[0] as string} readOnly={closed !== undefined} />
        ) : (
          <WorkflowPane model={model} state={state} desk={desk} readOnly={closed !== undefined} />
        )}
      </Pane>
    </div>
  );
}

function GraphView({
  model,
  state,
  view,
  onView,
  fit,
  findings,
  closed,
  graph,
  onAfter,
  onPalette,
  find,
}: EditorParts & { readonly closed: boolean; readonly graph: Graph }) {
  const { places, scope, selected, selectedEdges, wish, lock, whole } = state;
  const editing = useMemo<GraphEditing>(
    () => ({
      onMove: (moved) => model.move(moved),
      onConnect: (from, port, to) => model.connect(from, port, to),
      onAdd(id, port) {
        onPalette(true);
        onAfter({ id, port });
        requestAnimationFrame(() => find.current?.focus());
      },
      onDropKind: (kind, at) => model.add(kind, { at }),
    }),
    [model, onAfter, onPalette, find],
  );
  const faulty = useMemo(() => [...findings].find(([, severity]) => severity === "error")?.[0], [findings]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: brought into sight when that is wished, not whenever the selection changes
  const focus = useMemo(() => {
    const id = selected.at(-1) ?? faulty;
    return id === undefined || wish === 0 ? undefined : { id, wish };
  }, [wish]);
  const open = (id: string) => {
    if (bodyOf(graph.nodes.find((node) => node.id === id)) !== undefined) model.open([...scope, id]);
  };
  const note = lock !== undefined ? EDITOR.lockedBy(lock.reason, lock.line) : !whole ? EDITOR.notWhole : undefined;
  return (
    <div className="editor-graph">
      {note !== undefined && (
        <p className="editor-yaml-note">
          <span className="grow">{note}</span>
          {view === "graph" && <Button onClick={() => onView("yaml")}>{EDITOR.toYaml}</Button>}
        </p>
      )}
      <ScopePath definition={model.definition} scope={scope} onOpen={(to) => model.open(to)} />
      <GraphCanvas
        key={scope.join("/")}
        graph={graph}
        places={places}
        findings={findings}
        selected={selected}
        selectedEdges={selectedEdges}
        onSelect={(nodes, edges) => model.select(nodes, edges)}
        onOpen={open}
        fit={fit}
        onKeyDown={(event) => onCanvasKey(event, model, { open, closed })}
        label={EDITOR.graphOf(state.id)}
        {...(focus === undefined ? {} : { focus })}
        {...(closed ? {} : { editing })}
      />
    </div>
  );
}

function EdgeFacts({ model, graph, id, readOnly }: { readonly model: EditorModel; readonly graph: Graph; readonly id: string; readonly readOnly: boolean }) {
  const edge = graph.edges.find((one) => `${one.from}.${one.fromPort ?? "out"}>${one.to}` === id);
  if (edge === undefined) return null;
  const name = (node: string) => nameOf(graph.nodes.find((one) => one.id === node) ?? { id: node, kind: "" });
  return (
    <div className="editor-node">
      <p>{EDITOR.edgeFrom(name(edge.from), edge.fromPort ?? "out", name(edge.to))}</p>
      <Button kind="danger" disabledWhy={readOnly ? EDITOR.readOnly : undefined} onClick={() => model.removeSelected()}>
        {EDITOR.removeEdge}
      </Button>
    </div>
  );
}

/** A new node comes after the first port of the selected one that leads nowhere. */
function portAfter(graph: Graph, id: string | undefined): { readonly id: string; readonly port: string } | undefined {
  const node = graph.nodes.find((one) => one.id === id);
  if (node === undefined) return undefined;
  const { side } = drawnPorts(node, graph);
  const free = side.find((port) => !graph.edges.some((edge) => edge.from === node.id && (edge.fromPort ?? "out") === port)) ?? side[0];
  return free === undefined ? undefined : { id: node.id, port: free };
}
