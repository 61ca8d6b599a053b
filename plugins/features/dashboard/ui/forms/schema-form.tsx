import "./forms.css";
import "./form-lists.css";
import type { Schema } from "@svc/sdk";
import { type FocusEvent, useMemo } from "react";
import { classes } from "../kit/class-names.ts";
import { FormContext, type FormError, type FormParts, type FormSurroundings } from "./form-context.ts";
import type { FormPath } from "./form-path.ts";
import { ObjectFields } from "./object-fields.tsx";
import { ValueControl } from "./value-control.tsx";

/** Properties of the form of one object. */
export interface SchemaFormProps extends Partial<Omit<FormSurroundings, "errors" | "parts">> {
  /** Of an object. */
  readonly schema: Schema;
  /** As it is written, without defaults. */
  readonly value: unknown;
  onChange(value: unknown): void;
  /** Where the object stands in the document: for labels, errors and marks. */
  readonly at?: FormPath;
  readonly errors?: readonly FormError[];
  readonly label?: string;
}

const NONE: readonly FormError[] = [];
const EVERYTHING = () => true;
const TOP: FormPath = [];
const PARTS: FormParts = { Value: ValueControl, Fields: ObjectFields };

/** Form of one object, generated from its schema. Empty fields are omitted from the value; nothing is validated here: errors come from the server. */
export function SchemaForm({
  schema,
  value,
  onChange,
  at = TOP,
  errors = NONE,
  label,
  saved,
  paths = false,
  compact = false,
  readOnly = false,
  shows = EVERYTHING,
  references,
  secrets,
  onRaw,
  onLeave,
}: SchemaFormProps) {
  const surroundings = useMemo<FormSurroundings>(
    () => ({
      parts: PARTS,
      errors,
      paths,
      compact,
      readOnly,
      shows,
      ...(saved === undefined ? {} : { saved }),
      ...(references === undefined ? {} : { references }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(onRaw === undefined ? {} : { onRaw }),
      ...(onLeave === undefined ? {} : { onLeave }),
    }),
    [errors, paths, compact, readOnly, shows, saved, references, secrets, onRaw, onLeave],
  );
  const onBlur = (event: FocusEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget) || event.relatedTarget !== event.target) onLeave?.();
  };
  return (
    <FormContext.Provider value={surroundings}>
      <div className={classes("form", compact && "form-compact")} role="group" aria-label={label} onBlur={onBlur}>
        <ObjectFields schema={schema} value={value} path={at} depth={0} onChange={onChange} />
      </div>
    </FormContext.Provider>
  );
}
