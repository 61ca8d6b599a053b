import { Combobox } from "../kit/combobox.tsx";
import { TextInput } from "../kit/field.tsx";
import { FORMS } from "../words/forms.ts";
import { EnumControl } from "./enum-control.tsx";
import { useForm, type ValueProps } from "./form-context.ts";
import { ListControl } from "./list-control.tsx";
import { MapControl } from "./map-control.tsx";
import { NumberControl } from "./number-control.tsx";
import { RawControl } from "./raw-control.tsx";
import { hintOf } from "./schema-kinds.ts";
import { SecretControl } from "./secret-control.tsx";
import { Switch } from "./switch.tsx";
import { UnionControl } from "./union-control.tsx";

/** The control of one value, by the kind of its schema. */
export function ValueControl(props: ValueProps) {
  const { schema, value, path, name, kind, control, labelId, onChange } = props;
  const { references, readOnly, parts } = useForm();
  switch (kind) {
    case "secret":
      return <SecretControl {...props} />;
    case "enum":
      return <EnumControl {...props} />;
    case "number":
      return <NumberControl {...props} />;
    case "boolean":
      return <Switch on={value === undefined ? schema.default === true : value === true} control={control} readOnly={readOnly} onChange={onChange} />;
    case "list":
      return <ListControl {...props} />;
    case "map":
      return <MapControl {...props} />;
    case "union":
      return <UnionControl {...props} />;
    case "object":
      return (
        <div className="form-inner" role="group" aria-labelledby={labelId}>
          <parts.Fields {...props} />
        </div>
      );
    case "raw":
      return <RawControl {...props} />;
    default: {
      const known = references?.(path, schema);
      const text = value === undefined ? "" : String(value);
      if (known !== undefined && !readOnly)
        return (
          <span className="form-reference">
            <Combobox
              options={known.map(({ id, label, note }) => ({ id, label: label ?? id, note }))}
              value={value === undefined ? undefined : text}
              control={control}
              free
              placeholder={hintOf(schema.default)}
              onChange={(next) => onChange(next === undefined || next === "" ? undefined : next)}
            />
            {known.some(({ id, href }) => id === value && href !== undefined) && (
              <a className="form-link" href={known.find(({ id }) => id === value)?.href}>
                {FORMS.open}
              </a>
            )}
          </span>
        );
      const typed = (next: string) => onChange(next === "" && value !== "" ? undefined : next);
      if (kind === "long-text")
        return (
          <textarea
            {...control}
            className="kit-input form-long"
            rows={Math.min(12, Math.max(3, text.split("\n").length + 1))}
            value={text}
            readOnly={readOnly}
            placeholder={hintOf(schema.default)}
            onChange={(event) => typed(event.target.value)}
          />
        );
      return (
        <TextInput
          {...control}
          dir="auto"
          value={text}
          readOnly={readOnly}
          placeholder={hintOf(schema.default)}
          onChange={(event) => typed(event.target.value)}
          data-name={name}
        />
      );
    }
  }
}
