import { type Graph, type GraphNode, portOf, type Scope } from "../../graph/graph-types.ts";
import { nameOf } from "../../graph/node-facts.ts";
import { drawnPorts } from "../../graph/ports.ts";
import { Button } from "../../kit/button.tsx";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";

/** The ports of a node with where they lead, by mouse or keyboard. */
export function PortList({
  model,
  node,
  graph,
  scope,
  readOnly,
  onConnect,
  onAddAfter,
}: {
  readonly model: EditorModel;
  readonly node: GraphNode;
  readonly graph: Graph;
  readonly scope: Scope;
  readonly readOnly: boolean;
  onConnect(port: string): void;
  onAddAfter(port: string): void;
}) {
  const { side, foot } = drawnPorts(node, graph);
  const ports = [...side, ...foot];
  if (ports.length === 0) return null;
  return (
    <section className="editor-ports" aria-label={EDITOR.ports}>
      <h3>{EDITOR.ports}</h3>
      <ul>
        {ports.map((port) => {
          const edges = graph.edges.filter((edge) => edge.from === node.id && portOf(edge) === port);
          return (
            <li key={port}>
              <code className="editor-port-name">{port}</code>
              <span className="grow editor-port-ends">
                {edges.length === 0 && <span className="meta">{EDITOR.nowhere}</span>}
                {edges.map((edge) => {
                  const target = graph.nodes.find(({ id }) => id === edge.to);
                  const name = target === undefined ? edge.to : nameOf(target);
                  return (
                    <span key={edge.to} className="editor-port-end">
                      <button type="button" className="editor-link cut" onClick={() => model.select([edge.to], [], true)}>
                        {name}
                      </button>
                      {!readOnly && (
                        <Button
                          kind="plain"
                          icon="close"
                          aria-label={EDITOR.disconnect(name)}
                          onClick={() => model.edit({ type: "disconnect", scope, edges: [edge] })}
                        />
                      )}
                    </span>
                  );
                })}
              </span>
              {!readOnly && (
                <>
                  <Button kind="plain" icon="add" aria-label={`${EDITOR.newAfter} ${EDITOR.afterPort(nameOf(node), port)}`} onClick={() => onAddAfter(port)} />
                  <Button kind="plain" icon="link" aria-label={`${EDITOR.connect} ${port}`} onClick={() => onConnect(port)} />
                </>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
