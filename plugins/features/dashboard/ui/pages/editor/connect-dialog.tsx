import { useState } from "react";
import { flowOrder } from "../../graph/flow-order.ts";
import { edgeKey, type Graph, type GraphNode } from "../../graph/graph-types.ts";
import { factsOf, nameOf } from "../../graph/node-facts.ts";
import { drawnPorts } from "../../graph/ports.ts";
import { Button } from "../../kit/button.tsx";
import { Combobox } from "../../kit/combobox.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { EDITOR } from "../../words/editor.ts";
import { edgeOf } from "./edit.ts";

/** An edge by keyboard: from which port, to which node. */
export function ConnectDialog({
  node,
  graph,
  port: given,
  onConnect,
  onClose,
}: {
  readonly node: GraphNode;
  readonly graph: Graph;
  readonly port?: string;
  onConnect(port: string, to: string): void;
  onClose(): void;
}) {
  const { side, foot } = drawnPorts(node, graph);
  const ports = [...side, ...foot];
  const led = new Set(graph.edges.map(edgeKey));
  const free = ports.find((one) => !graph.edges.some((edge) => edge.from === node.id && (edge.fromPort ?? "out") === one));
  const [port, setPort] = useState(given ?? free ?? ports[0] ?? "out");
  const [to, setTo] = useState<string>();
  const targets = flowOrder(graph).filter(({ id, kind }) => kind !== "trigger" && !led.has(edgeKey(edgeOf(node.id, port, id))));
  const connect = () => {
    if (to !== undefined) onConnect(port, to);
  };
  return (
    <Dialog
      title={EDITOR.connectTitle(nameOf(node))}
      open
      onClose={onClose}
      actions={
        <Button kind="primary" disabledWhy={to === undefined ? EDITOR.toNode : undefined} onClick={connect}>
          {EDITOR.connectAction}
        </Button>
      }
    >
      <div className="editor-connect">
        {ports.length > 1 && (
          <Segmented
            label={EDITOR.fromPort}
            choices={ports.map((id) => ({ id, label: id }))}
            selected={port}
            onSelect={setPort}
            className="editor-connect-ports"
          />
        )}
        <Field label={EDITOR.toNode}>
          {(control) => (
            <Combobox control={control} options={targets.map((one) => ({ id: one.id, label: nameOf(one), note: factsOf(one) }))} value={to} onChange={setTo} />
          )}
        </Field>
      </div>
    </Dialog>
  );
}
