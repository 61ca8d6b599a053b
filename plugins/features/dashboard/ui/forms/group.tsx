import { useId, useState } from "react";
import { Icon } from "../kit/icon.tsx";
import { type PartProps, useForm } from "./form-context.ts";
import { overlap, pathText, readPath, same, valueAt } from "./form-path.ts";
import { MapControl } from "./map-control.tsx";
import { Marks } from "./marks.tsx";
import { kindOf, labelOf } from "./schema-kinds.ts";

/** An object or a map inside of a form, folded unless something of it is set, wrong or searched for. */
export function Group({ name, ...part }: PartProps & { readonly name: string }) {
  const { schema, value, path, depth } = part;
  const { errors, saved, shows, paths, parts } = useForm();
  const wrong = errors.some((error) => error.severity !== "warning" && overlap(readPath(error.path), path) && readPath(error.path).length >= path.length);
  const changed = saved !== undefined && !same(valueAt(saved.value, path), value);
  const searched = !shows(path, schema);
  const [folded, setFolded] = useState<boolean>();
  const open = folded === undefined ? value !== undefined || wrong || changed || searched || depth < 2 : !folded;
  const id = useId();
  return (
    <section className="form-group" aria-labelledby={id}>
      <h3 id={id} className="form-group-head">
        <button type="button" className="form-group-fold" aria-expanded={open} onClick={() => setFolded(open)}>
          <Icon name={open ? "down" : "right"} size={14} />
          <span>{labelOf(name, schema)}</span>
        </button>
        {paths && <code className="form-path">{pathText(path)}</code>}
        <Marks path={path} value={value} schema={schema} onChange={part.onChange} quiet />
      </h3>
      {schema.description !== undefined && open && <p className="form-help form-group-help">{schema.description}</p>}
      {open && <div className="form-group-body">{kindOf(schema, name) === "map" ? <MapControl {...part} name={name} /> : <parts.Fields {...part} />}</div>}
    </section>
  );
}
