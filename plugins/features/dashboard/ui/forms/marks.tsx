import type { Schema } from "@svc/sdk";
import { classes } from "../kit/class-names.ts";
import { FORMS } from "../words/forms.ts";
import { useForm } from "./form-context.ts";
import { type FormPath, same, valueAt } from "./form-path.ts";
import { kindOf, shownValue } from "./schema-kinds.ts";

/** Marks of a set or changed value, with buttons to reset it. `quiet`, and in compact forms: only changed values are marked. */
export function Marks({
  path,
  value,
  schema,
  required = false,
  quiet: given = false,
  onChange,
}: {
  readonly path: FormPath;
  readonly value: unknown;
  readonly schema: Schema;
  readonly required?: boolean;
  readonly quiet?: boolean;
  onChange(value: unknown): void;
}) {
  const { saved, readOnly, compact } = useForm();
  const quiet = given || compact;
  if (saved === undefined) return null;
  const before = valueAt(saved.value, path);
  const changed = !same(before, value);
  const set = value !== undefined && !same(value, schema.default);
  if (!changed && (!set || quiet)) return null;
  const resettable = !quiet && value !== undefined && !required && !readOnly && kindOf(schema) !== "secret";
  return (
    <p className="form-marks">
      <span className={classes("form-mark", changed && "form-mark-changed")} title={changed ? FORMS.changedTip : FORMS.setTip}>
        <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
          <path d="M5 .7 9.3 5 5 9.3.7 5z" />
        </svg>
        {changed ? FORMS.changed : FORMS.set}
      </span>
      {changed && (
        <button type="button" className="form-link" onClick={() => onChange(before)}>
          {FORMS.undo}
        </button>
      )}
      {resettable && (
        <button type="button" className="form-link" onClick={() => onChange(undefined)}>
          {FORMS.reset(shownValue(schema.default))}
        </button>
      )}
    </p>
  );
}
