import type { Schema } from "@svc/sdk";
import { Combobox } from "../kit/combobox.tsx";
import { Segmented } from "../kit/tabs.tsx";
import { FORMS } from "../words/forms.ts";
import { useForm, type ValueProps } from "./form-context.ts";
import { labelOf, shownValue } from "./schema-kinds.ts";

const MOST_SEGMENTS = 3;
const MOST_SELECT = 12;
const UNSET = "";

/** Whether a choice is drawn as segments, of which one is always chosen: its label is then theirs. */
export function isSegmented(schema: Schema, value: unknown): boolean {
  const values: readonly unknown[] = schema.enum ?? [schema.const];
  return values.length <= MOST_SEGMENTS && (value ?? schema.default) !== undefined && values.every((one) => String(one).length <= 18);
}

/** One of a few values: segments up to three, a select up to twelve, else typed and chosen. */
export function EnumControl({ schema, value, name, control, onChange }: ValueProps) {
  const { readOnly } = useForm();
  const values: readonly unknown[] = schema.enum ?? [schema.const];
  const ids = values.map(String);
  const now = value ?? schema.default;
  const choose = (id: string | undefined) => onChange(id === undefined || id === UNSET ? undefined : values[ids.indexOf(id)]);
  if (readOnly) return <span id={control.id}>{shownValue(now)}</span>;
  if (isSegmented(schema, value))
    return (
      <span className="form-segments">
        <Segmented choices={ids.map((id) => ({ id, label: id }))} selected={String(now)} onSelect={choose} label={labelOf(name, schema)} />
      </span>
    );
  if (values.length <= MOST_SELECT)
    return (
      <select
        {...control}
        className="kit-input form-select"
        value={value === undefined ? UNSET : String(value)}
        onChange={(event) => choose(event.target.value)}
      >
        {(value === undefined || schema.default !== undefined || !ids.includes(String(value))) && (
          <option value={UNSET}>{schema.default === undefined ? FORMS.notSet : FORMS.usual(shownValue(schema.default))}</option>
        )}
        {value !== undefined && !ids.includes(String(value)) && <option value={String(value)}>{String(value)}</option>}
        {ids.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    );
  return (
    <Combobox options={ids.map((id) => ({ id, label: id }))} value={value === undefined ? undefined : String(value)} control={control} onChange={choose} />
  );
}
