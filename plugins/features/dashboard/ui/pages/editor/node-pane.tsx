import { useEffect, useMemo, useRef, useState } from "react";
import type { FormError } from "../../forms/form-context.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { allNodes, bodyOf, type Graph, type GraphDefinition, type GraphNode } from "../../graph/graph-types.ts";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { EDITOR } from "../../words/editor.ts";
import { isStart } from "./edit.ts";
import type { EditorModel } from "./editor-model.ts";
import type { EditorState } from "./editor-state.ts";
import type { Desk, Problem } from "./editor-types.ts";
import { nodeSchema } from "./node-schema.ts";
import { whereIs } from "./pointer.ts";
import { PortList } from "./port-list.tsx";

const ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** The form of the selected node: name, id, what its kind says, its ports. */
export function NodePane({
  model,
  state,
  desk,
  node,
  graph,
  readOnly,
  onConnect,
  onAddAfter,
}: {
  readonly model: EditorModel;
  readonly state: EditorState;
  readonly desk: Desk;
  readonly node: GraphNode;
  readonly graph: Graph;
  readonly readOnly: boolean;
  onConnect(port: string): void;
  onAddAfter(port: string): void;
}) {
  const { scope, checked, wanted, history } = state;
  const schemas = useMemo(() => nodeSchema(desk.schema, node.kind), [desk.schema, node.kind]);
  const { definition } = history.now;
  const errors = useMemo(() => errorsOf(checked?.problems ?? [], definition, node.id), [checked, definition, node.id]);
  const saved = useMemo(() => {
    const there = state.stored === undefined ? undefined : allNodes(state.stored.definition).find(({ id }) => id === node.id);
    return there === undefined ? undefined : { value: there };
  }, [state.stored, node.id]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (wanted === undefined || wanted.field === "") return;
    const rows = [...(box.current?.querySelectorAll<HTMLElement>("[data-path]") ?? [])];
    const fits = rows.filter(
      ({ dataset }) => wanted.field === dataset["path"] || wanted.field.startsWith(`${dataset["path"]}.`) || wanted.field.startsWith(`${dataset["path"]}[`),
    );
    fits.at(-1)?.querySelector<HTMLElement>("input,textarea,select,button")?.focus();
  }, [wanted]);
  const change = (part: "own" | "rare") => (value: unknown) => {
    const keys = Object.keys(schemas?.[part].properties ?? {});
    const next = { ...Object.fromEntries(Object.entries(node).filter(([key]) => !keys.includes(key))), ...(value as object) } as GraphNode;
    const changed = Object.keys({ ...node, ...next }).find((key) => node[key] !== next[key]);
    model.edit({ type: "change", scope, id: node.id, node: next }, `${node.id}/${changed}`);
  };
  const references = useMemo(() => referencesOf(desk, graph, node), [desk, graph, node]);
  const form = (part: "own" | "rare") => (
    <SchemaForm
      schema={schemas?.[part] ?? {}}
      value={pick(node, Object.keys(schemas?.[part].properties ?? {}))}
      onChange={change(part)}
      errors={errors}
      label={node.kind}
      compact
      readOnly={readOnly}
      references={references}
      {...(saved === undefined ? {} : { saved })}
    />
  );
  const rareSet = Object.keys(schemas?.rare.properties ?? {}).some((key) => node[key] !== undefined);
  return (
    <div ref={box} className="editor-node" key={node.id}>
      <NameAndId model={model} node={node} scope={scope} readOnly={readOnly} taken={(id) => allNodes(model.definition).some((other) => other.id === id)} />
      {schemas !== undefined && Object.keys(schemas.own.properties ?? {}).length > 0 && form("own")}
      {bodyOf(node) !== undefined && (
        <p className="editor-body-way">
          <Button onClick={() => model.open([...scope, node.id])}>{EDITOR.openBody}</Button>
          <span className="meta">{EDITOR.openSteps(bodyOf(node)?.nodes.length ?? 0)}</span>
        </p>
      )}
      {scope.length > 0 &&
        (isStart(graph, node.id) ? (
          <p className="meta">{EDITOR.bodyStartNow}</p>
        ) : (
          <Button disabledWhy={readOnly ? EDITOR.readOnly : undefined} onClick={() => model.edit({ type: "start", scope, id: node.id })}>
            {EDITOR.bodyStart}
          </Button>
        ))}
      <PortList model={model} node={node} graph={graph} scope={scope} readOnly={readOnly} onConnect={onConnect} onAddAfter={onAddAfter} />
      {schemas !== undefined && Object.keys(schemas.rare.properties ?? {}).length > 0 && (
        <details className="editor-rare" open={rareSet || undefined}>
          <summary>{EDITOR.more}</summary>
          {form("rare")}
        </details>
      )}
      {!readOnly && (
        <Button kind="danger" onClick={() => model.removeSelected()}>
          {EDITOR.removeNodes(1)}
        </Button>
      )}
    </div>
  );
}

function NameAndId({
  model,
  node,
  scope,
  readOnly,
  taken,
}: {
  readonly model: EditorModel;
  readonly node: GraphNode;
  readonly scope: readonly string[];
  readonly readOnly: boolean;
  taken(id: string): boolean;
}) {
  const [typed, setTyped] = useState(node.id);
  useEffect(() => setTyped(node.id), [node.id]);
  const wrong = typed === node.id ? undefined : !ID.test(typed) ? EDITOR.idForm : taken(typed) ? EDITOR.idTaken(typed) : undefined;
  const rename = () => {
    if (typed !== node.id && wrong === undefined) model.rename(node.id, typed);
    else if (wrong !== undefined) setTyped(node.id);
  };
  const name = (label: string) => {
    const { label: _, ...rest } = node;
    model.edit({ type: "change", scope, id: node.id, node: label === "" ? rest : { ...rest, label } }, `${node.id}/label`);
  };
  return (
    <>
      <Field label={EDITOR.label} hint={EDITOR.labelHint}>
        {(control) => (
          <TextInput
            {...control}
            dir="auto"
            data-editor="label"
            value={typeof node.label === "string" ? node.label : ""}
            placeholder={node.id}
            readOnly={readOnly}
            onChange={(event) => name(event.target.value)}
          />
        )}
      </Field>
      <Field label={EDITOR.id} hint={EDITOR.idHint} error={wrong}>
        {(control) => (
          <TextInput
            {...control}
            className="mono"
            value={typed}
            readOnly={readOnly}
            onChange={(event) => setTyped(event.target.value)}
            onBlur={rename}
            onKeyDown={(event) => {
              if (event.key === "Enter") rename();
            }}
          />
        )}
      </Field>
    </>
  );
}

const pick = (node: GraphNode, keys: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(node).filter(([key]) => keys.includes(key)));

function errorsOf(problems: readonly Problem[], definition: GraphDefinition, id: string): readonly FormError[] {
  return problems.flatMap(({ pointer, message, severity }) => {
    const place = whereIs(definition, pointer);
    return place.node === id && place.field !== "" ? [{ path: place.field, message, severity }] : [];
  });
}

/** Targets of references in a field of a node: agents, actions, other nodes. */
function referencesOf({ agents, actions }: Desk, { nodes }: Graph, node: GraphNode) {
  const others = nodes.filter(({ id }) => id !== node.id).map(({ id, label }) => ({ id, label: typeof label === "string" ? `${id} (${label})` : id }));
  return (path: readonly (string | number)[]) => {
    const [field, index] = path;
    if (path.length === 1 && field === "agent" && node.kind === "agent")
      return agents.map(({ id, name }) => ({ id, label: name === id ? id : `${id} (${name})` }));
    if (path.length === 1 && field === "action" && node.kind === "action") return actions.map(({ name, description }) => ({ id: name, note: description }));
    if (path.length === 1 && field === "of" && node.kind === "join") return others;
    return field === "nodes" && typeof index === "number" && node.kind === "cancelNodes" ? others : undefined;
  };
}
