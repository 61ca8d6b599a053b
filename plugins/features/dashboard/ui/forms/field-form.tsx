import "./forms.css";
import "./form-lists.css";
import { useId } from "react";
import { classes } from "../kit/class-names.ts";
import { TextInput } from "../kit/field.tsx";
import { Icon } from "../kit/icon.tsx";
import { Segmented } from "../kit/tabs.tsx";
import { FORMS } from "../words/forms.ts";
import type { FormError } from "./form-context.ts";
import { labelOf } from "./schema-kinds.ts";
import { Switch } from "./switch.tsx";

/** A field of a form that a person fills in: of a user task, an approval, a question. */
export interface FormFieldView {
  readonly name: string;
  readonly kind: "text" | "long-text" | "number" | "boolean" | "select" | "multi-select" | "date";
  readonly label?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly help?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly integer?: boolean;
  readonly options?: readonly (string | { readonly value: string; readonly label?: string })[];
}

/** Values of a form, by the names of the fields. */
export type FieldValues = Readonly<Record<string, unknown>>;

/** Initial values of a form: the defaults of its fields. */
export const initialValues = (fields: readonly FormFieldView[]): FieldValues =>
  Object.fromEntries(fields.flatMap((field) => (field.default === undefined ? [] : [[field.name, field.default]])));

/** The fields of a task for a person. Errors by field: `path` is the field's name. Nothing is judged here: the server does. */
export function FieldForm({
  fields,
  values,
  onChange,
  errors = [],
  readOnly = false,
  label,
}: {
  readonly fields: readonly FormFieldView[];
  readonly values: FieldValues;
  onChange(values: FieldValues): void;
  readonly errors?: readonly FormError[];
  readonly readOnly?: boolean;
  readonly label?: string;
}) {
  return (
    <div className="form form-compact" role="group" aria-label={label}>
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={values[field.name]}
          error={errors.find(({ path }) => path === field.name)?.message}
          readOnly={readOnly}
          onChange={(value) => {
            const { [field.name]: _before, ...others } = values;
            onChange(value === undefined ? others : { ...others, [field.name]: value });
          }}
        />
      ))}
    </div>
  );
}

interface OneFieldProps {
  readonly field: FormFieldView;
  readonly value: unknown;
  readonly error: string | undefined;
  readonly readOnly: boolean;
  onChange(value: unknown): void;
}

function OneField(props: OneFieldProps) {
  const { field, error } = props;
  const id = useId();
  const help = [field.help, rangeWords(field)].filter(Boolean).join(" ");
  const about = [error !== undefined && `${id}-error`, help !== "" && `${id}-help`].filter(Boolean).join(" ");
  const several = field.kind === "multi-select" || isShort(field);
  const text = (
    <>
      {field.label ?? labelOf(field.name)}
      {field.required === true && <span className="form-needed"> *</span>}
    </>
  );
  return (
    <div className={classes("form-row", error !== undefined && "form-row-wrong")} data-path={field.name}>
      <div className="form-row-name">
        {several ? (
          <span id={`${id}-label`} className="form-label">
            {text}
          </span>
        ) : (
          <label className="form-label" htmlFor={id}>
            {text}
          </label>
        )}
      </div>
      <div className="form-row-value">
        <FieldInput {...props} id={id} labelId={`${id}-label`} about={about === "" ? undefined : about} />
        {error !== undefined && (
          <p id={`${id}-error`} className="form-error">
            <Icon name="warn" size={14} />
            <span>{error}</span>
          </p>
        )}
        {help !== "" && (
          <p id={`${id}-help`} className="form-help">
            {help}
          </p>
        )}
      </div>
    </div>
  );
}

const MOST_SEGMENTS = 3;
const optionsOf = (field: FormFieldView) =>
  (field.options ?? []).map((option) => (typeof option === "string" ? { value: option, label: option } : { label: option.value, ...option }));
const isShort = (field: FormFieldView): boolean => field.kind === "select" && optionsOf(field).length <= MOST_SEGMENTS;

function rangeWords({ kind, min, max, minLength, maxLength }: FormFieldView): string {
  const [least, most] = kind === "text" || kind === "long-text" ? [minLength, maxLength] : [min, max];
  const what = kind === "text" || kind === "long-text" ? " characters" : kind === "multi-select" ? " of them" : "";
  if (least !== undefined && most !== undefined) return `${least} to ${most}${what}.`;
  if (least !== undefined) return `At least ${least}${what}.`;
  return most === undefined ? "" : `At most ${most}${what}.`;
}

function FieldInput({
  field,
  value,
  error,
  readOnly,
  onChange,
  id,
  labelId,
  about,
}: OneFieldProps & { readonly id: string; readonly labelId: string; readonly about: string | undefined }) {
  const names = {
    id,
    "aria-describedby": about,
    "aria-invalid": error !== undefined ? (true as const) : undefined,
    "aria-required": field.required === true || undefined,
  };
  const text = value === undefined || value === null ? "" : String(value);
  const typed = (next: string) => onChange(next === "" ? undefined : next);
  switch (field.kind) {
    case "long-text":
      return (
        <textarea
          {...names}
          className="kit-input form-long"
          dir="auto"
          rows={4}
          value={text}
          readOnly={readOnly}
          onChange={(event) => typed(event.target.value)}
        />
      );
    case "number":
      return (
        <TextInput
          {...names}
          inputMode={field.integer === true ? "numeric" : "decimal"}
          value={text}
          readOnly={readOnly}
          onChange={(event) => {
            const { value: next } = event.target;
            const number = Number(next);
            // "1." on its way to "1.5" stays as it is typed.
            onChange(next.trim() === "" ? undefined : Number.isFinite(number) && String(number) === next ? number : next);
          }}
          onBlur={() => value !== undefined && Number.isFinite(Number(value)) && onChange(Number(value))}
        />
      );
    case "boolean":
      return <Switch on={value === true} control={names} readOnly={readOnly} onChange={onChange} />;
    case "date":
      return (
        <TextInput
          {...names}
          type="date"
          min={dayOf(field.min)}
          max={dayOf(field.max)}
          value={text}
          readOnly={readOnly}
          onChange={(event) => typed(event.target.value)}
        />
      );
    case "select": {
      const options = optionsOf(field);
      if (isShort(field))
        return (
          <Segmented
            choices={options.map((option) => ({ id: option.value, label: option.label }))}
            selected={text}
            onSelect={(next) => !readOnly && onChange(next)}
            label={field.label ?? labelOf(field.name)}
          />
        );
      return (
        <select {...names} className="kit-input form-select" value={text} disabled={readOnly} onChange={(event) => typed(event.target.value)}>
          <option value="">{FORMS.choose}</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      );
    }
    case "multi-select": {
      const chosen = Array.isArray(value) ? (value as readonly string[]) : [];
      return (
        <div className="form-checks" role="group" aria-labelledby={labelId} aria-describedby={about}>
          {optionsOf(field).map((option) => (
            <label key={option.value} className="form-check">
              <input
                type="checkbox"
                checked={chosen.includes(option.value)}
                disabled={readOnly}
                onChange={(event) => {
                  const next = event.target.checked ? [...chosen, option.value] : chosen.filter((one) => one !== option.value);
                  onChange(next.length === 0 ? undefined : next);
                }}
              />
              <span>{option.label}</span>
            </label>
          ))}
        </div>
      );
    }
    default:
      return <TextInput {...names} dir="auto" value={text} readOnly={readOnly} onChange={(event) => typed(event.target.value)} />;
  }
}

const dayOf = (bound: unknown): string | undefined => (typeof bound === "string" ? bound : undefined);
