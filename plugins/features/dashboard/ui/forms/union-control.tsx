import { useRef } from "react";
import { FORMS } from "../words/forms.ts";
import { useForm, type ValueProps } from "./form-context.ts";
import { isFields } from "./form-path.ts";
import { branchesOf, branchOf, emptyOf, kindOf } from "./schema-kinds.ts";

/** One of several forms of a value: which one, and its fields. What was typed in another form comes back with it until the form is left. */
export function UnionControl(props: ValueProps) {
  const { schema, value, name, control, labelId, onChange } = props;
  const { readOnly, parts } = useForm();
  const branches = branchesOf(schema);
  const at = value === undefined ? -1 : branchOf(branches, value);
  const kept = useRef(new Map<number, unknown>());
  const branch = branches[at];
  const choose = (next: number) => {
    if (at >= 0) kept.current.set(at, value);
    const chosen = branches[next];
    if (chosen === undefined) return onChange(undefined);
    const begun = kept.current.get(next) ?? emptyOf(chosen.schema);
    return onChange(chosen.tag === undefined || !isFields(begun) ? begun : { ...begun, [chosen.tag[0]]: chosen.tag[1] });
  };
  const inner = branch?.tag === undefined ? branch?.schema : withoutKey(branch.schema, branch.tag[0]);
  return (
    <div className="form-union" role="group" aria-labelledby={labelId}>
      <select
        {...control}
        className="kit-input form-select"
        aria-label={FORMS.kind}
        disabled={readOnly}
        value={at}
        onChange={(event) => choose(Number(event.target.value))}
      >
        <option value={-1}>{FORMS.notSet}</option>
        {branches.map(({ label }, index) => (
          <option key={label} value={index}>
            {label}
          </option>
        ))}
      </select>
      {inner !== undefined && (
        <div className="form-inner">
          <parts.Value
            {...props}
            schema={inner}
            kind={kindOf(inner, name)}
            labelId={labelId}
            control={{
              id: `${control.id}-value`,
              "aria-describedby": control["aria-describedby"],
              "aria-invalid": control["aria-invalid"],
              ...({ "aria-label": name } as object),
            }}
          />
        </div>
      )}
    </div>
  );
}

/** The tag is the select above. */
function withoutKey(schema: ValueProps["schema"], key: string): ValueProps["schema"] {
  return { ...schema, properties: Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => name !== key)) };
}
