import "./steps-list.css";
import { flowOrder } from "../../graph/flow-order.ts";
import { bodyOf, type Graph, type GraphDefinition } from "../../graph/graph-types.ts";
import { factsOf, nameOf } from "../../graph/node-facts.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { EDITOR } from "../../words/editor.ts";

/** A workflow as an indented list: for screens that no graph fits on. */
export function StepsList({
  definition,
  findings,
  selected,
  onSelect,
}: {
  readonly definition: GraphDefinition;
  readonly findings: ReadonlyMap<string, "error" | "warning">;
  readonly selected: string | undefined;
  onSelect(id: string): void;
}) {
  return <Level graph={definition} findings={findings} selected={selected} onSelect={onSelect} />;
}

function Level({ graph, findings, selected, onSelect }: { readonly graph: Graph } & Omit<Parameters<typeof StepsList>[0], "definition">) {
  return (
    <ol className="editor-steps" aria-label={EDITOR.steps}>
      {flowOrder(graph).map((node) => {
        const body = bodyOf(node);
        const finding = findings.get(node.id);
        return (
          <li key={node.id}>
            <button type="button" className="editor-step" aria-current={node.id === selected || undefined} onClick={() => onSelect(node.id)}>
              <span className="grow cut">
                <bdi>{nameOf(node)}</bdi>
                <span className="meta cut">{factsOf(node)}</span>
              </span>
              {finding !== undefined && <Glyph state={finding === "error" ? "failed" : "waiting"} label={finding} />}
            </button>
            {body !== undefined && <Level graph={body} findings={findings} selected={selected} onSelect={onSelect} />}
          </li>
        );
      })}
    </ol>
  );
}
