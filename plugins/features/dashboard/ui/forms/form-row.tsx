import { Fragment, useId } from "react";
import { classes } from "../kit/class-names.ts";
import { Icon } from "../kit/icon.tsx";
import { isSegmented } from "./enum-control.tsx";
import { type ControlNames, type PartProps, useForm } from "./form-context.ts";
import { pathText } from "./form-path.ts";
import { Marks } from "./marks.tsx";
import { helpOf, kindOf, labelOf } from "./schema-kinds.ts";
import { ValueControl } from "./value-control.tsx";

/** Kinds with several controls: their label names a group. */
const GROUPED: ReadonlySet<string> = new Set(["list", "map", "union", "object"]);

/** One field: label, path and marks at the left; control, error and help at the right. */
export function FormRow({ name, required = false, ...part }: PartProps & { readonly name: string; readonly required?: boolean }) {
  const { schema, value, path } = part;
  const { errors, paths } = useForm();
  const id = useId();
  const text = pathText(path);
  const kind = kindOf(schema, name);
  const inside = GROUPED.has(kind) || (kind === "enum" && isSegmented(schema, value));
  const here = errors.filter((error) => error.path === text || (kind === "raw" && error.path.startsWith(text)));
  const wrong = here.some(({ severity }) => severity !== "warning");
  const help = helpOf(schema);
  const about = [...here.map((_, at) => `${id}-error-${at}`), ...(help === "" ? [] : [`${id}-help`])].join(" ");
  const control: ControlNames = { id, "aria-describedby": about === "" ? undefined : about, "aria-invalid": wrong ? true : undefined };
  const label = labelOf(name, schema);
  return (
    <div className={classes("form-row", wrong && "form-row-wrong")} data-path={text}>
      <div className="form-row-name">
        {inside ? (
          <span id={`${id}-label`} className="form-label">
            {label}
          </span>
        ) : (
          <label htmlFor={id} id={`${id}-label`} className="form-label">
            {label}
            {required && value === undefined && <span className="form-needed"> *</span>}
          </label>
        )}
        {paths && <code className="form-path">{broken(text)}</code>}
        <Marks path={path} value={value} schema={schema} required={required} onChange={part.onChange} />
      </div>
      <div className="form-row-value">
        <ValueControl {...part} name={name} kind={kind} control={control} labelId={`${id}-label`} />
        {here.map(({ message, severity }, at) => (
          <p key={message} id={`${id}-error-${at}`} className={severity === "warning" ? "form-warning" : "form-error"}>
            <Icon name="warn" size={14} />
            <span>{message}</span>
          </p>
        ))}
        {help !== "" && (
          <p id={`${id}-help`} className="form-help">
            {help}
          </p>
        )}
      </div>
    </div>
  );
}

/** A path that is too long for its column goes on behind a dot. */
function broken(path: string) {
  return path.split(/(?<=\.)/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a part of a path is its place
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
