import { useMemo } from "react";
import type { FormError } from "../../forms/form-context.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";
import type { EditorState } from "./editor-state.ts";
import type { Desk } from "./editor-types.ts";
import { workflowSchema } from "./node-schema.ts";
import { whereIs } from "./pointer.ts";

/** Ids that a workflow may have. */
export const WORKFLOW_ID = /^(?!(?:runs|drafts|tasks|signals)$)(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,63}$/;

/** Top-level fields of a workflow: shown while no node is selected. */
export function WorkflowPane({
  model,
  state,
  desk,
  readOnly,
}: {
  readonly model: EditorModel;
  readonly state: EditorState;
  readonly desk: Desk;
  readonly readOnly: boolean;
}) {
  const schema = useMemo(() => workflowSchema(desk.schema), [desk.schema]);
  const { definition } = state.history.now;
  const keys = Object.keys(schema.properties ?? {});
  const value = Object.fromEntries(Object.entries(definition).filter(([key]) => keys.includes(key)));
  const errors = (state.checked?.problems ?? []).flatMap(({ pointer, message, severity }): FormError[] => {
    const { node, field } = whereIs(definition, pointer);
    return node === undefined && field !== "" ? [{ path: field, message, severity }] : [];
  });
  const change = (next: unknown) => {
    const fields = next as Readonly<Record<string, unknown>>;
    const changed = keys.filter((key) => fields[key] !== value[key]);
    model.edit({ type: "top", fields: Object.fromEntries(changed.map((key) => [key, fields[key]])) }, `top/${changed.join()}`);
  };
  const isNew = state.stored === undefined;
  return (
    <div className="editor-node">
      {isNew && (
        <Field label={EDITOR.workflowId} hint={EDITOR.workflowIdHint} error={state.id === "" || WORKFLOW_ID.test(state.id) ? undefined : EDITOR.workflowIdForm}>
          {(control) => <TextInput {...control} className="mono" value={state.id} readOnly={readOnly} onChange={(event) => model.setId(event.target.value)} />}
        </Field>
      )}
      <SchemaForm
        schema={schema}
        value={value}
        onChange={change}
        errors={errors}
        label={EDITOR.workflowItself}
        compact
        readOnly={readOnly}
        references={(path) =>
          path.length === 1 && path[0] === "ownerAgent" ? desk.agents.map(({ id, name }) => ({ id, label: name === id ? id : `${id} (${name})` })) : undefined
        }
        {...(state.stored === undefined ? {} : { saved: { value: state.stored.definition } })}
      />
    </div>
  );
}
