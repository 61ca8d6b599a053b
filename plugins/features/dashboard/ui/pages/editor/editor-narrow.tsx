import { graphAt, scopeOf } from "../../graph/graph-types.ts";
import { nameOf } from "../../graph/node-facts.ts";
import { Button } from "../../kit/button.tsx";
import { EDITOR } from "../../words/editor.ts";
import type { EditorParts } from "./editor-desktop.tsx";
import { FindingsPane } from "./findings-pane.tsx";
import { NodePane } from "./node-pane.tsx";
import { StepsList } from "./steps-list.tsx";

/** The editor where no graph fits: the steps as a list, and one step; nothing is changed there. */
export function EditorNarrow({ model, state, desk, findings, onConnect, onAddAfter }: EditorParts) {
  const graph = graphAt(model.definition, state.scope);
  const [first] = state.selected;
  const node = graph?.nodes.find(({ id }) => id === first);
  if (node !== undefined && graph !== undefined)
    return (
      <div className="editor-narrow">
        <Button icon="left" onClick={() => model.open([])}>
          {EDITOR.steps}
        </Button>
        <h2 className="editor-narrow-name">
          <bdi>{nameOf(node)}</bdi> <span className="editor-kind-name mono">{node.kind}</span>
        </h2>
        <NodePane model={model} state={state} desk={desk} node={node} graph={graph} readOnly onConnect={onConnect} onAddAfter={(port) => onAddAfter(port)} />
      </div>
    );
  return (
    <div className="editor-narrow">
      <p className="meta">{EDITOR.readOnly}</p>
      <StepsList
        definition={model.definition}
        findings={findings}
        selected={undefined}
        onSelect={(id) => model.open(scopeOf(model.definition, id) ?? [], [id])}
      />
      <FindingsPane model={model} state={state} />
    </div>
  );
}
